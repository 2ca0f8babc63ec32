"""What a session file is beyond its lines: a tree of entries, and references that lead somewhere."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from compaction_conformance.schema_words import shown

Id = str | int | float


@dataclass(frozen=True)
class StructureProblem:
    """`code` is a key of the table of problems in `validation`."""

    code: str
    line: int
    pointer: str
    message: str


@dataclass(frozen=True)
class _Reference:
    code: str
    line: int
    owner: Id
    member: str
    target: Id


_REFERENCES = {
    "compaction": ("first-kept", "firstKeptEntryId"),
    "context_edit": ("edit-target", "targetId"),
    "label": ("label-target", "targetId"),
}


class SessionStructure:
    """Collects entries line by line, keeping of each only its place in the tree, and then tells what does not fit."""

    def __init__(self) -> None:
        self._parents: dict[Id, Id | None] = {}
        self._lines: dict[Id, int] = {}
        self._references: list[_Reference] = []
        self._early: list[StructureProblem] = []

    def add(self, line: int, entry: Mapping[str, Any]) -> None:
        name = _as_id(entry.get("id"))
        if name is None:
            self._early.append(StructureProblem("no-id", line, "", "the entry has no id"))
            return
        if name in self._lines:
            told = f"the id {shown(name)} is used twice, first in line {self._lines[name]}"
            self._early.append(StructureProblem("duplicate-id", line, "/id", told))
        self._parents[name] = _as_id(entry.get("parentId")) or None
        self._lines[name] = line
        self._add_reference(line, name, entry)

    def _add_reference(self, line: int, name: Id, entry: Mapping[str, Any]) -> None:
        kind = entry.get("type")
        code, member = _REFERENCES.get(kind, ("", "")) if isinstance(kind, str) else ("", "")
        target = _as_id(entry.get(member)) if member else None
        if target is not None:
            self._references.append(_Reference(code, line, name, member, target))

    def problems(self) -> Iterator[StructureProblem]:
        yield from self._early
        for name, parent in self._parents.items():
            if parent is not None and parent not in self._parents:
                told = f"the parent {shown(parent)} is no entry of this file"
                yield StructureProblem("missing-parent", self._lines[name], "/parentId", told)
        spans = _spans(self._parents)
        yield from self._cycles(spans)
        for reference in self._references:
            if lost := self._lost(reference, spans):
                yield StructureProblem(reference.code, reference.line, f"/{reference.member}", lost)

    def _cycles(self, spans: Mapping[Id, tuple[int, int]]) -> Iterator[StructureProblem]:
        for cycle in _cycles(self._parents, spans):
            chain = " → ".join(shown(name) for name in [*cycle[:5], *(["…"] if len(cycle) > 5 else []), cycle[0]])
            told = f"the entry is its own forebear: {chain}"
            yield StructureProblem("parent-cycle", self._lines[cycle[0]], "/parentId", told)

    def _lost(self, reference: _Reference, spans: Mapping[Id, tuple[int, int]]) -> str | None:
        name = f"{reference.member} {shown(reference.target)}"
        if reference.target not in self._parents:
            return f"{name} is no entry of this file"
        if reference.code == "label-target" or reference.owner not in spans:
            return None
        if not _encloses(spans.get(reference.target), spans[reference.owner]):
            return f"{name} is not on the path from the root to this entry"
        return None


def _as_id(value: Any) -> Id | None:
    """The value where it can name an entry: readers compare text and numbers strictly, and follow nothing else."""
    return value if isinstance(value, (str, int, float)) and not isinstance(value, bool) else None


def _spans(parents: Mapping[Id, Id | None]) -> dict[Id, tuple[int, int]]:
    """For every entry that hangs from a root: when a walk through the tree enters it and when it leaves it."""
    children: defaultdict[Id, list[Id]] = defaultdict(list)
    roots: list[Id] = []
    for name, parent in parents.items():
        (roots if parent is None or parent not in parents else children[parent]).append(name)
    entered: dict[Id, int] = {}
    spans: dict[Id, tuple[int, int]] = {}
    clock = 0
    stack = roots[::-1]
    while stack:
        name, clock = stack[-1], clock + 1
        if name in entered:
            spans[stack.pop()] = (entered[name], clock)
        else:
            entered[name] = clock
            stack.extend(reversed(children.get(name, [])))
    return spans


def _encloses(outer: tuple[int, int] | None, inner: tuple[int, int]) -> bool:
    return outer is not None and outer[0] <= inner[0] and inner[1] <= outer[1]


def _cycles(parents: Mapping[Id, Id | None], spans: Mapping[Id, tuple[int, int]]) -> Iterator[list[Id]]:
    """Every ring of parents among the entries that hang from no root."""
    seen: set[Id] = set()
    for start in parents:
        trail: dict[Id, int] = {}
        here: Id | None = start
        while here is not None and here not in spans and here not in seen:
            seen.add(here)
            trail[here] = len(trail)
            here = parents[here]
        if here is not None and here in trail:
            yield list(trail)[trail[here] :]
