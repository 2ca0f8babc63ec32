"""Session files (chapter SES): one JSON value a line, the header first; damaged lines are passed over, old versions
are brought up to date when the file is opened.
"""

from __future__ import annotations

import os
import re
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .ecma import is_number, is_safe_integer, json_text, members, parse_json, to_number, truthy
from .errors import Refusal, malformed
from .session import Makers, Session, check_session_id
from .tree import opening_leaf
from .types import Entry, Json

VERSION = 3
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def time_ordered_id(milliseconds: int) -> str:
    """A UUID of version 7: 48 bits of milliseconds, then random bits."""
    value = milliseconds << 80 | uuid.uuid4().int & ((1 << 80) - 1)
    return str(uuid.UUID(int=value & ~(0xF << 76) | 0x7 << 76))


@dataclass(frozen=True, slots=True)
class FileMakers(Makers):
    """Also where ids of sessions and the working directory of a new header come from."""

    session_id: Callable[[], str] = lambda: time_ordered_id(now_ms())
    directory: Callable[[], str] = field(default=os.getcwd)


@dataclass(frozen=True, slots=True)
class SessionFile:
    """A file after it was opened. `text` is what stands on disk then, `None` while there is no file."""

    header: Json
    entries: list[Entry]
    text: str | None

    @property
    def leaf(self) -> Json:
        """`leafId` as a field: absent where the last line has no id."""
        return opening_leaf(self.entries)


# ---- reading ---------------------------------------------------------------------------------------------------------


def open_file(content: str | bytes | None, makers: FileMakers | None = None) -> SessionFile:
    """The session in a file's content; `None` means that there is no file. An empty file gets a header at once, a
    missing one only with the first assistant message. Refuses (`not_a_session`) other content without a header.
    (SES-13 to SES-19, SES-24)"""
    text = text_of(content)
    if not text:
        header = new_header(makers or FileMakers())
        return SessionFile(header, [], None if text is None else _lines([header]))
    lines = parsed_lines(text)
    first = members(lines[0]) if lines else {}
    if first.get("type") != "session" or not isinstance(first.get("id"), str):
        raise Refusal("not_a_session", "the first line that can be read is no session header")
    text = text if text.endswith("\n") else text + "\n"  # a torn line must not swallow the next one
    migrated = migrate(lines, makers or FileMakers())
    if migrated is not None:
        lines = migrated
        text = _lines(lines)
    header = next(line for line in lines if members(line).get("type") == "session")
    return SessionFile(header, [line for line in lines if members(line).get("type") != "session"], text)


def text_of(content: str | bytes | None) -> str | None:
    """Content as text. What is no UTF-8 becomes U+FFFD; a byte order mark stays (and makes its line unreadable).
    (SES-08 to SES-11)"""
    if isinstance(content, bytes):
        return content.decode("utf-8", "replace")
    return None if content is None else _LONE_SURROGATE.sub("\ufffd", content)


def parsed_lines(text: str) -> list[Any]:
    """The JSON values of all lines that hold one. Only `\\n` ends a line; falsy values are dropped. Raises
    RecursionError where one is nested too deeply: to pass over it would lose it.
    (SES-01 to SES-07, SES-12)"""
    values = []
    for line in text.split("\n"):
        try:
            value = parse_json(line)
        except ValueError:
            continue
        if truthy(value):
            values.append(value)
    return values


def new_header(makers: FileMakers) -> Json:
    session_id = makers.session_id()
    check_session_id(session_id)
    return {
        "type": "session",
        "version": VERSION,
        "id": session_id,
        "timestamp": makers.now(),
        "cwd": makers.directory(),
    }


# ---- migrations ------------------------------------------------------------------------------------------------------


def migrate(lines: Sequence[Any], makers: Makers) -> list[Any] | None:
    """The lines, header included, as version 3; `None` where they are that already (or newer). A version that is no
    number changes nothing, and yet counts as a migration: the file is written anew. (SES-27, SES-33 to SES-35)"""
    header = next((members(line) for line in lines if members(line).get("type") == "session"), {})
    stored = header.get("version")
    version = to_number(1 if stored is None else stored)
    if version >= VERSION:
        return None
    migrated = list(lines)
    if version < 2:
        migrated = _with_ids(migrated, makers)
    if version < 3:
        migrated = _with_custom_role(migrated)
    return migrated


def _with_ids(lines: Sequence[Any], makers: Makers) -> list[Any]:
    """Version 1 was a list: each entry gets an id and hangs below the one before it. A compaction named its first kept
    entry by its place among the lines, the header being 0; a place that gives no id is forgotten. (SES-28, SES-36)"""
    migrated = list(lines)
    previous_id = None
    for place, line in enumerate(lines):
        if not isinstance(line, dict):
            raise malformed("an entry that is no object in a file of version 1")
        if line.get("type") == "session":
            migrated[place] = {**line, "version": 2}
            continue
        entry = {**line, "id": makers.new_id(), "parentId": previous_id}
        migrated[place] = entry
        previous_id = entry["id"]
        if entry.get("type") == "compaction" and is_number(entry.get("firstKeptEntryIndex")):
            _name_first_kept(entry, migrated)
    return migrated


def _name_first_kept(compaction: Json, lines: Sequence[Any]) -> None:
    place = compaction.pop("firstKeptEntryIndex")
    if not is_safe_integer(place) or not 0 <= place < len(lines):
        return
    target = members(lines[int(place)])
    if target.get("type") != "session":
        compaction.pop("firstKeptEntryId", None)
        if "id" in target:
            compaction["firstKeptEntryId"] = target["id"]


def _with_custom_role(lines: Sequence[Any]) -> list[Any]:
    """Version 2 called the role of extension messages `hookMessage`. (SES-32)"""
    migrated = []
    for line in lines:
        own = members(line)
        message = members(own["message"]) if truthy(own.get("message")) else {}
        if own.get("type") == "session":
            migrated.append({**own, "version": 3})
        elif own.get("type") == "message" and message.get("role") == "hookMessage":
            migrated.append({**own, "message": {**message, "role": "custom"}})
        else:
            migrated.append(line)
    return migrated


# ---- writing ---------------------------------------------------------------------------------------------------------


def text_after_appends(
    content: str | bytes | None, drafts: Sequence[Any], makers: FileMakers | None = None
) -> str | None:
    """The file's text after it was opened and the drafts were appended in order; `None` if there is still no file.

    Every entry is one line at the end. A file that does not exist is created with the first assistant message, then
    with all that came before it: a session in which nothing was answered leaves no trace. (SES-20 to SES-26)"""
    makers = makers or FileMakers()
    opened = open_file(content, makers)
    session = Session(opened.entries, makers=makers)
    appended = []
    answered = False
    for draft in drafts:
        appended.append(session.append(draft))
        answered = answered or any(map(_is_assistant_message, session.entries))
    if opened.text is not None:
        return opened.text + _lines(appended)
    return _lines([opened.header, *appended]) if answered else None


def _lines(values: Sequence[Any]) -> str:
    return "".join(json_text(value) + "\n" for value in values)


def _is_assistant_message(entry: Entry) -> bool:
    own = members(entry)
    return own.get("type") == "message" and members(own.get("message")).get("role") == "assistant"
