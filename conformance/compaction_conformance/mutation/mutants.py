"""Mutants of the reference: one small change each, made by the operators of mutmut.

mutmut finds the places and makes the changes. It runs tests in processes of its own, which is too slow for some
ten thousand mutants and a few thousand vectors; so only its operators are used, and `mutation` runs the vectors.
Left out: modules without rules (types, the program around stdin, the reading of tables, the bench that plays and shows
scenarios); provider clients, which have a corpus of responses in place of vectors; the check of params, since the suite
sends none that is wrong; and the two mutants of a text that change its letter case, since a third one changes the text.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import compaction_reference
from compaction_conformance.errors import Unavailable

PACKAGE_DIR = Path(compaction_reference.__file__).parent
_WITHOUT_RULES = ("__main__", "types", "spec_table")
_WITHOUT_VECTORS = ("providers", "params")
_BENCH = ("control.scenario", "control.replies", "control.trace")


@dataclass(frozen=True)
class Mutant:
    """`before` became `after` in `function` (empty: outside of any) of a module such as `cut_point` or
    `harness.tokens`. `statement` is what stands around it, on the lines `first_line` to `last_line` (from 1); `source`
    is the whole module."""

    id: str
    module: str
    function: str
    before: str
    after: str
    statement: str
    first_line: int
    last_line: int
    source: str


def module_names() -> tuple[str, ...]:
    """The modules of the reference that state rules, by name."""
    paths = (path.relative_to(PACKAGE_DIR).with_suffix("") for path in sorted(PACKAGE_DIR.rglob("*.py")))
    names = (".".join(path.parts) for path in paths)
    return tuple(name for name in names if not _is_left_out(name))


def _is_left_out(name: str) -> bool:
    first, _, last = name.rpartition(".")
    return last == "__init__" or name in (*_WITHOUT_RULES, *_WITHOUT_VECTORS, *_BENCH) or first in _WITHOUT_VECTORS


def module_path(name: str) -> Path:
    return PACKAGE_DIR.joinpath(*name.split(".")).with_suffix(".py")


def source_of(name: str) -> str:
    return module_path(name).read_text(encoding="utf-8")


def mutants_of(name: str) -> list[Mutant]:
    """All mutants of a module, in the order of the text. Raises `Unavailable` without mutmut."""
    return list(_mutants(name, source_of(name)))


@cache
def _mutmut() -> Any:
    """The module of mutmut that finds mutations. It insists on a configuration in the working directory."""
    try:
        from mutmut import configuration
        from mutmut.mutation import file_mutation
    except ImportError:
        raise Unavailable(
            "mutmut is not installed", where="mutate", remedy="pip install pi-compaction-conformance[mutation]"
        ) from None
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "setup.cfg").write_text("[mutmut]\nsource_paths=.\n", encoding="utf-8")
        before = os.getcwd()
        os.chdir(folder)
        try:
            configuration.config()
        finally:
            os.chdir(before)
    return file_mutation


def _mutants(name: str, source: str) -> Iterator[Mutant]:
    mutmut = _mutmut()  # first: without it there is no libcst either
    import libcst
    from libcst.metadata import MetadataWrapper, PositionProvider

    module, mutations, _, _ = mutmut.create_mutations(name, source)
    places = MetadataWrapper(module, unsafe_skip_copy=True).resolve(PositionProvider)
    statements = _Statements(libcst, module, places)
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    seen: Counter[tuple[str, str, str, str]] = Counter()
    for mutation in mutations:
        node, place = mutation.original_node, places.get(mutation.original_node)
        if place is None or _changes_case_alone(libcst, mutation):
            continue
        start = starts[place.start.line - 1] + place.start.column
        start += len(source[start:]) - len(source[start:].lstrip())  # an operator's place begins with its space
        end = starts[place.end.line - 1] + place.end.column
        after = _text(module, mutation.mutated_node, node)
        function, first, last = statements.around(node, place)
        statement = " ".join(source[starts[first - 1] : starts[last]].split())
        own = (function, statement, source[start:end], after)
        seen[own] += 1
        digest = hashlib.sha256("\0".join((*own, str(seen[own]))).encode()).hexdigest()[:10]
        changed = source[:start] + after + source[end:]
        if _compiles(changed):
            key = f"{name}:{function}:{digest}"
            yield Mutant(key, name, function, source[start:end], after, statement, first, last, changed)


def _compiles(source: str) -> bool:
    try:
        compile(source, "mutant", "exec")
    except (SyntaxError, ValueError):
        return False
    return True


def _text(module: Any, node: Any, replaced: Any) -> str:
    """The text of the new node. The place of a node does not hold its parentheses, which stay where they are."""
    if getattr(replaced, "lpar", None) and hasattr(node, "lpar"):
        node = node.with_changes(lpar=[], rpar=[])
    return str(module.code_for_node(node)).strip()


def _changes_case_alone(libcst: Any, mutation: Any) -> bool:
    if not isinstance(mutation.original_node, libcst.SimpleString):
        return False
    before, after = mutation.original_node.value, mutation.mutated_node.value
    return bool(before.lower() == after.lower())


class _Statements:
    """For every node, the function that it stands in and the lines of the innermost statement around it. Of an `if`, a
    loop and the like the statement is the head alone."""

    def __init__(self, libcst: Any, module: Any, places: Any) -> None:
        self._around: dict[Any, tuple[str, int, int]] = {}
        self._libcst, self._places = libcst, places
        self._visit(module, "", (1, 1))

    def around(self, node: Any, place: Any) -> tuple[str, int, int]:
        return self._around.get(node, ("", place.start.line, place.end.line))

    def _visit(self, module: Any, function: str, lines: tuple[int, int]) -> None:
        waiting = [(module, function, lines)]
        while waiting:
            node, function, lines = waiting.pop()
            lines = self._lines(node) or lines
            self._around[node] = (function, *lines)
            if isinstance(node, (self._libcst.FunctionDef, self._libcst.ClassDef)):
                function = f"{function}.{node.name.value}" if function else node.name.value
            waiting.extend((child, function, lines) for child in node.children)

    def _lines(self, node: Any) -> tuple[int, int] | None:
        cst = self._libcst
        if isinstance(node, cst.SimpleStatementLine):
            return self._span(node, node)
        if isinstance(node, cst.BaseCompoundStatement):
            return self._span(node, node.body)
        return None

    def _span(self, node: Any, until: Any) -> tuple[int, int]:
        start, end = self._places[node].start.line, self._places[until]
        return start, end.end.line if until is node else max(start, end.start.line)
