"""The golden sessions: whole session files with a note on each, and their entries as the oracle read them.

`fixtures/sessions/sessions.json` lists them; `fixtures/golden/README.md` says how the answers about them are kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from compaction_conformance import schemas
from compaction_conformance.errors import InvalidInput
from compaction_conformance.golden.canonical import canonical
from compaction_conformance.guarded_json import refuse_constant
from compaction_conformance.json_files import read_json
from compaction_conformance.paths import fixtures_dir

_ID_MEMBERS = ("id", "parentId", "firstKeptEntryId", "targetId", "fromId")
_MADE_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})?")
_MADE_ID_WITHIN = re.compile(rf'(?<="){_MADE_ID.pattern}(?=")')


@dataclass(frozen=True)
class GoldenSession:
    """`sample` is how many points the sweep visits, None for every one; `strict`: the file is as Pi writes it."""

    id: str
    about: str
    exercises: tuple[str, ...]
    requirements: tuple[str, ...]
    strict: bool
    sample: int | None
    file: Path

    @cached_property
    def content(self) -> bytes:
        return self.file.read_bytes()

    @property
    def golden_file(self) -> Path:
        return self.file.parent.parent / "golden" / f"{self.id}.json"

    @property
    def sweep_file(self) -> Path:
        return self.file.parent.parent / "golden" / "sweeps" / f"{self.id}.json"

    @cached_property
    def golden(self) -> dict[str, Any]:
        """The recorded answers. Raises `InvalidInput` when the file breaks its schema."""
        data: dict[str, Any] = read_checked(self.golden_file, "golden-file")
        return data

    @cached_property
    def entries(self) -> list[Any]:
        """The entries that every question about this session is asked with."""
        return entries_of(self.golden["parse"]["entries"], self.content)


def load_sessions(folder: Path | None = None) -> tuple[GoldenSession, ...]:
    """In the order of their list. Raises `InvalidInput` for a broken list, and where notes and files do not match."""
    folder = folder or fixtures_dir() / "sessions"
    listed = read_checked(folder / "sessions.json", "sessions-file")["sessions"]
    sessions = tuple(
        GoldenSession(
            raw["id"],
            raw["about"],
            tuple(raw["exercises"]),
            tuple(raw["requirements"]),
            raw["strict"],
            raw.get("sample"),
            folder / f"{raw['id']}.jsonl",
        )
        for raw in listed
    )
    noted, found = {session.file.name for session in sessions}, {path.name for path in folder.glob("*.jsonl")}
    if noted != found:
        name = sorted(noted ^ found)[0]
        problem = "has no note" if name in found else "is listed and not there"
        raise InvalidInput(f"{name} {problem}", where=str(folder / "sessions.json"))
    return sessions


def read_checked(path: Path, schema: str) -> Any:
    """A JSON file that fits its schema."""
    data = read_json(path)
    if error := schemas.first_error(schema, data):
        raise InvalidInput(f"{error.message} (at {error.pointer or 'the top'})", where=str(path))
    return data


# ---- entries and the lines they stand on -----------------------------------------------------------------------------


def lines_of(content: bytes) -> list[Any]:
    """The JSON value of every line; `None` where there is none."""
    return [_value(line) for line in content.decode("utf-8", "replace").split("\n")]


def _value(line: str) -> Any:
    try:
        return json.loads(line, parse_constant=refuse_constant)
    except (ValueError, RecursionError):
        return None


def entries_of(listed: Sequence[Any], content: bytes) -> list[Any]:
    """`{"lines": [first, last]}` stands for the values of those lines (counted from 1), anything else for itself."""
    lines = lines_of(content)
    entries: list[Any] = []
    for item in listed:
        if isinstance(item, dict) and item.keys() == {"lines"}:
            first, last = item["lines"]
            entries += lines[first - 1 : last]
        else:
            entries.append(item)
    return entries


def listed_entries(entries: Sequence[Any], content: bytes) -> list[Any]:
    """The other way: entries that are a line's value, in file order, as ranges of lines."""
    lines, at = lines_of(content), 0
    listed: list[Any] = []
    for entry in entries:
        number = next((index + 1 for index in range(at, len(lines)) if _same(lines[index], entry)), None)
        if number is None:
            listed.append(entry)
            continue
        at = number
        if (
            listed
            and isinstance(listed[-1], dict)
            and listed[-1].keys() == {"lines"}
            and listed[-1]["lines"][1] == number - 1
        ):
            listed[-1]["lines"][1] = number
        else:
            listed.append({"lines": [number, number]})
    return listed


def _same(line: Any, entry: Any) -> bool:
    return line is not None and canonical(line) == canonical(entry)


def numbered_ids(parsed: Any, content: bytes) -> Any:
    """The answer of `session/parse` with the ids that opening made replaced by `#0`, `#1` … in order of appearance.

    An id was made when it does not stand in the file: so it is with every entry of a file of version 1."""
    if not isinstance(parsed, dict) or not isinstance(parsed.get("entries"), list):
        return parsed
    written = _written_ids(content)
    names: dict[str, str] = {}

    def renamed(value: Any) -> Any:
        if not isinstance(value, str) or value in written or not _MADE_ID.fullmatch(value):
            return value
        return names.setdefault(value, f"#{len(names)}")

    entries = [
        {key: renamed(item) if key in _ID_MEMBERS else item for key, item in entry.items()}
        if isinstance(entry, dict)
        else entry
        for entry in parsed["entries"]
    ]
    return {key: entries if key == "entries" else renamed(item) for key, item in parsed.items()}


@cache
def _written_ids(content: bytes) -> frozenset[str]:
    return frozenset(match[0] for match in _MADE_ID_WITHIN.finditer(content.decode("utf-8", "replace")))


# ---- paths and leaves ------------------------------------------------------------------------------------------------


def path_of(entries: Sequence[Any], leaf_id: str | None) -> list[Any]:
    """From the root to the leaf (TRE-02). Every entry once, so that a cycle of parents comes to an end."""
    index = {entry["id"]: entry for entry in entries if isinstance(entry, dict) and isinstance(entry.get("id"), str)}
    path: list[Any] = []
    seen: set[int] = set()
    step = index.get(leaf_id) if leaf_id else None
    while step is not None and id(step) not in seen:
        seen.add(id(step))
        path.append(step)
        parent = step.get("parentId")
        step = index.get(parent) if isinstance(parent, str) and parent else None
    return path[::-1]


def leaves_of(entries: Sequence[Any]) -> Iterator[str]:
    """The last entry, then every other one that is nobody's parent, in file order."""
    parents = {entry.get("parentId") for entry in entries}
    if entries:
        yield entries[-1]["id"]
    seen = {entries[-1]["id"]} if entries else set()
    for entry in entries[:-1]:
        if entry["id"] not in parents and entry["id"] not in seen:
            seen.add(entry["id"])
            yield entry["id"]
