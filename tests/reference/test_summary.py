"""Summaries of the reference: what holds for any input, beside what the vectors say of single ones."""

from __future__ import annotations

import copy
import itertools
import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction_reference import branch_summary, prompts, retry, scripted, summary
from compaction_reference.ecma import utf16_length
from compaction_reference.file_operations import format_lists
from compaction_reference.operations import call, describe
from compaction_reference.serialization import RESULT_UNITS, serialize
from compaction_reference.tokens import of_message

USAGE = {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 3}
USAGE["cost"] = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}  # type: ignore[assignment]
MODEL = {"provider": "p", "id": "m", "contextWindow": 1000, "maxTokens": 500, "reasoning": True}
HEADINGS = (
    "Goal",
    "Constraints & Preferences",
    "Progress",
    "Done",
    "In Progress",
    "Blocked",
    "Key Decisions",
    "Next Steps",
)
POLICY = retry.Policy(max_retries=3, base_delay_ms=2000)

texts = st.text(st.characters(codec="utf-16"), max_size=60)


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text, "timestamp": 0}


def result(text: str) -> dict[str, Any]:
    return {"role": "toolResult", "toolCallId": "t", "content": [{"type": "text", "text": text}], "isError": False}


def reply(text: str, stop: str = "stop", **more: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": text}] if text else []
    return {"role": "assistant", "content": content, "stopReason": stop, "usage": USAGE, **more}


def failed(text: str = "overloaded") -> dict[str, Any]:
    return reply("", "error", errorMessage=text)


def chain(*bodies: dict[str, Any]) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = []
    for number, body in enumerate(bodies):
        kind = {"type": "message", "message": body} if "role" in body else body
        parent = f"e{number - 1}" if number else None
        entries.append({"id": f"e{number}", "parentId": parent, "timestamp": "2025-01-01T00:00:00.000Z", **kind})
    return entries


def preparation(history: int = 1, prefix: int = 0, previous: str | None = None) -> dict[str, Any]:
    return {
        "firstKeptEntryId": "e9",
        "messagesToSummarize": [user(f"history {number}") for number in range(history)],
        "turnPrefixMessages": [user(f"prefix {number}") for number in range(prefix)],
        "isSplitTurn": prefix > 0,
        "tokensBefore": 99,
        "previousSummary": previous,
        "fileOperations": {"readFiles": ["a"], "modifiedFiles": []},
    }


def compacted(prepared: dict[str, Any], *replies: Any, **options: Any) -> tuple[Any, list[summary.Request]]:
    """The compaction, or the kind of its failure, and the requests that were made."""
    asked: list[summary.Request] = []
    waiting = iter(replies)

    def ask(request: summary.Request) -> Any:
        asked.append(request)
        return next(waiting)

    try:
        done = summary.compact(prepared, MODEL, {"reserveTokens": 100}, summary.Options(**options), ask)
    except summary.SummaryFailed as failure:
        return failure.kind, asked
    return done, asked


# ---- the conversation as text ----------------------------------------------------------------------------------------


@given(st.lists(texts, max_size=5))
def test_every_spoken_message_stands_in_the_text_in_order(spoken: list[str]) -> None:
    parts = [f"[User]: {text}" for text in spoken if text]
    assert serialize([user(text) for text in spoken]) == "\n\n".join(parts)


@given(st.text(st.characters(codec="utf-16"), min_size=1), st.integers(1, 400))
def test_a_result_never_takes_more_than_its_limit_and_a_marker(unit: str, times: int) -> None:
    text = unit * times
    written = serialize([result(text)]).removeprefix("[Tool result]: ")
    missing = utf16_length(text) - RESULT_UNITS
    if missing <= 0:
        assert written == text
    else:
        kept, marker = written.rsplit("\n\n", 1)
        assert utf16_length(kept) == RESULT_UNITS
        assert marker == f"[... {missing} more characters truncated]"


def test_serialising_changes_no_message() -> None:
    arguments = {"2": 1, "a": [{"b": None}]}
    call_block = {"type": "toolCall", "id": "t", "name": "n", "arguments": arguments}
    messages = [user("x"), {"role": "assistant", "content": [call_block]}, result("y" * 3000)]
    before = copy.deepcopy(messages)
    serialize(messages)
    assert messages == before


# ---- requests --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["FIRST", "UPDATE", "LIVE_FIRST", "LIVE_UPDATE", "BRANCH"])
def test_each_prompt_names_its_headings_in_order(name: str) -> None:
    lines = getattr(prompts, name).split("\n")
    found = [line.lstrip("# ") for line in lines if line.startswith("##")]
    assert tuple(found[: len(HEADINGS)]) == HEADINGS
    assert found[len(HEADINGS) :] == ([] if name == "BRANCH" else ["Critical Context"])


def test_the_prompts_of_first_and_later_summaries_differ() -> None:
    assert len({prompts.FIRST, prompts.UPDATE, prompts.LIVE_FIRST, prompts.LIVE_UPDATE, prompts.BRANCH}) == 5


@pytest.mark.parametrize(("history", "prefix", "calls"), [(1, 0, 1), (1, 1, 2), (0, 1, 1)])
def test_one_request_is_made_for_each_part_that_has_messages(history: int, prefix: int, calls: int) -> None:
    _, asked = compacted(preparation(history, prefix), reply("one"), reply("two"))
    assert len(asked) == calls
    assert len({request.routing_id for request in asked}) == calls


@given(st.floats(0, 1e6), st.one_of(st.none(), st.integers(-5, 100_000)))
def test_a_reply_never_gets_more_than_share_and_model_allow(tokens: float, cap: int | None) -> None:
    model = {} if cap is None else {"maxTokens": cap}
    budget = summary.output_budget(tokens, model)
    assert budget <= tokens
    assert budget == int(budget)
    if cap is not None and cap > 0:
        assert budget <= cap


# ---- replies and what is stored --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "kind"),
    [
        (failed("no such model"), "failed"),
        (reply("half", "length"), "incomplete"),
        ({**reply("S"), "content": [{"type": "toolCall", "id": "t", "name": "n", "arguments": {}}]}, "tool_call"),
    ],
)
def test_a_bad_reply_ends_all_of_it(bad: dict[str, Any], kind: str) -> None:
    outcome, asked = compacted(preparation(1, 1), bad, reply("P"))
    assert (outcome, len(asked)) == (kind, 1)
    outcome, asked = compacted(preparation(1, 1), reply("H"), bad)
    assert (outcome, len(asked)) == (kind, 2)


@given(texts, texts)
def test_parts_and_lists_are_joined_without_a_change(history: str, prefix: str) -> None:
    done, _ = compacted(preparation(1, 1), reply(history), reply(prefix))
    assert done["summary"] == history + summary.TURN_HEADING + prefix + format_lists(["a"], [])


def test_a_carried_summary_is_not_asked_about() -> None:
    done, asked = compacted(preparation(0, 1, previous="Earlier."), reply("P"), custom_instructions="focus")
    assert done["summary"].startswith("Earlier." + summary.TURN_HEADING)
    assert [("Earlier." in request.prompt, "focus" in request.prompt) for request in asked] == [(False, False)]


def test_usages_of_two_calls_are_added() -> None:
    done, _ = compacted(preparation(1, 1), reply("H"), reply("P"))
    assert done["usage"]["totalTokens"] == 6
    assert set(done["usage"]) == set(USAGE)


def test_the_source_context_is_handed_on_as_the_same_messages() -> None:
    live = [user("x"), reply("y")]
    source = summary.SourceContext(live, "live", "short")
    _, asked = compacted(preparation(1, 1), reply("H"), reply("P"), source=source)
    assert asked[0].context is live
    assert (asked[0].system, asked[0].routing_id, asked[0].cache_retention) == (None, "live", "short")
    assert not asked[1].context
    assert asked[1].cache_retention == "none"


# ---- asking again ----------------------------------------------------------------------------------------------------


@given(st.integers(0, 5), st.integers(0, 7))
def test_calls_are_bounded_whatever_fails(max_retries: int, failures: int) -> None:
    replies = itertools.chain([failed()] * failures, itertools.repeat(reply("S")))
    waits: list[tuple[int, float]] = []
    calls = []

    def one_call() -> Any:
        calls.append(1)
        return next(replies)

    policy = retry.Policy(max_retries, 1000)
    last = retry.complete(one_call, policy, lambda attempt, ms: waits.append((attempt, ms)) is None)
    assert len(calls) == min(failures, max_retries) + 1
    assert [attempt for attempt, _ in waits] == list(range(1, len(calls)))
    assert last["stopReason"] == ("stop" if failures <= max_retries else "error")


@given(st.integers(0, 2**53 - 1), st.integers(1, 3000), st.integers(0, 10**9))
def test_waits_grow_and_never_pass_the_limit(base: int, attempt: int, limit: int) -> None:
    policy = retry.Policy(3, base, limit)
    assert retry.delay_ms(policy, attempt) <= retry.delay_ms(policy, attempt + 1) <= limit


def test_a_stopped_wait_makes_no_further_call_and_drops_the_error() -> None:
    stopped = retry.complete(failed, POLICY, lambda attempt, ms: False)
    assert stopped["stopReason"] == "aborted"
    assert "errorMessage" not in stopped


@pytest.mark.parametrize("text", ["rate" * 200_000, "provider returned " * 50_000, "time" + "d" * 500_000])
def test_long_error_texts_are_judged_in_no_time(text: str) -> None:
    start = time.perf_counter()
    assert not retry.is_retryable(failed(text))
    assert time.perf_counter() - start < 2


# ---- branches --------------------------------------------------------------------------------------------------------


@given(st.integers(1, 12), st.data())
def test_what_is_left_and_the_ancestor_make_up_the_old_path(length: int, data: st.DataObject) -> None:
    entries = chain(*(user("x") for _ in range(length)))
    fork = data.draw(st.integers(0, length - 1))
    other = {**chain(user("y"))[0], "id": "other", "parentId": f"e{fork}"}
    left, ancestor = branch_summary.collect([*entries, other], f"e{length - 1}", "other")
    assert ancestor == f"e{fork}"
    assert entries == entries[: fork + 1] + left


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 30)), max_size=10), st.integers(1, 60))
def test_the_newest_messages_fit_the_budget_up_to_one_summary(kinds: list[tuple[bool, int]], budget: int) -> None:
    summaries = [{"type": "branch_summary", "fromId": "x", "summary": "s" * 4 * size} for _, size in kinds]
    bodies = [
        body if is_summary else user("u" * 4 * size) for body, (is_summary, size) in zip(summaries, kinds, strict=True)
    ]
    everything = branch_summary.prepare(chain(*bodies)).messages
    prepared = branch_summary.prepare(chain(*bodies), budget)
    taken = len(prepared.messages)
    assert list(prepared.messages) == list(everything)[len(everything) - taken :]
    assert prepared.total_tokens == sum(map(of_message, prepared.messages))
    if prepared.total_tokens > budget:
        assert prepared.messages[0]["role"] == "branchSummary"
        assert prepared.total_tokens - of_message(prepared.messages[0]) < branch_summary.SUMMARY_ROOM * budget


def test_preparing_a_long_branch_takes_linear_time() -> None:
    def seconds(count: int) -> float:
        entries = chain(*(user("word " * 20) for _ in range(count)))
        start = time.perf_counter()
        branch_summary.prepare(entries)
        return time.perf_counter() - start

    small = min(seconds(5_000) for _ in range(3))
    large = min(seconds(20_000) for _ in range(3))
    assert large < 12 * small + 0.05


# ---- as operations ---------------------------------------------------------------------------------------------------


def test_a_request_beyond_the_script_breaks_like_a_call() -> None:
    answer = scripted.summarize_branch({"entries": chain(user("x")), "model": MODEL, "replies": []})
    assert answer["outcome"]["error"]["kind"] == "thrown"
    assert len(answer["requests"]) == 1


def test_every_answer_is_json_whatever_the_reserve() -> None:
    params = {"entries": chain(user("x" * 40), reply("y" * 40)), "model": {}, "replies": [reply("S")]}
    for reserve in (None, 0, 16384.5, 1e300):
        settings = {"keepRecentTokens": 5} | ({} if reserve is None else {"reserveTokens": reserve})
        answer = call("summary/compact", {**params, "settings": settings})
        assert json.loads(json.dumps(answer, allow_nan=False)) == answer


def test_the_optional_feature_is_declared() -> None:
    assert describe()["features"] == ["source-context"]
