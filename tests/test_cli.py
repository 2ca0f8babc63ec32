"""The verbs as a user meets them: what they print, which code they end with, which files they leave."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from compaction_conformance import schemas
from compaction_conformance.cli import main
from compaction_conformance.conclusion import telling_first
from compaction_conformance.connect import Settings, connect
from compaction_conformance.errors import InvalidInput
from compaction_conformance.expectation import ERROR_KINDS, FAILURE_CLASSES, ExpectResult, Verdict
from compaction_conformance.fault_run import write_pinned
from compaction_conformance.implementation import Description
from compaction_conformance.judge import Difference
from compaction_conformance.mutation import mutants
from compaction_conformance.paths import spec_dir
from compaction_conformance.report import suite_digest, write_json_lines
from compaction_conformance.run import FAILED, Outcome
from compaction_conformance.schema_words import nearest
from compaction_conformance.smoke import smoke_vectors
from compaction_conformance.spec import Spec, load_spec
from compaction_conformance.terms import load_terms
from compaction_conformance.traceability import write_json as write_rules
from compaction_conformance.trivial import write_recorded
from compaction_conformance.vectors import Vector, in_order, known_names
from disk import full_disk
from samples import vector

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def reference() -> Description:
    """What the reference says of itself."""
    return connect("reference", Settings()).description


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Runs a command line in an empty folder and gives back exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(list(arguments))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_the_reference_is_conformant_chapter_by_chapter(cli: Cli) -> None:
    code, out, _ = cli("run")
    assert code == 0
    for chapter in load_spec(spec_dir()).chapters:
        if chapter.profile == "coding-agent" and chapter.requirements:
            row = next(line for line in out.splitlines() if line.startswith(chapter.title + " "))
            must = re.search(r"(\d+)/(\d+)  +100 %", row)
            assert (must is not None and must[1] == must[2]) or re.search(r"–  +–", row)
    assert "conformant" in out.splitlines()[-1]


def test_a_failure_names_rule_place_input_and_the_way_to_repeat_it(cli: Cli, tmp_path: Path) -> None:
    code, out, _ = cli("run", "--implementation", "python:wrong:counts_bytes", "--failures", "all")
    assert code == 1
    block = next(part for part in out.split("\n\n") if part.startswith("FAIL"))
    first = re.match(r"FAIL (\S+) · (\w{3}-\d+) (.+) · counts-bytes \S+ \(mismatch\)", block)
    assert first is not None
    assert first[2] in load_spec(spec_dir()).requirements
    for label in (
        "  about  ",
        "  asks   tokens/of_message\n",
        "  rule   ",
        "  at     /tokens",
        "  want   ",
        "  got    ",
        "  input  ",
        "  again  ",
    ):
        assert label in block
    repro = tmp_path / "repro" / f"{first[1]}.jsonl"
    handshake, request = map(json.loads, repro.read_text().splitlines())
    assert handshake["method"] == "initialize"
    assert schemas.first_error("protocol/request", request) is None


def test_a_crash_is_an_unexpected_error_with_its_log_and_no_terminal_codes(cli: Cli) -> None:
    code, out, _ = cli("run", "--implementation", "python:wrong:crashes", "--only", "tokens/from_usage")
    assert code == 1
    assert "(unexpected_error)" in out
    assert "ZeroDivisionError" in out
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("source", "code"),
    [("import sys\nsys.exit(0)\n", 2), ("import sys\n\ndef describe(): sys.exit(0)\n\ncall = describe\n", 3)],
)
def test_an_implementation_that_ends_the_program_is_no_conformant_one(
    source: str, code: int, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "leaves_at_once.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "leaves_at_once", raising=False)
    got, _, err = cli("run", "--implementation", "python:leaves_at_once", "--only", "TOK-01")
    assert got == code
    assert "SystemExit: 0" in err


@pytest.mark.parametrize(
    ("name", "failure"), [("not_json", "invalid_json"), ("bad_shape", "schema_violation"), ("leaves", "exited")]
)
def test_in_process_failures_have_their_class(cli: Cli, name: str, failure: str) -> None:
    code, out, _ = cli("run", "--implementation", f"python:wrong:{name}", "--only", "tokens/from_usage")
    assert code == 1
    assert f"({failure})" in out


def test_an_in_process_implementation_that_hangs_times_out(cli: Cli) -> None:
    only = ("--only", "TOK-usage-*", "--timeout", "0.05")
    code, out, _ = cli("run", "--implementation", "python:wrong:slow", *only)
    assert code == 1
    assert "(timeout)" in out


def test_spoiling_the_params_spoils_no_other_vector(cli: Cli) -> None:
    code, _, _ = cli("run", "--implementation", "python:wrong:spoils", "--only", "tokens/*")
    assert code == 0


def test_a_refusal_that_does_not_come_is_a_mismatch(cli: Cli) -> None:
    code, out, _ = cli("run", "--implementation", "python:wrong:nothing_to_refuse", "--only", "settings")
    assert code == 1
    assert "(mismatch)" in out
    assert "invalid_setting" in out


def test_what_is_not_declared_counts_as_not_met_unless_asked_otherwise(cli: Cli) -> None:
    code, out, _ = cli("run", "--implementation", "python:wrong:partial")
    assert code == 1
    assert "not conformant" in out
    code, out, _ = cli("run", "--implementation", "python:wrong:partial", "--declared-only")
    assert code == 0
    assert re.search(r": conformant in what it declares, .* are of operations that it does not declare", out)


def test_nothing_to_run_is_incomplete(cli: Cli) -> None:
    code, _, _ = cli("run", "--implementation", "python:wrong:partial", "--only", "overflow", "--declared-only")
    assert code == 3


def test_declared_and_not_served_is_a_failure(cli: Cli) -> None:
    code, out, _ = cli("run", "--implementation", "python:wrong:unserved", "--declared-only")
    assert code == 1
    assert "NotImplementedError" in out


def test_the_json_report_keeps_to_its_schema(cli: Cli, tmp_path: Path) -> None:
    code, _, _ = cli("run", "--implementation", "python:wrong:counts_bytes", "--json", "report.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "report.jsonl").read_text().splitlines()]
    assert [line["type"] for line in (lines[0], lines[1], lines[-1])] == ["header", "outcome", "footer"]
    assert lines[-1]["exitCode"] == code == 1
    for line in lines:
        assert schemas.first_error("report", line) is None, line
    assert sum(sum(level.values()) for level in lines[-1]["counts"].values()) == len(lines) - 2


def test_the_junit_report_has_a_case_for_every_vector(cli: Cli, tmp_path: Path) -> None:
    cli("run", "--implementation", "python:wrong:crashes", "--only", "tokens", "--junit", "report.xml")
    root = ElementTree.parse(tmp_path / "report.xml").getroot()
    suite = root.find("testsuite")
    assert suite is not None
    cases = suite.findall("testcase")
    assert suite.get("tests") == str(len(cases))
    failures = [case.find("failure") for case in cases if case.find("failure") is not None]
    assert suite.get("failures") == str(len(failures)) != "0"
    assert failures[0] is not None
    assert "ZeroDivisionError" in (failures[0].text or "")


def test_several_processes_give_the_same_outcomes_as_one(cli: Cli) -> None:
    tables = []
    for count in ("1", "2"):
        code, out, _ = cli("run", "--only", "tokens", "-n", count)
        assert code == 0
        tables.append(out)
    assert tables[0] == tables[1]


def test_smoke_asks_one_vector_an_operation(cli: Cli) -> None:
    code, out, _ = cli("smoke")
    assert code == 0
    assert out.count("ok  ") >= 27


def test_smoke_asks_for_a_result_and_nothing_of_the_smallest(
    vectors: tuple[Vector, ...], reference: Description
) -> None:
    chosen = smoke_vectors(vectors, reference)
    assert len({vector.operation for vector in chosen}) == len(chosen) >= 27
    by_id = {vector.id: vector for vector in vectors}
    for one in chosen:
        assert isinstance(by_id[one.id].expect, ExpectResult)
        sizes = [len(vector.params_text) for vector in vectors if vector.operation == one.operation]
        assert min(sizes) < len(one.params_text) or len(set(sizes)) == 1


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("counts_bytes", 0, "ok   tokens/of_message"),
        ("never_overflows", 0, "ok   overflow/is_overflow"),
        ("bad_shape", 1, "(schema_violation)"),
        ("crashes", 1, "(unexpected_error)"),
    ],
)
def test_smoke_holds_an_answer_to_its_shape_alone(name: str, code: int, words: str, cli: Cli) -> None:
    got, out, _ = cli("smoke", "--implementation", f"python:wrong:{name}")
    assert got == code
    assert words in out
    assert out.endswith("ok is a result in its shape; whether it is right, `run` says\n")


DYING = f"{sys.executable} {Path(__file__).with_name('dying_adapter.py')}"


def test_smoke_passes_nothing_that_was_not_run(cli: Cli) -> None:
    code, out, _ = cli("smoke", "--implementation", DYING, "--restarts", "0", "--failures", "0")
    assert code == 3
    assert "ok  " not in out
    assert out.count("FAIL tokens/") >= 5
    assert re.search(r"incomplete: \d+ not run: the restart budget is spent", out)


def test_an_incomplete_run_says_why(cli: Cli, tmp_path: Path) -> None:
    files = ("--json", "report.jsonl", "--junit", "report.xml")
    code, out, _ = cli("run", "--implementation", DYING, "--restarts", "1", "--only", "TOK-usage-*", *files)
    assert code == 3
    lines = [json.loads(line) for line in (tmp_path / "report.jsonl").read_text().splitlines()]
    unrun = [line for line in lines if line.get("status") == "not_run"]
    assert f"incomplete ({len(unrun)} not run: the restart budget is spent), 0 of " in out.splitlines()[-1]
    assert {line["reason"] for line in unrun} == {"the restart budget is spent"}
    assert [schemas.first_error("report", line) for line in lines] == [None] * len(lines)
    skipped = [case.get("message") for case in ElementTree.parse(tmp_path / "report.xml").iter("skipped")]
    assert skipped == ["not run: the restart budget is spent"] * len(unrun)


def test_a_run_without_a_vector_to_ask_says_so(cli: Cli) -> None:
    words = ("--implementation", "python:wrong:partial", "--only", "overflow", "--declared-only")
    assert "incomplete (no vector was asked)" in cli("run", *words)[1]


def json_lines(path: Path) -> list[dict[str, Any]]:
    """Every line as JSON that knows no infinities."""
    return [json.loads(line, parse_constant=pytest.fail) for line in path.read_text().splitlines()]


def test_a_number_or_a_depth_that_json_has_not_is_told_as_text(tmp_path: Path) -> None:
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]
    write_json_lines(tmp_path / "report.jsonl", [{"got": float("inf")}, {"want": deep, "level": "MUST"}])
    first, second = json_lines(tmp_path / "report.jsonl")
    assert first == {"got": "Infinity"}
    assert second == {"want": "a value that is nested too deeply to be shown", "level": "MUST"}


def test_a_line_with_a_number_that_no_double_holds_is_a_failure_and_the_run_goes_on(cli: Cli, tmp_path: Path) -> None:
    words = ("--implementation", "python:wrong:writes_beyond", "--only", "session/write", "--json", "report.jsonl")
    code, _, _ = cli("run", *words)
    lines = json_lines(tmp_path / "report.jsonl")
    assert (code, lines[-1]["exitCode"]) == (1, 1)
    assert {line["want"] for line in lines if line.get("got") == "Infinity"} >= {"<time:1>"}


def test_list_shows_vectors_chapters_requirements_operations_implementations(cli: Cli) -> None:
    assert "PRJ-fold-retain-none" in cli("list")[1]
    assert "projection" in cli("list", "--chapters")[1]
    assert "PRJ-07  MUST" in cli("list", "--requirements")[1]
    assert "tokens/of_message" in cli("list", "--operations")[1].split()
    assert {"reference", "pi", "node-example"} <= set(cli("list", "--implementations")[1].split())
    assert "TOK-" not in cli("list", "--only", "PRJ-07")[1].replace("requirements", "")


def test_explain_shows_a_rule_and_a_vector(cli: Cli) -> None:
    code, out, _ = cli("explain", "PRJ-07")
    assert code == 0
    assert out.startswith("PRJ-07 · A compaction that names itself keeps nothing")
    assert "PRJ-fold-retain-none" in out
    code, out, _ = cli("explain", "PRJ-fold-retain-none")
    assert code == 0
    assert "twin: PRJ-fold-kept-tail" in out


def test_replay_judges_what_a_failing_run_left(cli: Cli) -> None:
    cli("run", "--implementation", "python:wrong:crashes", "--only", "tokens/from_usage")
    repro = sorted(str(path) for path in Path("repro").iterdir())[0]
    code, out, _ = cli("replay", repro, "--implementation", "python:wrong:crashes")
    assert code == 1
    assert "FAIL" in out
    code, out, _ = cli("replay", repro)
    assert code == 0
    assert "meets" in out


def test_compare_finds_the_first_difference(cli: Cli, tmp_path: Path) -> None:
    header = {"type": "session", "version": 3, "id": "s", "timestamp": "2025-01-01T00:00:00.000Z", "cwd": "/w"}
    entry = {"type": "message", "id": "u1", "parentId": None, "timestamp": "2025-01-01T00:00:01.000Z"}
    message = {"role": "user", "content": "hello", "timestamp": 1735689601000}
    file = tmp_path / "s.jsonl"
    file.write_text("\n".join(map(json.dumps, [header, {**entry, "message": message}])) + "\n")
    code, out, _ = cli("compare", "reference", "reference", str(file))
    assert code == 0
    assert "no difference" in out
    code, out, _ = cli("compare", "reference", "python:wrong:loses_content", str(file))
    assert code == 1
    assert "first 1 entries, leaf u1" in out
    assert "projection/messages" in out
    assert Path("repro/compare-s.jsonl").is_file()


def test_validate_checks_sessions_and_vectors(cli: Cli, tmp_path: Path) -> None:
    vectors = sorted(str(path) for path in (spec_dir().parent / "fixtures" / "vectors" / "trigger").glob("*.json"))
    code, out, _ = cli("validate", *vectors)
    assert code == 0
    assert out.count(": ok (") == len(vectors)
    assert cli("validate", "--quiet", *vectors)[1] == ""


@pytest.mark.parametrize("write", [write_pinned, write_recorded, write_rules], ids=["faults", "trivial", "trace"])
def test_a_record_that_cannot_be_written_is_one_error_and_leaves_the_old_one(
    write: Callable[[Path, dict[str, object]], None], tmp_path: Path
) -> None:
    (tmp_path / "record.json").write_text("old")
    with full_disk(), pytest.raises(InvalidInput, match="cannot be written"):
        write(tmp_path / "record.json", {})
    assert (tmp_path / "record.json").read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    "words",
    [
        ("overflow", "agree", "reference", "reference", "--texts", "0"),
        ("search", "--examples", "0"),
        ("mutate", "-n", "0", "cut_point"),
        ("compare", "reference", "reference", "s.jsonl", "--sample", "0"),
        ("growth", "--entries", "0"),
    ],
    ids=lambda words: words[0],
)
def test_a_number_of_none_is_refused(words: tuple[str, ...], cli: Cli, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        cli(*words)
    assert end.value.code == 2
    assert "must be a whole number from 1 to " in capsys.readouterr().err


def test_a_search_that_asked_nothing_is_incomplete(cli: Cli) -> None:
    code, out, _ = cli("search", "--seconds", "0.001")
    assert code == 3
    assert "incomplete: no example was asked" in out


def test_what_is_written_to_a_pipe_or_a_link_arrives_there(tmp_path: Path) -> None:
    for link, target in (("out", "/proc/self/fd/1"), ("link", "real.json")):
        (tmp_path / link).symlink_to(target)
    score = f"{sys.executable} -m compaction_conformance.cli overflow score --json"
    command = f"{score} out | tail -1; {score} link >/dev/null; ls"
    run = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert run.stdout.splitlines() == ["}", "link", "out", "real.json"]
    assert (tmp_path / "link").is_symlink()
    assert json.loads((tmp_path / "real.json").read_text())


# Which failures are shown


def test_vectors_are_asked_in_the_order_of_the_chapters(vectors: tuple[Vector, ...], spec: Spec) -> None:
    ordered = in_order(vectors, spec)
    chapters = list(dict.fromkeys(vector.requirement.chapter for vector in ordered))
    assert chapters == [chapter.slug for chapter in spec.chapters if chapter.slug in chapters]
    assert chapters[-1] == "ecmascript"
    assert suite_digest(ordered) == suite_digest(vectors)


def test_the_report_has_the_appendix_last(cli: Cli, tmp_path: Path) -> None:
    cli("run", "--only", "[EP][CR]?-0*", "--json", "report.jsonl")
    chapters = [line["chapter"] for line in json_lines(tmp_path / "report.jsonl") if line["type"] == "outcome"]
    assert (chapters[0], chapters[-1]) == ("session-file", "ecmascript")


def failed_at(vector: Vector, pointer: str) -> Outcome:
    return Outcome(vector, FAILED, Verdict("mismatch", Difference(pointer, 1, 2)))


def test_each_place_is_shown_before_one_is_shown_again(vectors: tuple[Vector, ...]) -> None:
    weights = [vector for vector in vectors if vector.operation == "tokens/of_message"][:20]
    (other,) = [vector for vector in vectors if vector.id == "PRJ-fold-retain-none"]
    failed = [failed_at(vector, "/tokens") for vector in weights]
    failed += [failed_at(other, "/messages/3"), failed_at(other, "/messages/1/content")]
    first = telling_first(failed)
    assert {outcome.vector.operation for outcome in first[:2]} == {"tokens/of_message", "projection/messages"}
    assert len({outcome.verdict.difference.pointer for outcome in first[:3] if outcome.verdict.difference}) == 3
    rules = [outcome.vector.requirement.id for outcome in first if outcome.vector.operation == "tokens/of_message"]
    assert len(set(rules[: len(set(rules))])) == len(set(rules)) > 1


def test_each_operation_is_shown_before_one_is_shown_again(vectors: tuple[Vector, ...]) -> None:
    failed = [failed_at(vector, f"/{number}") for number, vector in enumerate(vectors[:400])]
    first = [outcome.vector.operation for outcome in telling_first(failed)]
    operations = list(dict.fromkeys(outcome.vector.operation for outcome in failed))
    assert len(operations) > 2
    assert sorted(first[: len(operations)]) == sorted(operations)


def test_the_places_of_the_most_failures_are_told(cli: Cli) -> None:
    _, out, _ = cli("run", "--implementation", "python:wrong:loses_content", "--only", "projection", "--failures", "1")
    told = re.search(r"^most of all (\d+) are at\n((?:  .*\n)+)", out, re.MULTILINE)
    assert told is not None
    lines = told[2].splitlines()
    assert 1 <= len(lines) <= 5
    assert re.fullmatch(r"  projection/messages /messages/\* ×\d+", lines[0])
    assert int(told[1]) >= sum(int(line.rpartition("×")[2]) for line in lines) > 1


def test_a_failure_of_the_whole_answer_is_told_by_its_class(cli: Cli) -> None:
    words = ("--implementation", "python:wrong:crashes", "--only", "TOK-usage-*", "--failures", "0")
    assert re.search(r"^  tokens/from_usage \(unexpected_error\) ×\d+$", cli("run", *words)[1], re.MULTILINE)


def test_quirks_that_are_not_declared_are_told_as_such(cli: Cli) -> None:
    last = cli("run", "--implementation", "python:wrong:partial")[1].splitlines()[-1]
    found = re.search(r" (\d+) QUIRK vectors in no accepted reading \((\d+) are of operations that it does not", last)
    assert found is not None
    assert 0 < int(found[2]) <= int(found[1])


def test_a_pattern_can_name_what_a_vector_bears(vectors: tuple[Vector, ...]) -> None:
    names = known_names(vectors)
    assert names[0] in {vector.chapter for vector in vectors}
    assert {"tokens", "tokens/of_message", "PRJ-07", "PRJ-fold-retain-none"} <= set(names)
    assert len(names) == len(set(names))
    assert nearest("token", names)[0] == "tokens"


# How a failure is repeated


def test_a_run_forgets_the_reproductions_of_what_is_met_now(cli: Cli) -> None:
    cli("run", "--implementation", "python:wrong:crashes", "--only", "TOK-usage-*")
    left = sorted(path.name for path in Path("repro").iterdir())
    assert len(left) > 3
    for own in ("compare-s.jsonl", "TOK-usage-mine.jsonl", "notes.txt"):
        Path("repro", own).write_text("mine")
    again = left[0].removesuffix(".jsonl")
    assert cli("run", "--implementation", "python:wrong:crashes", "--only", again)[0] == 1
    assert Path("repro", left[0]).is_file()
    assert cli("run", "--only", again)[0] == 0
    assert not Path("repro", left[0]).exists()
    assert Path("repro", left[1]).is_file()
    assert cli("run", "--only", "TOK-usage-*")[0] == 0
    assert {path.name for path in Path("repro").iterdir()} == {"compare-s.jsonl", "TOK-usage-mine.jsonl", "notes.txt"}


USELESS = """
from compaction_reference.{module} import describe

def call(method, params):
    return {{"length": len(str(params))}}
"""


@pytest.fixture
def useless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """By profile, an implementation whose answers are of no use."""
    monkeypatch.syspath_prepend(tmp_path)
    modules = {"coding-agent": "operations", "harness": "harness.operations"}
    for profile, module in modules.items():
        (tmp_path / f"useless_{profile[0]}.py").write_text(USELESS.format(module=module))
    return {profile: f"python:useless_{profile[0]}" for profile in modules}


def again_of(out: str) -> list[str]:
    """The arguments of the first command that repeats a failure."""
    return shlex.split(next(line for line in out.splitlines() if line.startswith("  again ")))[2:]


@pytest.mark.parametrize(
    ("profile", "options"),
    [
        ("harness", ["--profile", "harness", "--only", "HCO-context-plain"]),
        ("coding-agent", ["--timeout", "5.0", "--only", "TOK-usage-total-wins"]),
        ("coding-agent", ["--vectors", "own vectors", "--only", "TOK-own"]),
        ("coding-agent", ["--sweeps", "--only", "SWEEP-cjk-tokens-of_projection"]),
        ("coding-agent", ["--sweeps", "--only", "VARIANT-blank-lines-session-parse"]),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_again_repeats_the_failure(
    profile: str, options: list[str], cli: Cli, useless: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "own vectors").mkdir()
    own = {"chapter": "tokens", "vectors": [vector(id="TOK-own")]}
    (tmp_path / "own vectors" / "own.json").write_text(json.dumps(own))
    code, out, _ = cli("run", "--implementation", useless[profile], *options)
    assert code == 1
    assert again_of(out) == ["run", "--implementation", useless[profile], *options]
    code, repeated, _ = cli(*again_of(out))
    assert code == 1
    assert repeated == out


def test_an_id_of_another_profile_is_told_with_its_profile(cli: Cli) -> None:
    code, _, message = cli("run", "--only", "HCO-context-plain")
    assert code == 2
    assert "no vector fits --only 'HCO-context-plain' in the profile coding-agent\n  → add --profile harness" in message


@pytest.mark.parametrize(
    ("only", "near"), [("token", "tokens"), ("tokens/ofMessage", "tokens/of_message"), ("PRJ-fold-retain-non", "PRJ-")]
)
def test_a_pattern_that_fits_nothing_is_told_with_what_is_near(only: str, near: str, cli: Cli) -> None:
    code, _, message = cli("run", "--only", only)
    assert code == 2
    assert re.search(rf"near it: {near}.*`list --chapters` names the chapters", message)
    assert "near it" not in cli("run", "--only", "§")[2]


def test_an_operation_that_is_nearly_one_is_told_with_it(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nearly.py").write_text(
        "from compaction_reference import operations\n"
        "call = operations.call\n"
        "def describe(): return {**operations.describe(), 'operations': ['tokens/of_mesage', 'tokens/of_message']}\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    _, _, message = cli("run", "--implementation", "python:nearly", "--only", "TOK-01")
    assert "'tokens/of_mesage', which this suite does not know; near it: tokens/of_message" in message


def test_a_sweep_that_is_not_asked_for_is_told_with_its_option(cli: Cli) -> None:
    code, _, message = cli("run", "--only", "SWEEP-cjk-tokens-of_projection")
    assert code == 2
    assert "run --sweeps" in message


def test_a_sweep_can_be_run_alone(cli: Cli) -> None:
    code, out, _ = cli("run", "--sweeps", "--only", "SWEEP-cjk-tokens-of_projection")
    assert code == 0
    assert "1 of 1 MUST" in out


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("SWEEP-cjk-tokens-of_projection", "run --implementation reference --sweeps --only SWEEP-cjk"),
        ("HCO-context-plain", "no vector of the profile coding-agent is called HCO-context-plain"),
        ("TOK-usage-total-wins", "this is not what TOK-usage-total-wins asks"),
        ("compare-s", "made by `compare`, it holds no expectation; replay it with each of the two"),
    ],
)
def test_replay_says_what_is_not_judged(name: str, words: str, cli: Cli, tmp_path: Path) -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": "tokens/from_usage", "params": {"usage": {"input": 123}}}
    (tmp_path / f"{name}.jsonl").write_text(json.dumps(request) + "\n")
    code, out, _ = cli("replay", f"{name}.jsonl")
    assert code == 3
    assert "  not judged: " in out
    assert words in out


def test_replay_keeps_to_the_time_limit_of_the_vector(
    cli: Cli, write_vectors: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    params = {"usage": {"totalTokens": 5}}
    timed = vector(operation="tokens/from_usage", params=params, expect={"result": {"tokens": 5}}, timeLimit=0.05)
    path = write_vectors(timed)
    request = {"jsonrpc": "2.0", "id": 1, "method": "tokens/from_usage", "params": params}
    (tmp_path / "TOK-sample.jsonl").write_text(json.dumps(request) + "\n")
    code, out, _ = cli(
        "replay", "TOK-sample.jsonl", "--vectors", str(path.parent), "--implementation", "python:wrong:slow"
    )
    assert code == 1
    assert "FAIL TOK-sample" in out
    assert "(timeout)" in out
    assert again_of(out) == [
        *("run", "--implementation", "python:wrong:slow", "--vectors", str(path.parent), "--only", "TOK-sample")
    ]


# What else the verbs promise


@pytest.mark.parametrize("strict", [False, True])
def test_advice_fails_in_the_junit_report_of_a_strict_run(strict: bool, cli: Cli, tmp_path: Path) -> None:
    code, _, _ = cli("run", "--only", "OVF-62", "--junit", "report.xml", *["--strict"] * strict)
    assert code == strict
    root = ElementTree.parse(tmp_path / "report.xml").getroot()
    case = next(case for case in root.iter("testcase") if case.find("failure" if strict else "skipped") is not None)
    suite = next(suite for suite in root if case in list(suite))
    assert (suite.get("failures") != "0", suite.get("skipped") == "0") == (strict, strict)
    assert not strict or (case.findtext("failure") or "").startswith("ADVICE OVF-")


def blocks(out: str) -> list[str]:
    """What is told of each failure."""
    return [part for part in out.split("\n\n") if part.startswith("FAIL ")]


def test_texts_that_look_alike_are_shown_by_their_code_points(cli: Cli) -> None:
    _, out, _ = cli("run", "--implementation", "python:wrong:decomposes", "--only", "FIL-08", "--failures", "all")
    block = next(part for part in blocks(out) if "\\u0301" in part)
    want, got = re.findall(r"^  (?:want|got)    *(.*)$", block, re.MULTILINE)
    assert want != got
    assert want.isascii() and got.isascii()


def test_a_failure_of_file_lists_shows_the_calls(cli: Cli) -> None:
    _, out, _ = cli("run", "--implementation", "python:wrong:decomposes", "--only", "files/lists", "--failures", "1")
    assert re.search(r"^  input  .*assistant \((?:read|write|edit) ", out, re.MULTILINE)


def test_a_quirk_that_is_not_met_shows_every_accepted_reading(cli: Cli) -> None:
    _, out, _ = cli("run", "--implementation", "python:wrong:talks", "--only", "TOK-usage-negative-total-empty")
    assert '  or     parts: {"tokens": 0}\n  or     refuse: {"error": {"kind": "malformed_input"}}\n' in out


def test_a_broken_shape_shows_what_is_expected_and_what_came(cli: Cli) -> None:
    _, out, _ = cli("run", "--implementation", "python:wrong:talks", "--only", "TOK-usage-total-without-parts")
    assert '  want   321\n  got    "321"\n  note   no result of tokens/from_usage can be so: /tokens: is "321"; ' in out


def test_what_is_declared_alone_is_counted_where_nothing_else_is_asked(cli: Cli) -> None:
    _, out, _ = cli("run", "--implementation", "python:wrong:partial", "--declared-only")
    met = re.search(r", (\d+) of (\d+) declared MUST vectors met \((\d+) more are of operations", out.splitlines()[-1])
    assert met is not None
    assert met[1] == met[2]
    row = next(line for line in out.splitlines() if line.startswith("all "))
    assert f"{met[1]}/{met[2]}  100 %" in " ".join(row.split(" ")).replace("   ", "  ")


def test_the_last_line_says_what_made_a_run_fail(cli: Cli) -> None:
    _, out, _ = cli("run", "--only", "OVF-62", "--strict")
    assert "ADVICE OVF-" in out
    assert re.search(r": not conformant, .* and \d+ vectors of advice not met \(--strict\)$", out.rstrip())
    _, out, _ = cli("run", "--only", "OVF-62")
    assert "\n--strict shows what is asked and answered there" in out
    _, out, _ = cli("run", "--only", "TOK-usage-negative-total-empty", "--implementation", "python:wrong:talks")
    assert out.rstrip().endswith("1 QUIRK vectors in no accepted reading")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("OVD-26", ["means: nothing tells of an overflow", "recommended-overflow.json"]),
        ("OVP-01", ["overflow-patterns.json", "nearMiss: prompt is far too long"]),
        ("PROP-PRJ-off-path", ["PRJ-04 · ", "search --only PROP-PRJ-off-path"]),
        ("PROP-machine", ["PRE-16 · ", "driven step by step"]),
        ("anthropic-413-request-too-large", ["RSP-12 · ", "response: 413, ", "expects: "]),
        (
            "tokens/of_message",
            ["operations/tokens-of_message.params.json", "vectors (`list --only tokens/of_message`)"],
        ),
        ("recommended-classifier", ["15-recommended-classifier.md", "OVR-01  SHOULD"]),
        ("FLT-cut-keeps-all", ["a named fault", "report: https://", "CUT-"]),
        ("SWEEP-only-header-session-parse", ["run --sweeps --only SWEEP-only-header-session-parse"]),
        ("PRJ-31", ["03-projection.md:", "\n| entry time | `pi` |\n|---|---|\n| a number | that number |\n"]),
        ("PRE-08", ["10-preparation.md:", "\n\nPRE-31 tells of a compaction that an edit omits.\n"]),
        ("mismatch", ["a failure class: a result that differs", "protocol.md:"]),
        ("timeout", ["a failure class: no answer within", "the process ends and is started anew"]),
        ("entry_not_found", ["an error kind: an id that must name an entry names none"]),
        ("harness", ["a profile, told in", "profiles.md", "harness-session harness-compaction harness-summary"]),
        ("pi-harness", ["`run --implementation pi-harness`"]),
        ("reference", ["`run --implementation reference`"]),
    ],
)
def test_explain_knows_whatever_has_a_name(name: str, words: list[str], cli: Cli) -> None:
    code, out, _ = cli("explain", name)
    assert code == 0
    assert out.startswith((name, "RSP-"))
    for word in words:
        assert word in out


def test_the_place_of_a_rule_is_that_of_its_heading(spec: Spec) -> None:
    for rule in spec.requirements.values():
        heading = rule.file.read_text(encoding="utf-8").splitlines()[rule.line - 1]
        assert heading == f"### {rule.id} · {rule.title}"
        assert not any(note.startswith(("*Why", "*Source", "*Readings", "## ", "- `pi`:")) for note in rule.notes)


def test_every_error_kind_and_failure_class_is_told_in_the_protocol() -> None:
    terms = load_terms()
    assert {name for name, term in terms.items() if term.kind == "an error kind"} == set(ERROR_KINDS)
    assert {name for name, term in terms.items() if term.kind == "a failure class"} == set(FAILURE_CLASSES)


def test_explain_shows_all_that_a_vector_expects(cli: Cli, vectors: tuple[Vector, ...]) -> None:
    one = next(vector for vector in vectors if vector.id == "SES-glued-apart")
    assert isinstance(one.expect, ExpectResult)
    _, out, _ = cli("explain", one.id)
    line = next(line for line in out.splitlines() if line.startswith("expects: "))
    assert json.loads(line.removeprefix("expects: ")) == {"result": one.expect.value}


def test_explain_says_which_names_it_knows(cli: Cli) -> None:
    code, _, message = cli("explain", "OVD-99")
    assert code == 2
    assert "known are requirements, vectors, operations, chapters, overflow cases, rows of" in message


def test_explain_knows_every_id_that_list_prints(cli: Cli) -> None:
    _, out, _ = cli("list", "--only", "RSP-*")
    names = [line.split()[0] for line in out.splitlines()]
    assert len(names) > 300
    for name in names[::40]:
        code, out, _ = cli("explain", name)
        assert code == 0
        assert "\nexpects" in out


def test_explain_shows_the_response_and_the_rules_of_an_overflow_case(cli: Cli) -> None:
    code, out, _ = cli("explain", "RSP-anthropic-413-request-too-large")
    assert code == 0
    for words in (
        "RSP-12 · ",
        "response: 413, ",
        "Request exceeds the maximum size",
        'expects: {"stopReason": "error"',
    ):
        assert words in out


def test_a_hand_over_of_another_profile_is_refused(cli: Cli) -> None:
    code, out, message = cli("handover", "reference", "reference", "--profile", "harness")
    assert (code, out) == (2, "")
    assert "no hand-over for the profile 'harness'" in message


def test_mutate_without_its_library_names_the_remedy(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("mutmut", "libcst"):
        monkeypatch.setitem(sys.modules, name, None)
    mutants._mutmut.cache_clear()
    code, _, message = cli("mutate", "cut_point")
    assert code == 2
    assert "mutmut is not installed" in message
    assert "pip install" in message


@pytest.mark.parametrize(
    ("verb", "words"), [("mutate", "worker processes"), ("run", "adapter processes"), ("run", "handshake")]
)
def test_help_says_what_a_number_is_of(verb: str, words: str, cli: Cli, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli(verb, "--help")
    assert words in " ".join(capsys.readouterr().out.split())
