"""Properties of size: a long session is a deep one, and no recursion may follow it."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from compaction_conformance.properties.base import Ask, equal, prop
from compaction_conformance.strategies.messages import START_MS
from compaction_conformance.strategies.sessions import content_of

_LENGTHS = st.integers(1, 3000)


def _chain(length: int) -> list[Any]:
    """One message after the other; `u3` is the third one."""
    return [
        {
            "type": "message",
            "id": f"u{number}",
            "parentId": f"u{number - 1}" if number > 1 else None,
            "timestamp": "2025-01-01T00:00:01.000Z",
            "message": {"role": "user", "content": "aaaa", "timestamp": START_MS},
        }
        for number in range(1, length + 1)
    ]


@prop("DEP-path", rules="TRE-02", asks="session/path", given=_LENGTHS, weight=10)
def a_long_path_is_walked(ask: Ask, length: int) -> None:
    """A path of thousands of entries is walked to its root."""
    equal("session/path", length, len(ask("session/path", {"entries": _chain(length)})["entries"]), at="/entries")


@prop("DEP-tree", rules="TRE-14", asks="session/tree", given=_LENGTHS, weight=10)
def a_deep_tree_is_listed(ask: Ask, length: int) -> None:
    """A tree that is thousands of entries deep is listed whole."""
    found = ask("session/tree", {"entries": _chain(length)})
    equal("session/tree", [1, length - 1], [len(found["roots"]), len(found["children"])], at="/children")


@prop("DEP-projection", rules="PRJ-05", asks="projection/messages", given=_LENGTHS, weight=10)
def a_long_projection_is_shown(ask: Ask, length: int) -> None:
    """A projection grows by one message with every entry, thousands of them."""
    found = ask("projection/messages", {"entries": _chain(length)})["messages"]
    equal("projection/messages", length, len(found), at="/messages")


@prop(
    "DEP-preparation",
    rules="PRE-13",
    asks="compaction/prepare tokens/of_message",
    given=st.tuples(_LENGTHS, st.integers(0, 100)),
    weight=10,
)
def a_long_history_is_prepared(ask: Ask, example: tuple[int, int]) -> None:
    """Of a long chain of messages the newest that meet the budget are kept, and all others are summarised."""
    length, budget = example
    weight = ask("tokens/of_message", {"message": _chain(1)[0]["message"]})["tokens"]
    settings = {"enabled": True, "reserveTokens": 0, "keepRecentTokens": budget}
    found = ask("compaction/prepare", {"entries": _chain(length), "settings": settings})["preparation"]
    kept = max(1, -(-budget // weight)) if weight else length
    summarised = 0 if found is None else len(found["messagesToSummarize"])
    equal("compaction/prepare", max(0, length - kept), summarised, at="/preparation/messagesToSummarize")


@prop("DEP-file", rules="SES-01", asks="session/parse", given=_LENGTHS, weight=10)
def a_long_file_is_read(ask: Ask, length: int) -> None:
    """A file of thousands of lines is read whole."""
    found = ask("session/parse", {"content": content_of(_chain(length))})
    equal("session/parse", [length, f"u{length}"], [len(found["entries"]), found["leafId"]], at="/entries")
