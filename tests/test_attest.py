"""What becomes of an observed answer when it is written down as an expectation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compaction_conformance.attest import Attested, attest_file, expectation_from
from compaction_conformance.cli import main
from compaction_conformance.connect import Settings, connect
from compaction_conformance.errors import InvalidInput
from compaction_conformance.expectation import Error, Result, read_expectation
from compaction_conformance.paths import vector_files
from compaction_conformance.spec import Spec
from compaction_conformance.vector_checks import reading_flaws
from samples import vector

_PROMPT = "<conversation>\n[User]: a\n\n[Assistant]: b\n</conversation>\n\nSummarise this, please."


def answer(outcome: Any, prompt: str = _PROMPT) -> Result:
    request = {"system": "You write summaries.", "prompt": prompt, "tools": [], "maxTokens": 80, "routingId": "r-1"}
    return Result({"requests": [request], "retries": [], "outcome": outcome})


def expected(reply: Result) -> Any:
    return expectation_from(reply, {})["result"]


def test_the_wording_of_a_summary_request_is_not_expected() -> None:
    (request,) = expected(answer({"nothing": True}))["requests"]
    assert request == {
        "system": {"$text": {}},
        "prompt": {"$text": {"holds": ["[User]: a\n\n[Assistant]: b"]}},
        "tools": [],
        "maxTokens": 80,
        "routingId": "r-1",
    }


def test_a_prompt_without_a_conversation_is_any_text() -> None:
    (request,) = expected(answer({"nothing": True}, "Go on."))["requests"]
    assert request["prompt"] == {"$text": {}}


def test_the_words_of_a_failure_are_free_but_those_of_the_model_are_not() -> None:
    refused = expected(answer({"error": {"kind": "failed", "message": "it failed: no"}}))
    thrown = expected(answer({"error": {"kind": "thrown", "message": "socket closed"}}))
    assert refused["outcome"] == {"error": {"kind": "failed", "message": {"$text": {}}}}
    assert thrown["outcome"] == {"error": {"kind": "thrown", "message": "socket closed"}}


def test_what_stands_before_the_summary_of_a_branch_is_free() -> None:
    stored = {"branchSummary": {"summary": "About a branch:\n\nS1\n\nmore", "readFiles": []}}
    nothing = {"branchSummary": {"summary": "No content to summarize"}}
    assert expected(answer(stored))["outcome"]["branchSummary"]["summary"] == {"$text": {"ends": "\n\nS1\n\nmore"}}
    assert expected(answer(nothing))["outcome"] == nothing


def test_an_expectation_is_met_by_the_answer_that_it_was_made_from() -> None:
    for outcome in ({"branchSummary": {"summary": "x\n\nS"}}, {"error": {"kind": "failed", "message": "m"}}):
        reply = answer(outcome)
        assert read_expectation(expectation_from(reply, {})).judge(reply, {}).met


def test_what_the_oracle_made_up_is_any_id_and_any_time() -> None:
    made = {"id": "0a1b2c3d", "timestamp": "2025-01-02T03:04:05.678Z", "at": 1735787045678}
    assert expected(Result(made)) == {"id": "<id:1>", "timestamp": "<time:1>", "at": "<ms:1>"}
    assert expectation_from(Result(made), made)["result"] == {**made, "at": 1735787045678}


def test_times_of_two_entries_are_equal_by_chance_alone() -> None:
    at = "2025-01-02T03:04:05.678Z"
    entries = [
        {"id": name, "timestamp": at, "message": {"timestamp": 1735787045678}} for name in ("0a1b2c3d", "1a1b2c3d")
    ]
    assert expected(Result({"entries": entries})) == {
        "entries": [
            {"id": "<id:1>", "timestamp": "<time:1>", "message": {"timestamp": "<ms:1>"}},
            {"id": "<id:2>", "timestamp": "<time:2>", "message": {"timestamp": "<ms:2>"}},
        ]
    }
    lines = "".join(f"{json.dumps(entry)}\n" for entry in entries)
    first, second, last = expected(Result({"content": lines}))["content"]["$lines"]
    assert (first["timestamp"], second["timestamp"], last) == ("<time:1>", "<time:2>", "")


def test_a_time_of_an_entry_is_the_same_in_all_of_it() -> None:
    at = "2025-01-02T03:04:05.678Z"
    entry = {"timestamp": at, "systemMessage": {"timestamp": 1735787045678, "at": at}}
    assert expected(Result({"entry": entry}))["entry"] == {
        "timestamp": "<time:1>",
        "systemMessage": {"timestamp": "<ms:1>", "at": "<time:1>"},
    }


def test_a_time_that_is_none_of_the_calendar_is_expected_as_it_is() -> None:
    assert expected(Result({"timestamp": "2025-99-99T99:99:99.999Z"})) == {"timestamp": "2025-99-99T99:99:99.999Z"}


def deep_entry(depth: int) -> dict[str, Any]:
    data: Any = "x"
    for _ in range(depth):
        data = [data]
    time = "2025-01-01T00:00:01.000Z"
    return {"type": "custom", "customType": "c", "data": data, "id": "e1", "parentId": None, "timestamp": time}


def attested(operation: str, params: Any, folder: Path, spec: Spec) -> Any:
    """The expectation that the reference's answer is made to."""
    one = vector(id="SES-sample", requirements=["SES-01"], operation=operation, params=params, expect=None)
    path = folder / "sample.json"
    path.write_text(json.dumps({"chapter": "session-format", "vectors": [one]}))
    assert attest_file(path, connect("reference", Settings()), spec, fill=True) == Attested((), (one["id"],))
    return json.loads(path.read_text())["vectors"][0]["expect"]


def file_of(folder: Path, **changes: Any) -> Path:
    path = folder / "sample.json"
    path.write_text(json.dumps({"chapter": "tokens", "vectors": [vector(expect=None, **changes)]}))
    return path


def test_evidence_is_filled_with_the_name_of_the_oracle(tmp_path: Path, spec: Spec) -> None:
    oracle = connect("reference", Settings())
    path = file_of(tmp_path, evidence=None)
    assert attest_file(path, oracle, spec, fill=True).filled == ("TOK-sample",)
    (filled,) = json.loads(path.read_text())["vectors"]
    assert filled["evidence"] == {"grade": "observed", "source": oracle.description.label}
    assert attest_file(path, oracle, spec, fill=True) == Attested(())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"requirements": ["TOK-999"]}, "unknown requirement TOK-999"),
        ({"requirements": ["OVF-62"], "evidence": None}, "evidence"),
    ],
    ids=["no rule", "advice has evidence of its own"],
)
def test_what_cannot_be_filled_is_left_alone(changes: dict[str, Any], words: str, tmp_path: Path, spec: Spec) -> None:
    path = file_of(tmp_path, **changes)
    before = path.read_text()
    with pytest.raises(InvalidInput, match=words):
        attest_file(path, connect("reference", Settings()), spec, fill=True)
    assert path.read_text() == before


def test_the_verb_says_what_it_filled(tmp_path: Path, spec: Spec, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["attest", "--implementation", "reference", "--fill", str(file_of(tmp_path))]) == 0
    assert capsys.readouterr().out == "filled: TOK-sample\n1 files, 0 problems\n"


# The readings of a QUIRK

QUIRK: dict[str, Any] = {
    "requirements": ["FIL-18"],
    "operation": "files/lists",
    "params": {"messages": []},
    "expect": {"result": {"readFiles": [], "modifiedFiles": []}},
}


def test_a_quirk_is_filled_as_its_first_reading_and_the_others_are_named(
    tmp_path: Path, spec: Spec, capsys: pytest.CaptureFixture[str]
) -> None:
    path = file_of(tmp_path, **{name: value for name, value in QUIRK.items() if name != "expect"})
    assert main(["attest", "--implementation", "reference", "--fill", str(path)]) == 0
    (filled,) = json.loads(path.read_text())["vectors"]
    assert filled["expect"] == {"readings": [{"reading": "pi", **QUIRK["expect"]}]}
    first, *others = spec.requirements["FIL-18"].readings
    assert first == "pi"
    out = capsys.readouterr().out
    assert f"{path}: TOK-sample: add the other readings of FIL-18: {', '.join(others)}\n" in out


def test_a_quirk_with_one_answer_stands_beside_one_with_readings(tmp_path: Path, spec: Spec) -> None:
    oracle, path = connect("reference", Settings()), tmp_path / "sample.json"
    bare = vector(**QUIRK)
    listed = vector(id="TOK-listed", **{**QUIRK, "expect": {"readings": [{"reading": "pi", **QUIRK["expect"]}]}})
    path.write_text(json.dumps({"chapter": "tokens", "vectors": [bare]}))
    (problem,) = attest_file(path, oracle, spec).problems
    assert "TOK-sample: /expect: a QUIRK lists its readings; FIL-18 has pi, " in problem
    path.write_text(json.dumps({"chapter": "tokens", "vectors": [bare, listed]}))
    assert attest_file(path, oracle, spec) == Attested(())


def test_a_run_takes_no_quirk_with_one_answer_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "sample.json").write_text(json.dumps({"chapter": "tokens", "vectors": [vector(**QUIRK)]}))
    assert main(["run", "--vectors", str(tmp_path)]) == 2
    assert 'a QUIRK lists its readings; FIL-18 has pi, drop, texts (at /expect)\n  → write {"readings"' in (
        capsys.readouterr().err
    )


def test_every_quirk_of_the_suite_lists_its_readings_or_stands_beside_one_that_does(spec: Spec) -> None:
    for path in vector_files():
        raws = json.loads(path.read_text(encoding="utf-8"))["vectors"]
        for raw in raws:
            assert not list(reading_flaws(raw, raws, spec)), raw["id"]


@pytest.mark.parametrize("verb", ["attest", "run"])
def test_what_lacks_an_expectation_or_evidence_can_be_filled(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = file_of(tmp_path, evidence=None)
    words = {"attest": ["--implementation", "reference", str(path)], "run": ["--vectors", str(tmp_path)]}[verb]
    assert main([verb, *words]) == 2
    told = capsys.readouterr().err
    assert f"let the oracle fill it: `compaction-conformance attest --fill {path}`" in told


def test_what_lacks_more_than_the_oracle_knows_is_not_told_to_be_filled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "sample.json"
    path.write_text(json.dumps({"chapter": "tokens", "vectors": [vector(description=None)]}))
    assert main(["run", "--vectors", str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert '"description" is missing' in told
    assert "fill" not in told


def test_an_answer_that_is_nested_too_deeply_is_one_error(tmp_path: Path, spec: Spec) -> None:
    with pytest.raises(InvalidInput, match=r"sample\.json: SES-sample|nested too deeply") as caught:
        attested("session/path", {"entries": [deep_entry(800)]}, tmp_path, spec)
    assert str(caught.value).count("\n") == 1


def test_a_line_that_is_nested_too_deeply_is_expected_as_text(tmp_path: Path, spec: Spec) -> None:
    header = {"type": "session", "version": 3, "id": "s", "timestamp": "2025-01-01T00:00:00.000Z", "cwd": "/w"}
    content = "".join(f"{json.dumps(line)}\n" for line in (header, deep_entry(800)))
    label = {"type": "label", "targetId": "e1", "label": "a"}
    expect = attested("session/write", {"content": content, "drafts": [label]}, tmp_path, spec)
    _, deep, made, _ = expect["result"]["content"]["$lines"]
    assert deep == json.dumps(deep_entry(800))
    assert (made["id"], made["timestamp"]) == ("<id:1>", "<time:1>")


def test_the_folder_of_a_new_session_is_any_folder() -> None:
    header = {"type": "session", "version": 3, "id": "0a1b2c3d", "cwd": "/somewhere"}
    assert expected(Result(header)) == {**header, "id": "<id:1>", "cwd": "<id:2>"}
    assert expectation_from(Result(header), {"content": {"cwd": "/somewhere"}})["result"]["cwd"] == "/somewhere"


def test_a_refusal_without_a_kind_is_malformed_input() -> None:
    assert expectation_from(Error(None, "boom"), {}) == {"error": {"kind": "malformed_input"}}
