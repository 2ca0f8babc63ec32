"""The verbs as a user meets them: what they print, which code they end with, which files they leave."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from compaction_conformance import schemas
from compaction_conformance.cli import main
from compaction_conformance.paths import spec_dir
from compaction_conformance.spec import load_spec

Cli = Callable[..., tuple[int, str, str]]


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
    for label in ("  about  ", "  rule   ", "  at     /tokens", "  want   ", "  got    ", "  input  ", "  again  "):
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
    ("name", "failure"), [("not_json", "unexpected_error"), ("bad_shape", "schema_violation"), ("leaves", "exited")]
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
    code, out, _ = cli("smoke", "--implementation", "python:wrong:never_overflows")
    assert "overflow/is_overflow" in out


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
