"""Properties of messages for the model, and of the system state."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from compaction_conformance.properties.base import Ask, equal, holds, prop
from compaction_conformance.properties.facts import MODEL_ROLES
from compaction_conformance.strategies import conversations, messages, system_messages
from compaction_conformance.strategies.messages import in_order

_LLM, _SYSTEM = "messages/to_llm", "system/current"
_TALK = conversations(hidden=True)
_TWO = st.tuples(_TALK, _TALK)
_STATES = st.lists(st.one_of(system_messages(), messages("user")), max_size=5).map(in_order)


@prop("LLM-again", rules="LLM-01", asks=_LLM, given=_TALK)
def conversion_is_done_once(ask: Ask, talk: list[Any]) -> None:
    """Messages in the model's form stay as they are when they are converted again."""
    once = ask(_LLM, {"messages": talk})
    equal(_LLM, once, ask(_LLM, {"messages": once["messages"]}))


@prop("LLM-parts", rules="LLM-03", asks=_LLM, given=_TWO)
def conversion_goes_one_by_one(ask: Ask, two: tuple[list[Any], list[Any]]) -> None:
    """Two conversations converted together are what they are apart: nothing is merged, moved or dropped between
    them."""
    first, second = (ask(_LLM, {"messages": talk})["messages"] for talk in _apart(two))
    equal(
        _LLM, [*first, *second], ask(_LLM, {"messages": [*_apart(two)[0], *_apart(two)[1]]})["messages"], at="/messages"
    )


def _apart(two: tuple[list[Any], list[Any]]) -> tuple[list[Any], list[Any]]:
    """The calls of the second conversation get ids of their own."""
    return two[0], [_renamed(message) for message in two[1]]


def _renamed(message: Any) -> Any:
    if message["role"] == "toolResult":
        return {**message, "toolCallId": message["toolCallId"] + "b"}
    if message["role"] == "assistant":
        blocks = [
            {**each, "id": each["id"] + "b"} if each["type"] == "toolCall" else each for each in message["content"]
        ]
        return {**message, "content": blocks}
    return message


@prop("LLM-roles", rules="LLM-01 LLM-05 LLM-09 LLM-13 LLM-19", asks=_LLM, given=_TALK)
def every_message_becomes_one(ask: Ask, talk: list[Any]) -> None:
    """Every message becomes one of a role that models know, in order, but for commands kept out of the context."""
    found = ask(_LLM, {"messages": talk})["messages"]
    expected = [
        (message["role"] if message["role"] in MODEL_ROLES else "user", message["timestamp"])
        for message in talk
        if not message.get("excludeFromContext")
    ]
    equal(_LLM, expected, [(message["role"], message["timestamp"]) for message in found], at="/messages")


@prop(
    "LLM-untouched",
    rules="LLM-01 LLM-02",
    asks=_LLM,
    given=_TALK.map(lambda talk: [m for m in talk if m["role"] in MODEL_ROLES]),
)
def model_roles_pass_untouched(ask: Ask, talk: list[Any]) -> None:
    """System, user and assistant messages and tool results pass with every member as it is."""
    equal(_LLM, talk, ask(_LLM, {"messages": talk})["messages"], at="/messages")


@prop(
    "LLM-words",
    rules="LLM-24 LLM-05 LLM-06 LLM-13 LLM-14",
    asks=_LLM,
    given=messages("bashExecution", "custom", "branchSummary", "compactionSummary"),
)
def words_survive_the_conversion(ask: Ask, message: Any) -> None:
    """The words of a summary, an extension or a command stand in the converted message as they were, one after the
    other."""
    found = ask(_LLM, {"messages": [message]})["messages"][0]
    content = message.get("content")
    if isinstance(content, list):
        equal(_LLM, content, found["content"], at="/messages/0/content")
        return
    text, at = found["content"][0]["text"], 0
    for words in (message.get("summary"), content, message.get("command"), message.get("output")):
        place = text.find(words or "", at)
        holds(place >= 0, _LLM, "words are missing", "/messages/0/content", words, text)
        at = place + len(words or "")


@prop("LLM-unknown-role", rules="LLM-04", asks=_LLM, given=st.tuples(_TALK, st.integers(0, 9)))
def unknown_roles_are_dropped(ask: Ask, example: tuple[list[Any], int]) -> None:
    """A message of an unknown role is left out, and nothing else changes."""
    talk, place = example
    stranger = {"role": "oracle", "content": "a", "timestamp": 0}
    ask.same(_LLM, {"messages": talk}, {"messages": [*talk[:place], stranger, *talk[place:]]})


@prop("SYS-others", rules="SYS-16 SYS-01", asks=_SYSTEM, given=_TALK)
def only_system_messages_make_the_state(ask: Ask, talk: list[Any]) -> None:
    """Messages of other roles have no part in the system state."""
    ask.same(_SYSTEM, {"messages": [m for m in talk if m["role"] == "system"]}, {"messages": talk})


@prop("SYS-snapshot", rules="SYS-17", asks=_SYSTEM, given=st.tuples(_STATES, _STATES))
def a_snapshot_stands_for_its_past(ask: Ask, example: tuple[list[Any], list[Any]]) -> None:
    """The state of a conversation is that of its first part replayed into one message and of the rest after it."""
    first, rest = example
    state = ask(_SYSTEM, {"messages": first})["message"]
    begun = [] if state is None else [state]
    ask.same(_SYSTEM, {"messages": [*first, *rest]}, {"messages": [*begun, *rest]})


@prop("SYS-content", rules="SYS-02 SYS-03 SYS-15", asks=_SYSTEM, given=_STATES)
def contents_are_joined(ask: Ask, talk: list[Any]) -> None:
    """The content of the state is that of all system messages, an empty line between two; blocks a line each."""
    contents = [message["content"] for message in talk if message["role"] == "system"]
    texts = [each if isinstance(each, str) else "\n".join(block["text"] for block in each) for each in contents]
    found = ask(_SYSTEM, {"messages": talk})
    if contents:
        joined = "\n\n".join(text for text in texts if text)
        equal(_SYSTEM, joined, found["message"]["content"], at="/message/content")
        holds(
            found["prompt"].startswith(joined),
            _SYSTEM,
            "the prompt begins otherwise",
            "/prompt",
            joined,
            found["prompt"],
        )


@prop("SYS-null", rules="SYS-05 SYS-08", asks=_SYSTEM, given=_STATES)
def taking_all_away_leaves_content(ask: Ask, talk: list[Any]) -> None:
    """A last message that removes every section and tool leaves a state of content alone."""
    state = ask(_SYSTEM, {"messages": talk})["message"]
    if state is None:
        return
    gone = {
        "sections": dict.fromkeys(state.get("sections", {})),
        "toolsRemoved": [{"name": tool["name"]} for tool in state.get("toolsAdded", [])],
    }
    last = {"role": "system", "content": "", **gone, "timestamp": talk[-1]["timestamp"] + 1000}
    left = ask(_SYSTEM, {"messages": [*talk, last]})["message"]
    holds(not left.get("sections") and not left.get("toolsAdded"), _SYSTEM, "something is left", "/message", {}, left)
