"""Compare: the first difference of two implementations over session files, where silence is no agreement."""

from __future__ import annotations

import json
import shutil
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compaction_conformance import schemas
from compaction_conformance.cli import main
from compaction_conformance.compare import ASKABLE, compare_file
from compaction_conformance.connect import Settings, connect
from compaction_conformance.errors import InvalidInput
from compaction_conformance.golden.sessions import load_sessions
from compaction_conformance.in_process import InProcess
from compaction_conformance.repro import read_repro
from compaction_conformance.verbs.compare import repro_names
from compaction_reference import operations
from golden_side import Replaced, side

FILES = {session.id: session.file for session in load_sessions()}
SESSION = FILES["first-steps"]
DYING = f"{sys.executable} {Path(__file__).with_name('dying_adapter.py')}"
REFERENCE_PROCESS = f"{sys.executable} -m compaction_reference"

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Runs `compare` in an empty folder and gives back exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        code = main(["compare", *map(str, arguments)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


# Silence


@pytest.mark.parametrize("place", ["A", "B"])
def test_who_does_not_parse_is_named_and_not_compared(place: str) -> None:
    sides = [side(), side(without=["session/parse"], name="mute")]
    first, second = sides[::-1] if place == "A" else sides
    with pytest.raises(InvalidInput, match=f"^{place}: mute .* does not declare session/parse"):
        compare_file(first, second, SESSION)


def test_an_undeclared_operation_is_one_line_and_bad_usage(cli: Cli) -> None:
    code, out, told = cli("reference", "python:wrong:partial", SESSION)
    assert (code, out) == (2, "")
    assert told.splitlines()[0].startswith("error: B: ")


def test_two_that_share_parsing_alone_are_compared_incompletely(monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    others = set(operations.describe()["operations"]) - {"session/parse", "messages/to_llm"}
    parser = side(without=others)
    comparison = compare_file(side(), parser, SESSION)
    assert comparison.first is None
    assert "no operation in common" in comparison.incomplete
    monkeypatch.setattr(sys.modules["wrong"], "parser", Replaced(without=others), raising=False)
    code, out, _ = cli("reference", "python:wrong:parser", SESSION)
    assert code == 3
    assert "incomplete after 0 points" in out


def test_one_shared_operation_is_enough_for_a_comparison() -> None:
    others = set(operations.describe()["operations"]) - {"session/parse", "cut/find"}
    comparison = compare_file(side(), side(without=others), SESSION)
    assert (comparison.first, comparison.incomplete) == (None, "")
    assert comparison.answers > comparison.points > 0


def test_two_that_die_on_everything_do_not_agree(cli: Cli) -> None:
    code, out, _ = cli(DYING, DYING, SESSION)
    assert code == 1
    assert "at     parsing" in out
    assert out.count('{"exited": "ended with exit code 9"}') == 2


def test_two_that_fail_without_a_refusal_do_not_agree() -> None:
    def fail(_: Any, __: Any) -> Any:
        raise ZeroDivisionError

    found = compare_file(side({"cut/find": fail}), side({"cut/find": fail}), SESSION).first
    assert found is not None
    assert found.operation == "cut/find"
    assert found.difference.pointer == ""


def test_who_cannot_be_asked_any_more_leaves_the_comparison_incomplete(cli: Cli) -> None:
    code, out, _ = cli("reference", DYING, SESSION, SESSION, "--restarts", "0")
    assert code == 3
    assert "incomplete after 0 points, 1 answers compared" in out.splitlines()[-2]
    assert out.splitlines()[-1].startswith("asked: session/parse; ")


# Time


def test_an_implementation_in_this_process_that_hangs_is_stopped_once() -> None:
    calls = []

    def hang(_: Any, answer: Any) -> Any:
        calls.append(answer)
        time.sleep(60)

    target = Replaced({"projection/messages": hang})
    hanging = InProcess(target, edition="pi-0.87", profile="coding-agent", time_limit=0.2)
    for first, second in ((side(), hanging), (hanging, side())):
        found = compare_file(first, second, SESSION).first
        assert found is not None
        assert found.operation == "projection/messages"
        assert '"timeout"' in json.dumps([found.difference.want, found.difference.got])
    assert len(calls) == 2


@pytest.mark.parametrize("process_first", [True, False])
def test_a_process_and_an_object_are_compared_and_the_object_is_asked_in_this_thread(process_first: bool) -> None:
    threads = set()

    def seen(_: Any, answer: Any) -> Any:
        threads.add(threading.current_thread())
        return answer

    process, here = connect(REFERENCE_PROCESS, Settings()), side({"projection/messages": seen})
    try:
        comparison = compare_file(*((process, here) if process_first else (here, process)), SESSION)
    finally:
        process.close()
    assert (comparison.first, comparison.incomplete) == (None, "")
    assert threads == {threading.main_thread()}


def test_a_long_session_is_parsed_in_a_time_that_grows_with_its_length(tmp_path: Path) -> None:
    file = tmp_path / "long.jsonl"
    message = {"role": "user", "content": "hello there " * 40, "timestamp": 1}
    with file.open("w") as out:
        print(SESSION.read_text().split("\n")[0], file=out)
        for number in range(16000):
            about = {"type": "message", "id": f"{number:08x}", "parentId": f"{number - 1:08x}" if number else None}
            print(json.dumps({**about, "timestamp": "2025-01-01T00:00:00.000Z", "message": message}), file=out)
    began = time.monotonic()
    assert compare_file(side(), side(), file, sample=1).first is None
    assert time.monotonic() - began < 20  # about 1; searching the text for every id took 55


# Ids


@pytest.mark.parametrize("name", ["legacy-v1", "legacy-v2"])
def test_ids_that_each_side_makes_are_no_difference(name: str) -> None:
    assert compare_file(side(), side(), FILES[name]).first is None


def test_an_id_that_stands_in_the_file_has_to_be_kept() -> None:
    def renames(_: Any, answer: Any) -> Any:
        answer["entries"][0]["id"] = "made-up"
        return answer

    found = compare_file(side(), side({"session/parse": renames}), SESSION).first
    assert found is not None
    assert found.difference.pointer == "/entries/0/id"


# What was asked


def test_no_difference_says_what_it_is_about(monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    served = ["session/parse", "projection/messages", "messages/to_llm", "tokens/of_message", "files/lists"]
    others = set(operations.describe()["operations"]) - set(served)
    monkeypatch.setattr(sys.modules["wrong"], "few", Replaced(without=others), raising=False)
    code, out, _ = cli("reference", "python:wrong:few", SESSION, FILES["legacy-v1"])
    assert code == 0
    first, second, about = out.splitlines()
    assert "no difference" in first
    assert "no difference" in second
    assert about == (
        "asked: messages/to_llm, projection/messages, session/parse; "
        "served by both and not asked: files/lists, tokens/of_message; not served by B: compaction/prepare, cut/find, "
        "projection/settings, projection/sources, tokens/of_projection"
    )
    assert "; not served by A: compaction/prepare" in cli("python:wrong:few", "reference", SESSION)[1]


def test_what_can_be_asked_is_asked_of_two_that_serve_it(cli: Cli) -> None:
    about = cli("reference", "reference", SESSION)[1].splitlines()[-1]
    assert about.split("; ")[0] == f"asked: {', '.join(sorted(ASKABLE))}"
    assert "not served" not in about


# Reproductions


def test_a_reproduction_shakes_hands_and_repeats_the_request(cli: Cli) -> None:
    code, out, _ = cli("reference", "python:wrong:loses_content", SESSION)
    assert code == 1
    path = Path(f"repro/compare-{SESSION.stem}.jsonl")
    assert f"repro  {path}" in out
    handshake, request = map(json.loads, path.read_text().splitlines())
    assert handshake["method"] == "initialize"
    assert schemas.first_error("protocol/request", request) is None
    assert [one.method for one in read_repro(path)] == ["projection/messages"]


def test_files_of_one_name_have_reproductions_of_their_own(cli: Cli, tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        shutil.copy(SESSION, tmp_path / folder / "s.jsonl")
    assert cli("reference", "python:wrong:loses_content", "a/s.jsonl", "b/s.jsonl")[0] == 1
    assert sorted(path.name for path in Path("repro").iterdir()) == ["compare-s-2.jsonl", "compare-s.jsonl"]


def test_a_numbered_name_is_not_taken_twice() -> None:
    names = repro_names([Path("s-2.jsonl"), Path("s.jsonl"), Path("a/s.jsonl"), Path("b/s.jsonl")])
    assert names == ["compare-s-2", "compare-s", "compare-s-3", "compare-s-4"]
