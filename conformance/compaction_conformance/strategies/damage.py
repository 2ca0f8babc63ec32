"""What damage does to sessions: entries that no program wrote whole, files with lines that hold no entry."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from compaction_conformance.strategies.sessions import Entries, Session, sessions

# ---- entries ---------------------------------------------------------------------------------------------------------


def _duplicate_id(entries: list[Any], place: int) -> None:
    """The entry takes the id of the next one, which thus counts; the other way round an entry would be its own
    parent."""
    if place + 1 < len(entries):
        entries[place] = {**entries[place], "id": entries[place + 1]["id"]}


def _dangling_parent(entries: list[Any], place: int) -> None:
    entries[place] = {**entries[place], "parentId": "gone"}


def _unknown_type(entries: list[Any], place: int) -> None:
    entries[place] = {**entries[place], "type": "hologram"}


def _null_content(entries: list[Any], place: int) -> None:
    message = entries[place].get("message")
    if isinstance(message, dict) and message.get("role") in ("user", "assistant", "toolResult", "system"):
        entries[place] = {**entries[place], "message": {**message, "content": None}}


def _absent_content(entries: list[Any], place: int) -> None:
    message = entries[place].get("message")
    if isinstance(message, dict) and message.get("role") in ("user", "assistant", "toolResult"):
        without = {name: value for name, value in message.items() if name != "content"}
        entries[place] = {**entries[place], "message": without}


def _unknown_role(entries: list[Any], place: int) -> None:
    if isinstance(entries[place].get("message"), dict):
        entries[place] = {**entries[place], "message": {**entries[place]["message"], "role": "oracle"}}


_DAMAGES = {
    "dangling parent": _dangling_parent,
    "unknown type": _unknown_type,
    "unknown role": _unknown_role,
    "null content": _null_content,
    "absent content": _absent_content,
    "duplicate id": _duplicate_id,
}
DAMAGES = tuple(_DAMAGES)


def damaged_entries(*kinds: str, max_size: int = 8) -> SearchStrategy[Entries]:
    """A session with one or two things wrong in it (of all kinds without an argument): what a reader has to bear. The
    leaf is the last entry."""
    damage = st.tuples(st.sampled_from(kinds or DAMAGES), st.integers(0, max_size * 2))
    return st.builds(_damaged, sessions(max_size), st.lists(damage, min_size=1, max_size=2))


def _damaged(session: Session, damages: Sequence[tuple[str, int]]) -> Entries:
    entries: list[Any] = list(session.entries)
    for kind, place in damages if entries else ():
        _DAMAGES[kind](entries, place % len(entries))
    return Entries(tuple(entries), entries[-1]["id"] if entries else None)


# ---- files -----------------------------------------------------------------------------------------------------------

_NOISE = ("", " ", "not json", "{", '{"type":"message","id":"u9"', "null", "0", "[1,", "NaN", "\t")


@dataclass(frozen=True)
class DamagedContent:
    """The text of a session file with lines in it that hold no entry. `session` is what is left of it."""

    content: str
    session: Session

    def __repr__(self) -> str:
        return f"<{self.content!r}>"


def damaged_contents(max_size: int = 5) -> SearchStrategy[DamagedContent]:
    """Blank and malformed lines before, between and after the lines of a session, and perhaps a torn last record."""
    noise = st.lists(st.tuples(st.integers(0, max_size * 2), st.sampled_from(_NOISE)), max_size=3)
    return st.builds(_noisy, sessions(max_size), noise, st.integers(0, 40))


def _noisy(session: Session, noise: Sequence[tuple[int, str]], torn: int) -> DamagedContent:
    lines = session.content.removesuffix("\n").split("\n")
    remains = json.dumps({"type": "message", "id": "torn", "parentId": session.leaf_id})[:torn]
    for place, text in noise:
        lines.insert(place % (len(lines) + 1), text)
    return DamagedContent("\n".join(lines) + "\n" + remains, session)
