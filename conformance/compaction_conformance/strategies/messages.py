"""Messages of every role. Times are those of the caller: 0 unless a list of messages puts them in order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from compaction_conformance.strategies.texts import paths, plain_texts, texts
from compaction_conformance.strategies.usage import usage_of, usages

Message = dict[str, Any]
ROLES = (
    "user",
    "assistant",
    "toolResult",
    "system",
    "bashExecution",
    "custom",
    "branchSummary",
    "compactionSummary",
)
TOOLS = ("read", "write", "edit", "bash")
START_MS = 1_735_689_601_000
_IMAGE = {"type": "image", "data": "AAAA", "mimeType": "image/png"}


# ---- blocks ----------------------------------------------------------------------------------------------------------


def text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def tool_call(call_id: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}


def arguments() -> SearchStrategy[dict[str, Any]]:
    """Arguments of a call: mostly a path. No name is an integer, since the order of such names is a QUIRK."""
    value = st.one_of(st.integers(0, 99), st.booleans(), st.none(), texts(8), st.lists(st.integers(0, 9), max_size=2))
    more = st.dictionaries(st.sampled_from(["limit", "text", "a b"]), value, max_size=2)
    return st.one_of(
        paths().map(lambda path: {"path": path}),
        st.builds(lambda path, rest: {"path": path, **rest}, paths(), more),
        more,
    )


def tool_calls(call_id: str = "t1") -> SearchStrategy[dict[str, Any]]:
    return st.builds(tool_call, st.just(call_id), st.sampled_from(TOOLS), arguments())


@cache
def spoken_contents() -> SearchStrategy[Any]:
    """What a user, a tool or an extension says: a text, or blocks of text and pictures."""
    block = st.one_of(texts().map(text_block), st.just(_IMAGE))
    return st.one_of(texts(), st.lists(block, max_size=2))


# ---- single messages -------------------------------------------------------------------------------------------------


@cache
def user_messages() -> SearchStrategy[Message]:
    return st.builds(lambda content: {"role": "user", "content": content, "timestamp": 0}, spoken_contents())


def assistant_message(content: Sequence[Any], stop_reason: str, usage: Any = None, **more: Any) -> Message:
    about = {"api": "acme", "provider": "acme", "model": "m"}
    counted = usage_of(0) if usage is None else usage
    return {
        "role": "assistant",
        "content": list(content),
        **about,
        "usage": counted,
        "stopReason": stop_reason,
        **more,
        "timestamp": 0,
    }


@cache
def assistant_messages(*, calls: bool = True, counted: bool = True) -> SearchStrategy[Message]:
    """Answers of every stop reason. Without `counted` no usage counts anything, so that sizes are estimates."""
    text = texts().map(text_block)
    thinking = texts().map(lambda words: {"type": "thinking", "thinking": words})
    usage = usages() if counted else st.just(usage_of(0))
    spoken = st.builds(
        assistant_message,
        st.lists(st.one_of(text, thinking), max_size=2),
        st.sampled_from(("stop", "length", "toolUse")),
        usage,
    )
    failed = st.builds(
        lambda stop, error, used: assistant_message([], stop, used, errorMessage=error),
        st.sampled_from(("error", "aborted")),
        st.sampled_from(("overloaded", "prompt is too long", "no")),
        usage,
    )
    if not calls:
        return st.one_of(spoken, failed)
    calling = st.builds(lambda call, used: assistant_message([call], "toolUse", used), tool_calls(), usage)
    return st.one_of(spoken, calling, failed)


def tool_result_message(call_id: str, name: str, content: Sequence[Any], *, is_error: bool = False) -> Message:
    about = {"toolCallId": call_id, "toolName": name}
    return {"role": "toolResult", **about, "content": list(content), "isError": is_error, "timestamp": 0}


@cache
def tool_result_messages(call_id: str = "t1") -> SearchStrategy[Message]:
    contents = st.lists(st.one_of(texts().map(text_block), st.just(_IMAGE)), max_size=2)
    return st.builds(
        lambda name, content, error: tool_result_message(call_id, name, content, is_error=error),
        st.sampled_from(TOOLS),
        contents,
        st.booleans(),
    )


@cache
def system_messages() -> SearchStrategy[Message]:
    """Content, and sometimes sections (`null` removes one) and tools that come and go."""
    tool = st.sampled_from(TOOLS)
    declared = tool.map(lambda name: {"name": name, "description": name, "parameters": {"type": "object"}})
    more = st.fixed_dictionaries(
        {},
        optional={
            "sections": st.dictionaries(st.sampled_from(["one", "two"]), st.none() | texts(8), max_size=2),
            "toolsAdded": st.lists(declared, max_size=2),
            "toolsRemoved": st.lists(tool.map(lambda name: {"name": name}), max_size=2),
        },
    )
    contents = st.one_of(texts(12, min_size=0), st.lists(texts(8).map(text_block), max_size=2))
    return st.builds(
        lambda content, rest: {"role": "system", "content": content, **rest, "timestamp": 0}, contents, more
    )


@cache
def bash_executions(*, hidden: bool = False) -> SearchStrategy[Message]:
    """Commands that the user ran; with `hidden` also ones that no model sees (what those weigh is a QUIRK)."""
    optional: dict[Any, SearchStrategy[Any]] = {"exitCode": st.integers(0, 2), "fullOutputPath": st.just("/tmp/out")}
    if hidden:
        optional["excludeFromContext"] = st.booleans()
    flags = st.fixed_dictionaries({"cancelled": st.booleans(), "truncated": st.booleans()}, optional=optional)
    return st.builds(
        lambda command, output, rest: {
            "role": "bashExecution",
            "command": command,
            "output": output,
            **rest,
            "timestamp": 0,
        },
        texts(8),
        texts(min_size=0),
        flags,
    )


@cache
def custom_messages() -> SearchStrategy[Message]:
    """A message of an extension, as the projection makes it from an entry."""
    return st.builds(
        lambda content, display: {
            "role": "custom",
            "customType": "x",
            "content": content,
            "display": display,
            "timestamp": 0,
        },
        spoken_contents(),
        st.booleans(),
    )


@cache
def branch_summary_messages() -> SearchStrategy[Message]:
    return texts().map(lambda text: {"role": "branchSummary", "summary": text, "fromId": "a1", "timestamp": 0})


@cache
def compaction_summary_messages() -> SearchStrategy[Message]:
    return st.builds(
        lambda text, size: {"role": "compactionSummary", "summary": text, "tokensBefore": size, "timestamp": 0},
        texts(),
        st.integers(0, 999),
    )


def messages(*roles: str, counted: bool = True) -> SearchStrategy[Message]:
    """One message of any of the roles (all eight without an argument). Nothing of it is left open by a rule."""
    made = {
        "user": user_messages(),
        "assistant": assistant_messages(counted=counted),
        "toolResult": tool_result_messages(),
        "system": system_messages(),
        "bashExecution": bash_executions(),
        "custom": custom_messages(),
        "branchSummary": branch_summary_messages(),
        "compactionSummary": compaction_summary_messages(),
    }
    return st.one_of([made[role] for role in roles or ROLES])


# ---- lists of messages -----------------------------------------------------------------------------------------------


def in_order(found: Sequence[Message]) -> list[Message]:
    """The same messages, one second apart."""
    return [{**message, "timestamp": START_MS + 1000 * index} for index, message in enumerate(found)]


@cache
def exchanges(first: int = 1, *, counted: bool = True) -> SearchStrategy[list[Message]]:
    """One answer with up to three parallel calls, and the result of each right after it, in the order of the calls."""
    one = st.tuples(st.sampled_from(TOOLS), arguments(), plain_texts(), st.booleans())
    usage = usages() if counted else st.just(usage_of(0))
    return st.builds(lambda calls, used: _exchange(first, calls, used), st.lists(one, min_size=1, max_size=3), usage)


def _exchange(first: int, calls: Sequence[Any], usage: Any) -> list[Message]:
    ids = [f"t{first + index}" for index in range(len(calls))]
    blocks = [tool_call(call_id, name, given) for call_id, (name, given, _, _) in zip(ids, calls, strict=True)]
    results = [
        tool_result_message(call_id, name, [text_block(text)], is_error=error)
        for call_id, (name, _, text, error) in zip(ids, calls, strict=True)
    ]
    return [assistant_message(blocks, "toolUse", usage), *results]


@cache
def conversations(max_size: int = 6, *, counted: bool = True, hidden: bool = False) -> SearchStrategy[list[Message]]:
    """Messages in order of time, where no result is without its call: up to `max_size` messages or exchanges."""
    single = st.one_of(
        user_messages(),
        assistant_messages(calls=False, counted=counted),
        system_messages(),
        bash_executions(hidden=hidden),
        custom_messages(),
        branch_summary_messages(),
        compaction_summary_messages(),
    ).map(lambda message: [message])
    return st.lists(st.one_of(single, exchanges(counted=counted)), max_size=max_size).map(_renumbered)


def _renumbered(parts: Sequence[list[Message]]) -> list[Message]:
    """The ids of calls become unique, in the order in which they are met."""
    return in_order([message for number, part in enumerate(parts) for message in renumbered(part, number * 3)])


def renumbered(part: Sequence[Message], by: int) -> list[Message]:
    """The calls and results of an exchange under later numbers: `t1` becomes `t<1 + by>`."""

    def later(call_id: str) -> str:
        return f"t{int(call_id[1:]) + by}"

    made = []
    for message in part:
        if message["role"] == "toolResult":
            message = {**message, "toolCallId": later(message["toolCallId"])}
        elif message["role"] == "assistant":
            blocks = [
                {**each, "id": later(each["id"])} if each["type"] == "toolCall" else each for each in message["content"]
            ]
            message = {**message, "content": blocks}
        made.append(message)
    return made
