"""Session files of format 4 (chapter HSE): a header line, then one transaction a line. Damage is refused, with one
exception: a last line that was not finished is taken away.

A file of the coding agent (version 3) opens too; it is read by `legacy_file` and stays as it is until something is
appended, when the whole file is written anew in format 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..ecma import is_safe_integer, json_text, parse_json
from ..errors import Refusal, malformed
from ..session_file import text_of
from ..types import Json
from . import legacy_file
from .session import Makers, committed
from .storage import BRANCH, Storage, Write, numbered, tip_write

FORMAT_VERSION = 4
STORAGE_VERSION = 1


@dataclass(slots=True)
class OpenFile:
    """A session after its file was opened. `text` is what stands on disk; `legacy` is set while that is version 3."""

    header: Json
    storage: Storage
    text: str
    legacy: legacy_file.Import | None = None

    def append(self, draft: Any, makers: Makers) -> None:
        """Appends at the tip of the branch, which is made first where there is none."""
        if BRANCH not in self.storage.tips:
            writes = numbered([tip_write(None)], self.storage.next_seq)
            self.storage.commit(writes)
            self.text += _line(writes)
        if self.legacy is not None:
            self._upgrade(draft, self.legacy, makers)
        else:
            self.text += _line(committed(draft, self.storage, self.storage.tips[BRANCH], makers))

    def _upgrade(self, draft: Any, legacy: legacy_file.Import, makers: Makers) -> None:
        """The file in format 4: what was imported, then one transaction that notes the usage of the imported messages
        and holds the first append."""
        usage = numbered([legacy.usage_write(makers.new_id(makers.now()))], self.storage.next_seq)
        self.storage.commit(usage)
        writes = [*usage, *committed(draft, self.storage, self.storage.tips[BRANCH], makers)]
        header = {**self.header, "nextSeq": self.storage.next_seq}
        self.text = json_text(header) + "\n" + "".join(_line([write]) for write in legacy.writes) + _line(writes)
        self.legacy = None


# ---- reading ---------------------------------------------------------------------------------------------------------


def open_file(content: str | bytes, makers: Makers | None = None) -> OpenFile:
    """The session in a file's content. Refuses (`not_a_session`) what does not begin with a finished header line of
    format 4 or of version 3; a byte order mark before it does no harm."""
    text = text_of(content) or ""
    first, line_feed, _ = text.partition("\n")
    header = _header(first.removeprefix("\ufeff")) if line_feed else None
    if header is None:
        raise Refusal("not_a_session", "the first line is no session header")
    lines = text.split("\n")
    finished = lines.pop() == ""
    if header.get("kind") != "header":
        imported = legacy_file.read(header, lines[1:], makers or Makers())
        return OpenFile(imported.header, imported.storage, text, imported)
    if header["storageVersion"] != STORAGE_VERSION:
        raise Refusal("not_a_session", f"the storage version {header['storageVersion']} is unknown")
    storage = Storage()
    for line in lines[1:]:
        storage.commit(_transaction(line))
    if "nextSeq" in header:
        storage.raise_next_seq(header["nextSeq"])
    return OpenFile(header, storage, text if finished else "\n".join(lines) + "\n")


def _header(line: str) -> Json | None:
    try:
        value = parse_json(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    return value if _is_header(value) or legacy_file.is_header(value) else None


def _is_header(value: Json) -> bool:
    return (
        value.get("kind") == "header"
        and value.get("v") == FORMAT_VERSION
        and not isinstance(value["v"], bool)
        and isinstance(value.get("id"), str)
        and isinstance(value.get("cwd"), str)
        and _is_integer_from(value.get("storageVersion"), 1)
        and _is_integer_from(value.get("createdAt"), 0)
        and ("nextSeq" not in value or _is_integer_from(value["nextSeq"], 1))
        and all(isinstance(value.get(name, ""), str) for name in ("parentSessionId", "legacyParentSessionPath"))
    )


def _transaction(line: str) -> list[Write]:
    """The writes in a line: one, or a list of them."""
    try:
        value = parse_json(line)
    except (ValueError, RecursionError):
        raise malformed("a line that is no JSON") from None
    writes = value if isinstance(value, list) else [value]
    for write in writes:
        if not isinstance(write, dict) or not _is_write(write):
            raise malformed("a line that is no transaction")
    return writes


def _is_write(write: Write) -> bool:
    if not _is_integer_from(write.get("seq"), 1):
        return False
    kind, operation = write.get("kind"), write.get("op")
    if kind == "entry":
        return _is_integer_from(write.get("timestamp"), 0)
    if kind == "value":
        return operation == "delete" or (operation == "set" and _is_address(write))
    if kind == "list":
        return operation == "delete" or (operation == "append" and _is_address(write))
    return kind == "usage"


def _is_address(write: Write) -> bool:
    """A value is stored under a namespace, which is not empty, and a key, both without the zero character."""
    namespace, key = write.get("namespace"), write.get("key", "")
    if not isinstance(namespace, str) or not isinstance(key, str):
        return False
    return namespace != "" and "\0" not in namespace + key


def _is_integer_from(value: Any, least: int) -> bool:
    return is_safe_integer(value) and value >= least


# ---- writing ---------------------------------------------------------------------------------------------------------


def text_after_appends(content: str | bytes | None, drafts: Sequence[Any], makers: Makers | None = None) -> str:
    """The file's text after it was opened and the drafts were appended in order. A file that does not exist is created
    at once, with its header."""
    makers = makers or Makers()
    opened = _created(makers) if content is None else open_file(content, makers)
    for draft in drafts:
        opened.append(draft, makers)
    return opened.text


def _created(makers: Makers) -> OpenFile:
    now = makers.now()
    header = {
        "v": FORMAT_VERSION,
        "kind": "header",
        "id": makers.new_id(now),
        "storageVersion": STORAGE_VERSION,
        "createdAt": now,
        "cwd": "/",
    }
    return OpenFile(header, Storage(), json_text(header) + "\n")


def _line(writes: Sequence[Write]) -> str:
    """A transaction of one write is that write, any other a list."""
    return json_text(writes[0] if len(writes) == 1 else list(writes)) + "\n"
