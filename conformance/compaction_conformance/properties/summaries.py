"""Properties of summaries: the serialised conversation, the requests, replies and retries. Prose is never judged."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from compaction_conformance.properties.base import Ask, equal, holds, prop
from compaction_conformance.properties.facts import units
from compaction_conformance.strategies import (
    Session,
    conversations,
    lasting_errors,
    models,
    passing_errors,
    sessions,
    texts,
    usages,
)
from compaction_conformance.strategies.messages import assistant_message, text_block, tool_result_message

_SERIALIZE, _COMPACT, _PREPARE = "summary/serialize", "summary/compact", "compaction/prepare"
_TALK = conversations()
_RESERVES = st.integers(2, 40_000)
_COMPACTIONS = st.tuples(sessions(8), st.integers(0, 20), models(), _RESERVES)
_LONGEST, _NOTE = 2000, 60


@prop("SUM-parts", rules="SUM-02 SUM-01", asks=_SERIALIZE, given=st.tuples(_TALK, _TALK))
def a_text_is_made_part_by_part(ask: Ask, two: tuple[list[Any], list[Any]]) -> None:
    """The text of a conversation is that of its parts with a blank line between them, so that it grows as they do."""
    parts = [ask(_SERIALIZE, {"messages": talk})["text"] for talk in two]
    both = ask(_SERIALIZE, {"messages": [*two[0], *two[1]]})["text"]
    equal(_SERIALIZE, "\n\n".join(part for part in parts if part), both, at="/text")


@prop("SUM-bounded", rules="SUM-13", asks=_SERIALIZE, given=st.lists(st.integers(0, 9000), min_size=1, max_size=3))
def tool_results_are_bounded(ask: Ask, sizes: list[int]) -> None:
    """Whatever tools gave back, the text holds no more than 2000 units of each result and a note on what is missing."""
    results = [tool_result_message(f"t{n}", "read", [text_block("x" * size)]) for n, size in enumerate(sizes)]
    text = ask(_SERIALIZE, {"messages": results})["text"]
    most = sum(min(size, _LONGEST) + _NOTE + len("[Tool result]: ") for size in sizes)
    holds(units(text) <= most, _SERIALIZE, "the text is too long", "/text", most, units(text))
    equal(_SERIALIZE, sum(min(size, _LONGEST) for size in sizes), text.count("x"), "cut elsewhere", "/text")


@prop("SUM-whole-words", rules="SUM-14 SUM-04", asks=_SERIALIZE, given=st.integers(1, 9000))
def what_the_user_said_is_whole(ask: Ask, size: int) -> None:
    """What the user and the model said is never cut."""
    said = {"role": "user", "content": "a" * size, "timestamp": 0}
    answered = assistant_message([text_block("b" * size)], "stop")
    want = f"[User]: {'a' * size}\n\n[Assistant]: {'b' * size}"
    equal(_SERIALIZE, want, ask(_SERIALIZE, {"messages": [said, answered]})["text"], at="/text")


@prop("SUM-system", rules="SUM-03", asks=_SERIALIZE, given=_TALK)
def system_messages_say_nothing(ask: Ask, talk: list[Any]) -> None:
    """System messages have no part in the text."""
    ask.same(_SERIALIZE, {"messages": [m for m in talk if m["role"] != "system"]}, {"messages": talk})


@prop("SUM-model-form", rules="SUM-01", asks=f"{_SERIALIZE} messages/to_llm", given=_TALK)
def the_model_form_comes_first(ask: Ask, talk: list[Any]) -> None:
    """The text of messages is that of their model's form."""
    converted = ask("messages/to_llm", {"messages": talk})["messages"]
    ask.same(_SERIALIZE, {"messages": converted}, {"messages": talk})


def _reply(text: str, usage: Any = None) -> Any:
    return assistant_message([text_block(text)], "stop", usage)


def _params(example: tuple[Session, int, Any, int], replies: list[Any], **more: Any) -> dict[str, Any]:
    session, budget, model, reserve = example
    settings = {"enabled": True, "reserveTokens": reserve, "keepRecentTokens": budget}
    return {**session.state, "settings": settings, "model": model, "replies": replies, **more}


def _prepared(ask: Ask, params: Any) -> Any:
    return ask(_PREPARE, {name: params[name] for name in ("entries", "leafId", "settings")})["preparation"]


@prop("SUM-result", rules="SUM-53 SUM-43 SUM-54 SUM-55", asks=f"{_COMPACT} {_PREPARE} files/format", given=_COMPACTIONS)
def a_compaction_is_what_was_prepared(ask: Ask, example: tuple[Session, int, Any, int]) -> None:
    """A compaction keeps what was prepared and ends in the file lists; where nothing is prepared nothing is asked."""
    params = _params(example, [_reply("ONE"), _reply("TWO")])
    preparation, found = _prepared(ask, params), ask(_COMPACT, params)
    if preparation is None:
        equal(_COMPACT, [[], {"nothing": True}], [found["requests"], found["outcome"]], at="/outcome")
        return
    made = found["outcome"]["compaction"]
    for name in ("firstKeptEntryId", "tokensBefore"):
        equal(_COMPACT, preparation[name], made[name], at=f"/outcome/compaction/{name}")
    files = preparation["fileOperations"]
    equal(_COMPACT, files, made["details"], at="/outcome/compaction/details")
    ending = ask("files/format", files)["text"]
    good = made["summary"].endswith(ending) and "ONE" in made["summary"]
    holds(good, _COMPACT, "reply or file lists are missing", "/outcome/compaction/summary", ending, made["summary"])


@prop("SUM-requests", rules="SUM-35 SUM-28 SUM-27 SUM-19", asks=f"{_COMPACT} {_PREPARE}", given=_COMPACTIONS)
def there_are_two_requests_at_most(ask: Ask, example: tuple[Session, int, Any, int]) -> None:
    """History and first part of a turn are asked for once each, without tools and cache, each under an id of its
    own."""
    params = _params(example, [_reply("ONE"), _reply("TWO")], sessionId="live")
    preparation, requests = _prepared(ask, params), ask(_COMPACT, params)["requests"]
    if preparation is None:
        return
    prefix, history = preparation["isSplitTurn"], bool(preparation["messagesToSummarize"])
    equal(_COMPACT, 1 + (history and prefix), len(requests), "another number of requests", "/requests")
    routes = {request["routingId"] for request in requests} | {"live"}
    equal(_COMPACT, len(requests) + 1, len(routes), "a routing id is used twice", "/requests")
    asked = [[request["tools"], request["cacheRetention"]] for request in requests]
    equal(_COMPACT, [[[], "none"]] * len(requests), asked, at="/requests")


@prop(
    "SUM-conversation",
    rules="SUM-20 SUM-22 SUM-23 SUM-36",
    asks=f"{_COMPACT} {_PREPARE} {_SERIALIZE}",
    given=_COMPACTIONS,
)
def the_conversation_is_asked_about_once(ask: Ask, example: tuple[Session, int, Any, int]) -> None:
    """The history request begins with the text of the history and then the previous summary, between their tags."""
    params = _params(example, [_reply("ONE"), _reply("TWO")])
    preparation = _prepared(ask, params)
    if preparation is None or not preparation["messagesToSummarize"]:
        return
    text = ask(_SERIALIZE, {"messages": preparation["messagesToSummarize"]})["text"]
    begins = f"<conversation>\n{text}\n</conversation>\n\n"
    if preparation["previousSummary"]:
        begins += f"<previous-summary>\n{preparation['previousSummary']}\n</previous-summary>\n\n"
    prompt = ask(_COMPACT, params)["requests"][0]["prompt"]
    equal(_COMPACT, begins, prompt[: len(begins)], "the request begins otherwise", "/requests/0/prompt")


@prop("SUM-limits", rules="SUM-29 SUM-30 SUM-31 SUM-32", asks=f"{_COMPACT} {_PREPARE}", given=_COMPACTIONS)
def replies_are_limited_by_the_reserve(ask: Ask, example: tuple[Session, int, Any, int]) -> None:
    """A reply may take its share of the reserve, and never more than the model can give."""
    params = _params(example, [_reply("ONE"), _reply("TWO")])
    preparation = _prepared(ask, params)
    if preparation is None:
        return
    reserve, most = example[3], example[2]["maxTokens"] or 10**9
    shares = [reserve * 4 // 5] if preparation["messagesToSummarize"] or not preparation["isSplitTurn"] else []
    shares += [reserve // 2] if preparation["isSplitTurn"] else []
    found = [request["maxTokens"] for request in ask(_COMPACT, params)["requests"]]
    equal(_COMPACT, [min(share, most) for share in shares], found, at="/requests")


_FAILURES = st.sampled_from(["error", "length", "tool"])


@prop(
    "SUM-failures",
    rules="SUM-48 SUM-44 SUM-45 SUM-46",
    asks=_COMPACT,
    given=st.tuples(_COMPACTIONS, _FAILURES, st.integers(0, 1)),
)
def a_failed_reply_ends_it(ask: Ask, example: tuple[tuple[Session, int, Any, int], str, int]) -> None:
    """A reply that failed, broke off or calls a tool ends all of it: nothing more is asked and nothing is stored."""
    compaction, how, place = example
    bad = {
        "error": {**_reply("BAD"), "stopReason": "error", "errorMessage": "no"},
        "length": {**_reply("BAD"), "stopReason": "length"},
        "tool": assistant_message([{"type": "toolCall", "id": "t1", "name": "read", "arguments": {}}], "toolUse"),
    }[how]
    replies = [_reply("ONE"), _reply("TWO")]
    replies[place] = bad
    found = ask(_COMPACT, _params(compaction, replies))
    if len(found["requests"]) > place:
        kind = {"error": "failed", "length": "incomplete", "tool": "tool_call"}[how]
        equal(_COMPACT, place + 1, len(found["requests"]), "asked again after a failure", "/requests")
        equal(_COMPACT, kind, found["outcome"].get("error", {}).get("kind"), at="/outcome/error/kind")


_POLICIES = st.builds(
    lambda tries, base, most: {"enabled": True, "maxRetries": tries, "baseDelayMs": base, "maxAgentDelayMs": most},
    st.integers(0, 4),
    st.integers(1, 9000),
    st.integers(1, 9000),
)


@prop(
    "SUM-retries",
    rules="SUM-63 SUM-65 SUM-64",
    asks=_COMPACT,
    given=st.tuples(_COMPACTIONS, _POLICIES, passing_errors()),
)
def retries_come_to_an_end(ask: Ask, example: tuple[tuple[Session, int, Any, int], Any, str]) -> None:
    """A failure that may pass is tried again as often as the policy says and no more, after waits that double."""
    compaction, policy, error = example
    bad = {**_reply("BAD"), "stopReason": "error", "errorMessage": error}
    found = ask(_COMPACT, _params(compaction, [bad] * 9, retry=policy))
    if "nothing" in found["outcome"]:
        return
    tries = policy["maxRetries"]
    equal(_COMPACT, tries + 1, len(found["requests"]), "another number of tries", "/requests")
    waits = [min(policy["baseDelayMs"] * 2**n, policy["maxAgentDelayMs"]) for n in range(tries)]
    want = [{"request": n, "attempt": n + 1, "delayMs": wait} for n, wait in enumerate(waits)]
    equal(_COMPACT, want, found["retries"], at="/retries")


@prop("SUM-lasting", rules="SUM-61 SUM-60", asks=_COMPACT, given=st.tuples(_COMPACTIONS, _POLICIES, lasting_errors()))
def what_lasts_is_asked_once(ask: Ask, example: tuple[tuple[Session, int, Any, int], Any, str]) -> None:
    """A failure that will not pass is not tried again."""
    compaction, policy, error = example
    bad = {**_reply("BAD"), "stopReason": "error", "errorMessage": error}
    found = ask(_COMPACT, _params(compaction, [bad] * 9, retry=policy))
    if "nothing" not in found["outcome"]:
        equal(_COMPACT, [1, []], [len(found["requests"]), found["retries"]], "it is tried again", "/requests")


@prop("SUM-usage", rules="SUM-57 SUM-58", asks=_COMPACT, given=st.tuples(_COMPACTIONS, usages(), usages()))
def usages_are_added(ask: Ask, example: tuple[tuple[Session, int, Any, int], Any, Any]) -> None:
    """The usage of a compaction is that of its replies together."""
    compaction, *used = example
    found = ask(_COMPACT, _params(compaction, [_reply("ONE", used[0]), _reply("TWO", used[1])]))
    if "compaction" in found["outcome"]:
        usage = found["outcome"]["compaction"]["usage"]
        for name in ("input", "output", "cacheRead", "cacheWrite", "totalTokens"):
            want = sum(each[name] for each in used[: len(found["requests"])])
            equal(_COMPACT, want, usage[name], at=f"/outcome/compaction/usage/{name}")


@prop("SUM-focus", rules="SUM-25", asks=f"{_COMPACT} {_PREPARE}", given=st.tuples(_COMPACTIONS, texts(10)))
def a_focus_ends_the_request(ask: Ask, example: tuple[tuple[Session, int, Any, int], str]) -> None:
    """The user's instructions end the history request."""
    compaction, focus = example
    params = _params(compaction, [_reply("ONE"), _reply("TWO")], customInstructions=focus)
    preparation = _prepared(ask, params)
    if preparation is not None and preparation["messagesToSummarize"]:
        prompt = ask(_COMPACT, params)["requests"][0]["prompt"]
        ending = f"\n\nAdditional focus: {focus}"
        holds(prompt.endswith(ending), _COMPACT, "it ends otherwise", "/requests/0/prompt", ending, prompt[-60:])
