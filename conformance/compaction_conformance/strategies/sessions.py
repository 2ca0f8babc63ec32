"""Whole sessions: trees with branches, compactions, edits, tool calls; and files of version 1."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from compaction_conformance.strategies.building import Builder, Entry, Go, Step, outline, time_of
from compaction_conformance.strategies.entries import Draft, drafts
from compaction_conformance.strategies.messages import (
    Message,
    assistant_messages,
    bash_executions,
    exchanges,
    renumbered,
    system_messages,
    tool_result_messages,
    user_messages,
)

_QUIET = ("label", "model_change", "thinking_level_change", "session_info", "custom", "usage")
HEADER = {"type": "session", "version": 3, "id": "s", "timestamp": time_of(0), "cwd": "/w"}


@dataclass(frozen=True, repr=False)
class Entries:
    """Entries in file order and the leaf (None: the place before the first entry)."""

    entries: tuple[Entry, ...]
    leaf_id: str | None

    def __repr__(self) -> str:
        return f"<{outline(self.entries)}; leaf {self.leaf_id}>"

    @property
    def state(self) -> dict[str, Any]:
        """`entries` and `leafId`, as operations take them."""
        return {"entries": list(self.entries), "leafId": self.leaf_id}


class Session(Entries):
    """Entries with an id of their own each, and parents that are there."""

    @cached_property
    def by_id(self) -> dict[str, Entry]:
        return {entry["id"]: entry for entry in self.entries}

    @cached_property
    def path(self) -> list[Entry]:
        """From the root to the leaf."""
        found = []
        step = self.leaf_id
        while step is not None:
            found.append(self.by_id[step])
            step = found[-1]["parentId"]
        return found[::-1]

    @cached_property
    def path_ids(self) -> list[str]:
        return [entry["id"] for entry in self.path]

    @property
    def path_alone(self) -> Session:
        """The same without the entries that are not on the path."""
        return Session(tuple(self.path), self.leaf_id)

    @cached_property
    def newest_compaction(self) -> int | None:
        """Its place on the path, None without one."""
        places = [place for place, entry in enumerate(self.path) if entry["type"] == "compaction"]
        return places[-1] if places else None

    @property
    def content(self) -> str:
        """The session as a file, header first."""
        return content_of(self.entries)

    def at(self, leaf_id: str | None) -> Session:
        return Session(self.entries, leaf_id)

    def with_draft(self, draft: Draft) -> Session:
        """One more entry at the leaf. A `Back` that names nothing leaves the session as it is."""
        builder = self._builder()
        resolved = builder.resolved(draft)
        if resolved is None:
            return self
        builder.append(resolved)
        return Session(tuple(builder.entries), builder.leaf_id)

    def resolved(self, draft: Draft) -> Draft | None:
        """The draft with ids for every `Back`, None where there is nothing to name."""
        return self._builder().resolved(draft)

    def replaced(self, changed: dict[str, Entry]) -> Session:
        """Some entries, by id, in another form."""
        return Session(tuple(changed.get(entry["id"], entry) for entry in self.entries), self.leaf_id)

    def _builder(self) -> Builder:
        counts: dict[str, int] = {}
        for entry in self.entries:
            letter, number = entry["id"][:1], entry["id"][1:]
            counts[letter] = max(counts.get(letter, 0), int(number))
        return Builder(list(self.entries), self.leaf_id, dict(self.by_id), counts)


def content_of(entries: Sequence[Any], header: Any = HEADER) -> str:
    """A session file of these lines."""
    lines = (json.dumps(value, ensure_ascii=False, separators=(",", ":")) for value in (header, *entries))
    # a lone surrogate has no place in UTF-8 text and is written as an escape
    return "".join(_encodable(line) + "\n" for line in lines)


def _encodable(line: str) -> str:
    return "".join(json.dumps(char)[1:-1] if "\ud800" <= char <= "\udfff" else char for char in line)


# ---- trees -----------------------------------------------------------------------------------------------------------


@cache
def sessions(
    max_size: int = 10,
    *,
    branches: bool = True,
    edits: bool = True,
    compactions: bool = True,
    strays: bool = False,
    counted: bool = True,
    any_leaf: bool = False,
) -> SearchStrategy[Session]:
    """Sessions of up to `max_size` steps: a message, an answer with calls and their results, metadata, an edit, a
    compaction, a branch summary, a step back on the path.

    `strays`: results without a call, calls without a result. `counted`: answers report usage. `any_leaf`: the leaf
    is any entry or none, not always the newest entry.
    """
    answers = assistant_messages(calls=False, counted=counted)
    spoken = st.one_of(user_messages(), answers, bash_executions())
    steps = [
        _step(spoken, _draft),
        _step(exchanges(counted=counted), lambda found: list(map(_draft, found))),
        _step(st.tuples(user_messages(), answers), lambda turn: list(map(_draft, turn))),
        _step(system_messages(), _draft),
        _step(drafts(*_QUIET)),
        _step(drafts("custom_message")),
    ]
    if compactions:
        steps += [_step(drafts("compaction")) for _ in range(2)]
    if edits:
        steps += [_step(drafts("context_edit")) for _ in range(2)]
    if branches:
        steps += [_step(st.integers(1, 6), Go), _step(drafts("branch_summary"))]
    if strays:
        steps.append(_step(tool_result_messages("t0"), _draft))
        steps.append(_step(exchanges(counted=counted), lambda found: _draft(found[0])))
    step = st.one_of(steps)
    # short ones to shrink to, and long ones so that several things meet on one path
    short, long = st.lists(step, max_size=max_size), st.lists(step, min_size=max_size // 2, max_size=max_size)
    whole = st.one_of(short, long).map(_built)
    if not any_leaf:
        return whole
    return st.builds(_moved, whole, st.just(0) | st.integers(0, max_size * 2))


def _draft(message: Message) -> Draft:
    return {"type": "message", "message": message}


def _step(made: SearchStrategy[Any], wrap: Callable[[Any], Any] = lambda made: made) -> SearchStrategy[list[Any]]:
    """One step, as likely as any other: a choice between choices would be flattened, were it not for the tuple."""

    def taken(alone: tuple[Any]) -> list[Any]:
        found = wrap(alone[0])
        return found if isinstance(found, list) else [found]

    return st.tuples(made).map(taken)


def _built(parts: Sequence[list[Step]]) -> Session:
    steps: list[Step] = []
    for number, part in enumerate(parts):
        if len(part) > 1:
            part = [
                _draft(message)
                for message in renumbered([each["message"] for each in part if isinstance(each, dict)], number * 3)
            ]
        steps += part
    builder = Builder().take(steps)
    return Session(tuple(builder.entries), builder.entries[-1]["id"] if builder.entries else None)


def _moved(session: Session, far: int) -> Session:
    """The leaf is the entry so far back in the file; at the first one it goes before it, and round again."""
    far %= len(session.entries) + 1
    return session.at(None) if far == len(session.entries) else session.at(session.entries[-1 - far]["id"])


# ---- files of version 1 ----------------------------------------------------------------------------------------------


def version_one_contents(max_size: int = 5) -> SearchStrategy[str]:
    """Files of version 1: a list without ids and parents, whose compactions count lines."""
    kept = st.integers(0, max_size * 2)
    old = st.one_of(user_messages(), assistant_messages()).map(_draft) | kept.map(
        lambda index: {"type": "compaction", "summary": "a", "tokensBefore": 1, "firstKeptEntryIndex": index}
    )
    return st.lists(old, max_size=max_size).map(_version_one)


def _version_one(drafted: Sequence[Draft]) -> str:
    header = {name: value for name, value in HEADER.items() if name != "version"}
    return content_of([{**draft, "timestamp": time_of(number)} for number, draft in enumerate(drafted)], header)
