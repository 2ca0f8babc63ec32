"""The error kinds and failure classes that a report names, as `spec/protocol.md` tells them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from compaction_conformance.json_files import read_text
from compaction_conformance.paths import spec_dir

_SECTIONS = {"## Errors": "an error kind", "## Failure classes": "a failure class"}
_ROW = re.compile(r"\| `(?P<name>[a-z_]+)`(?: (?P<mark>†))? \| (?P<text>.+) \|")


@dataclass(frozen=True)
class Term:
    """`kind` is what it is one of; `line` is that of its row in `file`."""

    name: str
    kind: str
    text: str
    ends_process: bool
    file: Path
    line: int


def load_terms() -> dict[str, Term]:
    """By name. Raises `InvalidInput` when the protocol cannot be read."""
    path = spec_dir() / "protocol.md"
    return {term.name: term for term in _terms(path)}


def _terms(path: Path) -> Iterator[Term]:
    kind = None
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if line.startswith("## "):
            kind = _SECTIONS.get(line)
        elif kind and (row := _ROW.fullmatch(line)):
            yield Term(row["name"], kind, row["text"], row["mark"] is not None, path, number)
