"""`overflow try|add|check-pattern|lint|score|agree` on the command line: what they print, write and return."""

from __future__ import annotations

import argparse
import io
import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import wrong
from compaction_conformance.corpus.cases import Answer, corpus_dir, load_corpus
from compaction_conformance.corpus.record import Told, write_answers
from compaction_conformance.errors import ConformanceError, InvalidInput
from compaction_conformance.verbs import overflow
from disk import full_disk

GIVEN = {
    "id": "acme-full",
    "provider": "acme",
    "api": "openai-completions",
    "status": "400",
    "label": "overflow",
    "reason": "says so",
    "class": "context-input",
    "grade": "synthetic",
    "source": "ours",
    "seen": "2026-11-30",
}
Call = Callable[..., int]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """Runs a verb of `overflow`; an error of the suite is its exit code, told on stderr."""

    def run(*words: object) -> int:
        parser = argparse.ArgumentParser()
        overflow.add(parser.add_subparsers(required=True))
        options = parser.parse_args(["overflow", *map(str, words)])
        try:
            return int(options.verb(options))
        except ConformanceError as error:
            print(f"error: {error}", file=sys.stderr)
            return error.exit_code

    return run


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A copy of two families."""
    folder = tmp_path / "overflow"
    folder.mkdir()
    for name in ("groq", "cerebras"):
        shutil.copy(corpus_dir() / f"{name}.json", folder)
    return folder


def flags(**changed: str | None) -> list[str]:
    given = {**GIVEN, **changed}
    return [part for name, value in given.items() if value is not None for part in (f"--{name}", value)]


def typed(monkeypatch: pytest.MonkeyPatch, text: bytes, *, terminal: bool = False) -> None:
    stream = io.TextIOWrapper(io.BytesIO(text), encoding="utf-8")
    monkeypatch.setattr(stream, "isatty", lambda: terminal)
    monkeypatch.setattr("sys.stdin", stream)


# try


def test_try_tells_who_decides(call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("try", "prompt is too long", "429 rate limit: too many tokens") == 0
    first, second = capsys.readouterr().out.split("\n\n")
    assert "by OVP-01 (anthropic, z.ai)" in first
    assert "excluded by OVX-02" in second


def test_try_asks_plugged_implementations(call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    code = call(
        "try", "x", "--implementation", "reference", "--implementation", "python:compaction_reference.operations"
    )
    shown = capsys.readouterr().out
    assert code == 0
    assert "reference" in shown
    assert "python:compaction_reference.operations" in shown


def test_try_reads_stdin(call: Call, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    typed(monkeypatch, b"prompt is too long\xff")
    assert call("try", "-", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["editions"]["pi-0.87"]["decidedBy"] == ["OVP-01"]
    assert told["recommended"]["overflow"] is True


def test_try_reads_stdin_once(call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("try", "-", "-") == 2
    assert "stdin can be read once" in capsys.readouterr().err


def test_try_refuses_more_than_it_can_hold(
    call: Call, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    typed(monkeypatch, b"x" * ((8 << 20) + 1))
    assert call("try", "-") == 2
    assert "at most 8 MiB" in capsys.readouterr().err


def test_try_uses_what_is_known_beside_the_text(call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    call("try", "too many tokens", "--status", 429, "--json")
    call("try", "413 (no body)", "--provider", "cerebras", "--json")
    call("try", "the context window is small, you requested 9000 tokens", "--context-window", 8192, "--json")
    told = [json.loads(line)["recommended"]["overflow"] for line in capsys.readouterr().out.splitlines()]
    assert told == [False, True, True]


# add


def test_add_writes_a_case(call: Call, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "body").write_bytes(b'{"error":"full","request_id":"req_9f2k4mx81qzt03"}')
    assert call("add", tmp_path / "body", "--corpus", corpus, *flags(), "--header", "Retry-After: 3") == 0
    printed = capsys.readouterr()
    assert printed.out == f"{corpus}/acme.json: acme-full added\n"
    assert "replaced: id req_9f…" in printed.err
    case = next(one for one in load_corpus(corpus) if one.id == "acme-full")
    assert dict(case.response.headers) == {"retry-after": "3", "content-type": "application/json"}
    assert (case.provider_id, case.of, case.disputed) == ("acme", "input", False)


def test_add_joins_the_family_that_is_named(call: Call, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = [case.id for case in load_corpus(corpus) if case.family == "groq"]
    typed(monkeypatch, b"the ark is full")
    assert call("add", "-", "--corpus", corpus, "--family", "groq", *flags(provider="groq")) == 0
    assert [case.id for case in load_corpus(corpus) if case.family == "groq"] == [*before, "acme-full"]


def test_add_needs_to_know_enough(call: Call, corpus: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "body").write_text("full")
    assert call("add", tmp_path / "body", "--corpus", corpus, *flags(label=None, seen=None)) == 2
    assert "give --label --seen" in capsys.readouterr().err
    assert not (corpus / "acme.json").exists()


def test_add_asks_on_a_terminal_until_the_answer_fits(
    call: Call, corpus: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "body").write_text("full")
    typed(monkeypatch, b"", terminal=True)
    answers = iter(["cheap", "750", "500", "maybe", "", "not-overflow"])
    monkeypatch.setattr("builtins.input", lambda _: next(answers))
    words = flags(label=None, status=None, **{"class": "server-error"})
    assert call("add", tmp_path / "body", "--corpus", corpus, *words) == 0
    case = next(one for one in load_corpus(corpus) if one.id == "acme-full")
    assert (case.response.status, case.label, case.of) == (500, "not-overflow", "")
    assert capsys.readouterr().err.count("cannot be") == 4


def test_add_ends_when_the_terminal_ends(
    call: Call, corpus: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def end(_: str) -> str:
        raise EOFError

    (tmp_path / "body").write_text("full")
    typed(monkeypatch, b"", terminal=True)
    monkeypatch.setattr("builtins.input", end)
    assert call("add", tmp_path / "body", "--corpus", corpus, *flags(label=None)) == 2
    assert "give --label" in capsys.readouterr().err


def test_add_refuses_what_is_there(
    call: Call, corpus: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "body").write_text("full")
    assert call("add", tmp_path / "body", "--corpus", corpus, *flags()) == 0
    assert call("add", tmp_path / "body", "--corpus", corpus, *flags(id="acme-again")) == 2
    assert "same response as acme-full" in capsys.readouterr().err


def test_add_shows_a_case_without_writing_it(
    call: Call, corpus: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "body").write_text("full")
    assert call("add", tmp_path / "body", "--corpus", corpus, *flags(), "--dry-run", "--policy", "a choice") == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["disputed"], shown["policy"]) == (True, "a choice")
    assert not (corpus / "acme.json").exists()


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["--header", "no colon"], "is no header"),
        (["--family", "../x"], "no name of a family"),
        (["--label", "not-overflow", "--of", "bytes"], "nothing is too large where nothing overflows"),
        (["--id", "A B"], "case is refused"),
    ],
)
def test_add_says_what_is_wrong(
    call: Call, corpus: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, words: list[str], what: str
) -> None:
    (tmp_path / "body").write_text("full")
    assert call("add", tmp_path / "body", "--corpus", corpus, *flags(), *words) == 2
    assert what in capsys.readouterr().err


def test_add_says_that_there_is_no_file(call: Call, corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("add", corpus / "nothing", "--corpus", corpus, *flags()) == 2
    assert "cannot be read: No such file" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--status", "99"], ["--label", "perhaps"], ["--class", "fun"], ["--api", "smoke"]])
def test_add_refuses_values_that_no_case_can_have(call: Call, corpus: Path, words: list[str]) -> None:
    with pytest.raises(SystemExit) as end:
        call("add", "-", "--corpus", corpus, *flags(), *words)
    assert end.value.code == 2


# check-pattern


def test_check_pattern_succeeds_for_a_sound_pattern(
    call: Call, corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("check-pattern", "please reduce the length of the messages", "--corpus", corpus) == 0
    assert "verdict   sound" in capsys.readouterr().out


def test_check_pattern_fails_for_one_that_breaks_cases(
    call: Call, corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("check-pattern", "tokens", "--corpus", corpus) == 1
    assert "WRONG: newly taken for an overflow" in capsys.readouterr().out


def test_check_pattern_fails_for_one_that_is_too_dear(
    call: Call, corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("check-pattern", "(?:x+)+y", "--corpus", corpus, "--time-limit", 4) == 1
    assert "it is too dear" in capsys.readouterr().out


def test_check_pattern_refuses_what_is_no_regex(call: Call, corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("check-pattern", "(", "--corpus", corpus) == 2
    assert "is no regex" in capsys.readouterr().err


def test_an_unknown_edition_is_told_though_nobody_is_asked_for_it(
    call: Call, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("try", "x", "--edition", "pi-9") == 2
    assert "unknown edition 'pi-9'" in capsys.readouterr().err


def test_check_pattern_knows_its_editions(call: Call, corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("check-pattern", "x", "--corpus", corpus, "--edition", "pi-9") == 2
    assert "known: pi-0.87" in capsys.readouterr().err


# lint


def test_lint_passes_the_projects_own_corpus(call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("lint") == 0
    assert ": 0 errors" in capsys.readouterr().out


def test_lint_fails_for_a_broken_corpus(call: Call, corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (corpus / "broken.json").write_text('{"family": "broken", "cases": [{}]}')
    assert call("lint", "--corpus", corpus) == 1
    printed = capsys.readouterr().out
    assert "broken.json:1: error" in printed
    assert "1 errors" in printed


def test_lint_can_be_strict_about_warnings(call: Call, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "body").write_text("full")
    call("add", tmp_path / "body", "--corpus", corpus, *flags())
    assert call("lint", "--corpus", corpus) == 0
    assert call("lint", "--corpus", corpus, "--strict") == 1


# score


def test_score_shows_everybody_and_writes_json(call: Call, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--by", "grade", "--by", "class", "--by", "provider", "--faults", "--implementation", "reference")
    assert call("score", *words, "--json", tmp_path / "score.json") == 0
    shown = capsys.readouterr().out
    for part in (
        "always",
        "pi-0.87 recorded",
        "recommended",
        "reference",
        "by grade",
        "by class",
        "by provider",
        "  loop",
    ):
        assert part in shown
    told: dict[str, Any] = {one["name"]: one for one in json.loads((tmp_path / "score.json").read_text())["entrants"]}
    assert told["recommended"]["undisputed"]["recall"] >= 0.98
    assert told["reference"]["undisputed"] == told["pi-0.87 table"]["undisputed"]
    assert set(told["always"]["splits"]) == {"grade", "class", "provider"}


def test_score_can_hold_the_recommended_classifier_to_a_rate(call: Call) -> None:
    assert call("score", "--least", "0.98") == 0


def test_score_can_hold_an_implementation_to_a_rate(call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("score", "--least", "0.98", "--implementation", "reference") == 1
    assert "below 0.98: reference" in capsys.readouterr().err


def test_score_says_where_it_cannot_write(call: Call, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("score", "--json", tmp_path / "no" / "file") == 2
    assert "cannot be written" in capsys.readouterr().err


def test_a_score_that_cannot_be_written_leaves_the_old_one(call: Call, tmp_path: Path) -> None:
    (tmp_path / "score.json").write_text("old")
    with full_disk():
        assert call("score", "--json", tmp_path / "score.json") == 2
    assert (tmp_path / "score.json").read_text() == "old"


@pytest.mark.parametrize("name", ["reason", "id", "family", "provider-id", "source", "policy"])
def test_add_takes_no_words_that_are_no_text(
    name: str, call: Call, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "body").write_text("too long")
    assert call("add", tmp_path / "body", "--corpus", corpus, *flags(**{name: "\udcff"})) == 2
    assert f"--{name}: is not UTF-8" in capsys.readouterr().err


def test_add_keeps_the_file_when_the_disk_is_full(call: Call, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "body").write_text("too long")
    before = {path: path.read_bytes() for path in corpus.iterdir()}
    with full_disk():
        assert call("add", tmp_path / "body", "--corpus", corpus, *flags(family="groq")) == 2
    assert {path: path.read_bytes() for path in corpus.iterdir()} == before


def test_a_recording_keeps_the_files_when_the_disk_is_full(corpus: Path) -> None:
    told = [Told(case, Answer("stop", "other words", False)) for case in load_corpus(corpus)]
    before = {path: path.read_bytes() for path in corpus.iterdir()}
    with full_disk(), pytest.raises(InvalidInput, match="cannot be written"):
        write_answers(corpus, "pi-0.87", told)
    assert {path: path.read_bytes() for path in corpus.iterdir()} == before


# agree

DYING = f"{sys.executable} {Path(__file__).with_name('dying_adapter.py')}"


def test_who_reads_alike_agrees(call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("agree", "reference", "reference", "--texts", 50) == 0
    assert capsys.readouterr().out.endswith(": 0 read differently\n")


def test_who_reads_differently_does_not_agree(call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("agree", "reference", "python:wrong:never_overflows", "--texts", 50) == 1
    assert '  b {"result": {"overflow": false}}' in capsys.readouterr().out


@pytest.mark.parametrize("place", ["A", "B"])
def test_who_does_not_declare_the_question_is_not_asked(
    place: str, call: Call, capsys: pytest.CaptureFixture[str]
) -> None:
    sides = ["reference", "python:wrong:partial"]
    assert call("agree", *(sides[::-1] if place == "A" else sides), "--texts", 50) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert re.match(f"error: {place}: .* does not declare overflow/is_overflow", printed.err)


def test_two_that_die_on_every_text_do_not_agree(call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("agree", DYING, DYING, "--texts", 3) == 1
    assert ": 3 read differently" in capsys.readouterr().out


def test_two_that_answer_every_text_with_an_error_do_not_agree(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    crashes = wrong.Wrong("crashes", overflow__is_overflow=wrong._crash)
    monkeypatch.setattr(wrong, "crashes", crashes)
    assert call("agree", "python:wrong:crashes", "python:wrong:crashes", "--texts", 3) == 1


def test_agreement_is_incomplete_when_one_cannot_be_asked_any_more(
    call: Call, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("agree", "reference", DYING, "--texts", 9, "--restarts", 1) == 3
    assert "incomplete, 9 texts were to be asked: the restart budget is spent" in capsys.readouterr().out
