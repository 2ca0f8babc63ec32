"""`mutation.json`: what the vectors made of every module's mutants. It can only become better.

An error is a silent mutant that the file does not list, one that the file calls equivalent and that was killed, and a
module that the file does not know. A listed silent mutant that is killed now is taken off when the file is written
anew, and cannot come back.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from compaction_conformance.json_files import write_text
from compaction_conformance.mutation.campaign import EQUIVALENT, KILLED, SILENT, STILLBORN, Fate
from compaction_conformance.mutation.mutants import source_of
from compaction_conformance.record_files import COUNT, COUNTS, TEXT, TEXTS, map_of, members, read_checked


@dataclass(frozen=True)
class ModuleRecord:
    """`equivalent` counts by reason, `silent` is the change by id, `rules` how many a vector of each rule is known to
    notice. `source` is the digest of what was mutated."""

    source: str
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


def module_record(name: str, fates: Sequence[Fate]) -> ModuleRecord:
    return ModuleRecord(
        source_digest(name),
        sum(fate.state == KILLED for fate in fates),
        sum(fate.state == STILLBORN for fate in fates),
        Counter(fate.reason for fate in fates if fate.state == EQUIVALENT),
        {fate.mutant.id: fate.change for fate in fates if fate.state == SILENT},
        Counter(rule for fate in fates for rule in fate.rules),
    )


def source_digest(module: str) -> str:
    return hashlib.sha256(source_of(module).encode()).hexdigest()[:16]


def changed_modules(names: Iterable[str], known: Record) -> list[str]:
    """Those whose source is not what the record is about."""
    records = known.modules
    return [name for name in names if name not in records or records[name].source != source_digest(name)]


_MODULE = members(source=TEXT, killed=COUNT, stillborn=COUNT, equivalent=COUNTS, silent=TEXTS, rules=COUNTS)
_SCHEMA = members(modules=map_of(_MODULE), equivalent=TEXTS)


def read_record(path: Path) -> Record:
    """An absent file knows nothing."""
    if not path.is_file():
        return Record({}, {})
    data = read_checked(path, _SCHEMA, command="mutate --pin")
    modules = {
        name: ModuleRecord(
            raw["source"], raw["killed"], raw["stillborn"], raw["equivalent"], raw["silent"], raw["rules"]
        )
        for name, raw in data["modules"].items()
    }
    return Record(modules, data["equivalent"])


def write_record(path: Path, record: Record) -> None:
    modules = {name: vars(one) for name, one in record.modules.items()}
    data = {"equivalent": record.equivalent, "modules": modules}
    write_text(path, json.dumps(data, indent=1, ensure_ascii=False, sort_keys=True) + "\n")


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


def grown(found: Mapping[str, ModuleRecord], known: Record) -> list[str]:
    """Modules with more silent mutants than are listed. A record of them would be looser than the one before."""
    return [
        f"{name}: {len(one.silent)} silent mutants, and {len(known.modules[name].silent)} are allowed: not noted"
        for name, one in found.items()
        if name in known.modules and len(one.silent) > len(known.modules[name].silent)
    ]


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
    return ModuleRecord("", killed, stillborn, equivalent, silent, rules)
