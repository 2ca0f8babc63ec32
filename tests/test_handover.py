"""Hand-over: two implementations share a file; what one breaks is found and laid at its door."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from compaction_conformance.connect import Settings, connect
from compaction_conformance.errors import InvalidInput
from compaction_conformance.expectation import Result
from compaction_conformance.golden.sessions import load_sessions
from compaction_conformance.handover import HandOver, Party, hand_over
from compaction_conformance.implementation import Request, call
from compaction_conformance.verbs.handover import report
from golden_side import side

FILES = [session.file for session in load_sessions()]
SOME = [file for file in FILES if file.stem in ("recoveries", "damage-crlf", "damage-malformed-lines", "legacy-v1")]
WITNESS = Party("witness", side())

DYING = f"{sys.executable} {Path(__file__).with_name('dying_adapter.py')}"


def handed(first: Any, second: Any, files: list[Path] = SOME) -> HandOver:
    return hand_over(Party("A", first), Party("B", second), WITNESS, files)


def told(result: HandOver) -> str:
    return report(result, ("A", "B"), 1.0, ["compaction-conformance", "handover", "A", "B"])


def test_the_reference_hands_every_session_to_itself() -> None:
    result = handed(side(), side(), FILES)
    assert not result.findings
    assert (result.sessions, result.incomplete, result.refused) == (len(FILES), "", 0)
    assert result.compactions >= len(FILES)
    assert result.rewritten == 2
    assert result.kept_bytes > sum(file.stat().st_size for file in FILES)


def test_the_reference_hands_every_session_to_the_reference_as_a_process() -> None:
    process = connect(f"{sys.executable} -m compaction_reference", Settings())
    result = handed(side(), process, FILES)
    process.close()
    assert not result.findings
    assert not result.incomplete


def test_appending_changes_no_byte_that_was_there() -> None:
    """Without the hand-over's own code: the file is opened and a message appended."""
    draft = {"type": "message", "message": {"role": "user", "content": "one more", "timestamp": 1}}
    for session in load_sessions():
        if session.id.startswith("legacy"):
            continue
        before = session.content.decode("utf-8", "replace")
        params = json.dumps({"content": before, "drafts": [draft]})
        reply = call(side(), Request("session/write", params))
        assert isinstance(reply, Result)
        after = reply.value["content"]
        assert after.startswith(before)
        rest = after[len(before) :]
        assert rest.count("\n") == (1 if before.endswith("\n") else 2)


def test_a_writer_that_writes_the_file_anew_is_to_blame() -> None:
    def tidy(params: Any, answer: Any) -> Any:
        """Drops every line that is not JSON, as a program does that writes all entries again."""
        kept = [line for line in answer["content"].split("\n") if line.strip() and _is_json(line)]
        return {"content": "".join(f"{line}\n" for line in kept)}

    result = handed(side({"session/write": tidy}), side())
    by_session = {finding.session: finding for finding in result.findings}
    found = by_session["damage-malformed-lines"]
    assert (found.who, found.operation, found.step) == ("A", "session/write", "open")
    assert "of the file changed" in found.difference.note
    assert "recoveries" not in by_session


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def test_a_writer_that_glues_its_entry_to_the_last_line_is_to_blame(tmp_path: Path) -> None:
    def glue(params: Any, answer: Any) -> Any:
        before = params.get("content", "")
        if before and params["drafts"] and answer["content"].startswith(before):
            return {"content": before.rstrip("\n") + answer["content"][len(before) :]}
        return answer

    result = handed(side({"session/write": glue}), side())
    assert {finding.who for finding in result.findings} == {"A"}


def test_a_reader_that_loses_the_kept_tail_is_to_blame() -> None:
    def forgetful(params: Any, answer: Any) -> Any:
        return {"messages": answer["messages"][:1] + answer["messages"][-1:]}

    wrong = side({"projection/messages": forgetful})
    for first, second, blamed in ((side(), wrong, "B"), (wrong, side(), "A")):
        result = handed(first, second)
        assert len(result.findings) == len(SOME)
        assert {(finding.who, finding.operation) for finding in result.findings} == {(blamed, "projection/messages")}
        text = told(result)
        assert f"blame  {blamed}\n" in text
        assert f"0 of {len(SOME)} sessions handed over" in text


def test_a_finding_names_whose_each_value_is_and_how_it_is_repeated() -> None:
    def empty(params: Any, answer: Any) -> Any:
        return {"messages": []}

    wrong, (file,) = side({"projection/messages": empty}), SOME[:1]
    for first, second, absent in ((side(), wrong, "B"), (wrong, side(), "A")):
        text = told(handed(first, second, [file]))
        assert re.search(rf"^  {absent}  +nothing$", text, re.MULTILINE)
        assert re.search(rf"^  again  compaction-conformance handover A B {re.escape(str(file))}$", text, re.MULTILINE)
    alike = told(handed(wrong, wrong, [file]))
    assert re.search(r'^  witness  +\{"', alike, re.MULTILINE)
    assert re.search(r"^  A and B  nothing$", alike, re.MULTILINE)


def test_a_file_that_was_changed_is_shown_before_and_after() -> None:
    spaced = side({"session/write": lambda _, answer: {"content": answer["content"].replace('":', '": ')}})
    text = told(handed(spaced, side(), SOME[:1]))
    assert re.search(r'^  before  "', text, re.MULTILINE)
    assert re.search(r'^  after   "', text, re.MULTILINE)


def test_two_that_are_wrong_alike_are_found_by_the_witness() -> None:
    fault = {"tokens/of_projection": lambda _, answer: {**answer, "tokens": answer["tokens"] + 1}}
    result = handed(side(fault), side(fault))
    assert {finding.who for finding in result.findings} == {"A and B"}


def test_a_compaction_that_keeps_a_strange_entry_reads_alike_and_is_handed_over() -> None:
    """The reader does not judge where a cut was made; it reads what is written."""

    def odd(params: Any, answer: Any) -> Any:
        if answer["preparation"]:
            answer["preparation"]["firstKeptEntryId"] = params["entries"][-1]["id"]
        return answer

    result = handed(side({"compaction/prepare": odd}), side())
    assert {finding.operation for finding in result.findings} <= {"compaction/prepare"}


@pytest.mark.parametrize("answer", [None, 3, "text", [], {}, {"content": None}, {"entries": 1}, {"preparation": {}}])
def test_nonsense_is_a_finding_and_never_a_traceback(answer: Any) -> None:
    for operation in ("session/parse", "session/write", "compaction/prepare", "projection/messages"):
        result = handed(side({operation: lambda _, __: answer}), side(), SOME[:2])
        assert len(result.findings) == 2
        assert told(result).count("FAIL") == 2


def test_an_operation_that_is_missing_is_one_clear_error() -> None:
    with pytest.raises(InvalidInput, match=r"^B: .* does not declare session/write"):
        handed(side(), side(without=["session/write"]))


def test_what_one_does_not_declare_is_compared_with_nobody() -> None:
    assert not handed(side(), side(without=["tokens/context_usage", "messages/to_llm"])).findings


def test_a_file_that_is_no_session_is_refused_by_both(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("no session\n")
    result = handed(side(), side(), [file])
    assert (result.refused, result.findings) == (1, [])
    assert "nothing was handed over" in result.incomplete
    assert "0 of 1 sessions handed over" in told(result)
    assert handed(side(), side(), [file, FILES[0]]).incomplete == ""
    with pytest.raises(InvalidInput, match="cannot be read"):
        handed(side(), side(), [tmp_path / "absent.jsonl"])


def test_an_adapter_that_dies_too_often_ends_the_hand_over(tmp_path: Path) -> None:
    adapter = connect(DYING, Settings(restarts=1))
    result = hand_over(Party("A", adapter), Party("B", side()), WITNESS, SOME)
    adapter.close()
    assert result.incomplete
    assert "incomplete" in told(result)
