"""Which rule is held by what, from a real run: vectors, twins, scenarios, sweeps, properties, faults, mutants.

A MUST that no vector judges, or whose vectors did not run, is an error. What a rule lacks besides is shown as a gap.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from compaction_conformance.fault_run import Caught
from compaction_conformance.json_files import write_text
from compaction_conformance.mutation.record import Record
from compaction_conformance.run import PASSED, Outcome
from compaction_conformance.spec import Requirement, Spec

KINDS = ("vectors", "passed", "twins", "scenarios", "sweeps", "properties", "faults", "mutants")


@dataclass(frozen=True)
class Row:
    """One rule. `vectors` judge it and `passed` were met; of them `twins` have an opposite and `scenarios` play a whole
    session; `faults` break it and were caught by a vector of it; `mutants` were first killed by a vector of it."""

    id: str
    title: str
    level: str
    chapter: str
    vectors: int
    passed: int
    twins: int
    scenarios: int
    sweeps: int
    properties: int
    faults: int
    mutants: int

    @property
    def untested(self) -> bool:
        return self.passed == 0 and self.level != "SHOULD"

    @property
    def gaps(self) -> tuple[str, ...]:
        """What a rule of level MUST would gain from."""
        wanted = ("twins", "faults", "mutants") if self.level == "MUST" else ()
        return tuple(kind for kind in wanted if not getattr(self, kind))


def trace(
    spec: Spec,
    outcomes: Iterable[Outcome],
    *,
    caught: Iterable[Caught] = (),
    record: Record | None = None,
    sweeps: Iterable[Sequence[str]] = (),
    properties: Iterable[Sequence[str]] = (),
) -> list[Row]:
    """A row a rule, in the order of the chapters. `sweeps` and `properties` are the rules of each of them."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    vectors: dict[str, set[str]] = defaultdict(set)
    for outcome in outcomes:
        vector = outcome.vector
        for rule in vector.requirements:
            vectors[rule.id].add(vector.id)
            counts[rule.id] += Counter(
                vectors=1,
                passed=outcome.status == PASSED,
                twins=vector.twin is not None,
                scenarios=vector.operation == "control/run",
            )
    for one in caught:
        for name in one.fault.breaks:
            counts[name]["faults"] += bool(vectors[name] & set(one.by))
    for kind, groups in (("sweeps", sweeps), ("properties", properties)):
        for rules in groups:
            for name in rules:
                counts[name][kind] += 1
    for name, killed in record.total.rules.items() if record else ():
        counts[name]["mutants"] += killed
    return [_row(rule, counts[rule.id]) for rule in spec.requirements.values()]


def _row(rule: Requirement, counts: Mapping[str, int]) -> Row:
    return Row(rule.id, rule.title, rule.level, rule.chapter, *(counts[kind] for kind in KINDS))


def problems(rows: Iterable[Row]) -> list[str]:
    """Every MUST and QUIRK that nothing tests."""
    return [f"{row.id} {row.title}: {_why(row)}" for row in rows if row.untested]


def _why(row: Row) -> str:
    return f"none of its {row.vectors} vectors was met" if row.vectors else f"no vector judges this {row.level}"


def chapter_rows(rows: Sequence[Row], spec: Spec) -> Iterator[tuple[str, ...]]:
    """A head, a row a chapter with sums, and for each kind in how many of its rules it occurs."""
    yield ("chapter", "rules", "MUST", *(kind for kind in KINDS if kind != "passed"))
    for chapter in spec.chapters:
        own = [row for row in rows if row.chapter == chapter.slug]
        if own:
            yield (chapter.title, *_cells(own))
    yield ("all", *_cells(rows))


def _cells(rows: Sequence[Row]) -> Iterator[str]:
    yield str(len(rows))
    yield str(sum(row.level == "MUST" for row in rows))
    for kind in KINDS:
        if kind != "passed":
            numbers = [getattr(row, kind) for row in rows]
            yield f"{sum(numbers)} in {sum(map(bool, numbers))}" if any(numbers) else "–"


def rule_rows(rows: Iterable[Row]) -> Iterator[tuple[str, ...]]:
    """A head, and a row a rule."""
    yield ("rule", "level", *KINDS, "gaps")
    for row in rows:
        numbers = (str(getattr(row, kind) or "–") for kind in KINDS)
        yield (row.id, row.level, *numbers, " ".join(row.gaps))


def write_json(path: Path, rows: Iterable[Row]) -> None:
    """One object a rule."""
    data: list[dict[str, Any]] = [{**asdict(row), "gaps": list(row.gaps)} for row in rows]
    write_text(path, json.dumps({"requirements": data}, indent=1, ensure_ascii=False) + "\n")
