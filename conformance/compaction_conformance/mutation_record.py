"""`mutation.json`: what the vectors made of every module's mutants. It can only become better.

An error is a silent mutant that the file does not list, one that the file calls equivalent and that was killed, and a
module that the file does not know. A listed silent mutant that is killed now is taken off when the file is written
anew, and cannot come back.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compaction_conformance.json_files import read_json
from compaction_conformance.mutation import EQUIVALENT, KILLED, SILENT, STILLBORN, Fate
from compaction_conformance.vectors import Vector


@dataclass(frozen=True)
class ModuleRecord:
    """`equivalent` counts by reason, `silent` is the change by id, `rules` how many were killed by rule."""

    killed: int
    stillborn: int
    equivalent: Mapping[str, int]
    silent: Mapping[str, str]
    rules: Mapping[str, int]

    @property
    def counted(self) -> int:
        """Those that a vector could tell: neither equivalent nor stillborn."""
        return self.killed + len(self.silent)

    @property
    def percent(self) -> float:
        """Killed of counted, rounded down to a tenth."""
        return self.killed * 1000 // self.counted / 10 if self.counted else 100.0


@dataclass(frozen=True)
class Record:
    """`equivalent` are reasons that were written for single mutants, by id."""

    modules: Mapping[str, ModuleRecord]
    equivalent: Mapping[str, str]

    @property
    def total(self) -> ModuleRecord:
        return _sum(self.modules.values())


def module_record(fates: Sequence[Fate], vectors: Mapping[str, Vector]) -> ModuleRecord:
    """`vectors` by id. A kill counts for every rule that the killer judges."""
    killers = [vectors[fate.killer] for fate in fates if fate.state == KILLED]
    return ModuleRecord(
        len(killers),
        sum(fate.state == STILLBORN for fate in fates),
        Counter(fate.reason for fate in fates if fate.state == EQUIVALENT),
        {fate.mutant.id: fate.change for fate in fates if fate.state == SILENT},
        Counter(rule.id for vector in killers for rule in vector.requirements),
    )


def read_record(path: Path) -> Record:
    """An absent file knows nothing."""
    if not path.is_file():
        return Record({}, {})
    data = read_json(path)
    modules = {
        name: ModuleRecord(raw["killed"], raw["stillborn"], raw["equivalent"], raw["silent"], raw["rules"])
        for name, raw in data["modules"].items()
    }
    return Record(modules, data["equivalent"])


def write_record(path: Path, record: Record) -> None:
    modules: dict[str, Any] = {
        name: {
            "killed": one.killed,
            "stillborn": one.stillborn,
            "equivalent": dict(sorted(one.equivalent.items())),
            "silent": dict(sorted(one.silent.items())),
            "rules": dict(sorted(one.rules.items())),
        }
        for name, one in sorted(record.modules.items())
    }
    data = {"equivalent": dict(sorted(record.equivalent.items())), "modules": modules}
    path.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def problems(found: Mapping[str, Sequence[Fate]], known: Record) -> list[str]:
    """What got worse, by module and mutant."""
    worse = []
    for name, fates in found.items():
        listed = known.modules.get(name)
        if listed is None:
            worse.append(f"{name}: not in the record (run `compaction-conformance mutate {name} --pin`)")
            continue
        for fate in fates:
            key = fate.mutant.id
            if fate.state == SILENT and key not in listed.silent:
                worse.append(f"{key} is silent, no vector notices it: line {fate.mutant.first_line}: {fate.change}")
            if fate.state == KILLED and key in known.equivalent:
                worse.append(f"{key} is listed as equivalent, and {fate.killer} kills it")
    return worse


def stale(found: Mapping[str, Sequence[Fate]], known: Record) -> list[str]:
    """What the record lists for these modules and is not so any more: a reason for the next `--pin`, not an error."""
    old = []
    for name, fates in found.items():
        silent = {fate.mutant.id for fate in fates if fate.state == SILENT}
        listed = known.modules.get(name)
        old += sorted(set(listed.silent) - silent) if listed else []
    return old


def _sum(records: Iterable[ModuleRecord]) -> ModuleRecord:
    equivalent: Counter[str] = Counter()
    rules: Counter[str] = Counter()
    silent: dict[str, str] = {}
    killed = stillborn = 0
    for one in records:
        killed, stillborn = killed + one.killed, stillborn + one.stillborn
        equivalent.update(one.equivalent)
        rules.update(one.rules)
        silent |= one.silent
    return ModuleRecord(killed, stillborn, equivalent, silent, rules)
