"""What becomes of an observed answer when it is written down as an expectation."""

from __future__ import annotations

from typing import Any

from compaction_conformance.attest import expectation_from
from compaction_conformance.expectation import Error, Result, read_expectation

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


def test_the_folder_of_a_new_session_is_any_folder() -> None:
    header = {"type": "session", "version": 3, "id": "0a1b2c3d", "cwd": "/somewhere"}
    assert expected(Result(header)) == {**header, "id": "<id:1>", "cwd": "<id:2>"}
    assert expectation_from(Result(header), {"content": {"cwd": "/somewhere"}})["result"]["cwd"] == "/somewhere"


def test_a_refusal_without_a_kind_is_malformed_input() -> None:
    assert expectation_from(Error(None, "boom"), {}) == {"error": {"kind": "malformed_input"}}
