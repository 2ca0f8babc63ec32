"""Mutation of the reference, judged by the vectors alone: is there a change that no vector notices?

A mutant is *killed* by a vector that the reference passes and the mutant does not, or does not answer in time. It is
*equivalent* where a written reason says that no vector can tell it from the reference; that is tried again in every
run. Any other is *silent*: a hole. A mutant that cannot even be loaded is not counted.

`mutation_record` keeps what is known of every module.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from compaction_conformance.expectation import Broken, Error, Reply, Result
from compaction_conformance.implementation import Request
from compaction_conformance.in_process import InProcess
from compaction_conformance.mutation import mutated_package
from compaction_conformance.mutation.equivalence import reason_for
from compaction_conformance.mutation.mutants import Mutant, mutants_of
from compaction_conformance.mutation.reached import Lines, lines_reached
from compaction_conformance.vectors import Vector

KILLED, SILENT, EQUIVALENT, STILLBORN = "killed", "silent", "equivalent", "stillborn"
TIME_LIMIT = 2.0  # seconds for one vector; the slowest takes a tenth of that
_SHOWN = 70  # characters of a change
_RECENT = 12  # killers of other mutants of the same function that are tried first
_TRIED = 2  # vectors of each rule that are asked whether they notice a mutant too


@dataclass(frozen=True)
class Fate:
    """What became of a mutant; `killer` is the id of the first vector that noticed it, `rules` are those that it judges
    and those for which this is the first mutant of the module that one of their vectors noticed."""

    mutant: Mutant
    state: str
    killer: str = ""
    reason: str = ""
    rules: tuple[str, ...] = ()

    @property
    def change(self) -> str:
        """The change in one line: what differs, and a little of what stands around it."""
        return change_of(" ".join(self.mutant.before.split()), " ".join(self.mutant.after.split()))


def change_of(before: str, after: str) -> str:
    """`a + b → a - b`; of long texts the part that differs."""
    if len(before) <= _SHOWN and len(after) <= _SHOWN:
        return f"{before} → {after}"
    start = _common(before, after)
    end = _common(before[start:][::-1], after[start:][::-1])
    start, end = max(start - 12, 0), max(end - 12, 0)
    return f"…{before[start : len(before) - end]}… → …{after[start : len(after) - end]}…"


def _common(first: str, second: str) -> int:
    """How many characters both begin with."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(first), len(second)))


class _Mutated:
    """The mutated copy as an implementation of one profile."""

    def __init__(self, profile: str) -> None:
        self._profile = profile

    def describe(self) -> Any:
        return mutated_package.operations(self._profile).describe()

    def call(self, method: str, params: Any) -> Any:
        return mutated_package.operations(self._profile).call(method, params)


@dataclass
class Campaign:
    """The vectors that the reference passes, which lines each reaches, and the mutants that are known as equivalent
    (reason by id)."""

    vectors: Sequence[Vector]
    equivalent: dict[str, str] = field(default_factory=dict)

    @cached_property
    def passed(self) -> tuple[Vector, ...]:
        """Only these can tell. They are sorted by size, so that the first killer is a small one."""
        ordered = sorted(self.vectors, key=lambda vector: len(vector.params_text))
        return tuple(vector for vector in ordered if self._meets(vector, self._sides()))

    @cached_property
    def reached(self) -> Lines:
        sides = self._sides()
        return lines_reached((lambda v=vector: self._reply(v, sides)) for vector in self.passed)  # type: ignore[misc]

    def fates(self, module: str, on_fate: Callable[[Fate], None] = lambda _: None) -> list[Fate]:
        """What becomes of every mutant of a module."""
        found = []
        recent: dict[str, list[int]] = {}
        credited: set[str] = set()
        for mutant in mutants_of(module):
            fate = self.fate(mutant, recent.setdefault(mutant.function, []), credited)
            credited.update(fate.rules)
            found.append(fate)
            on_fate(fate)
        return found

    def fate(self, mutant: Mutant, recent: list[int] | None = None, credited: Collection[str] | None = None) -> Fate:
        """Runs the vectors that reach the statement until one notices. `recent` are places of vectors to try first; a
        killer is put in front. Where rules are `credited` with a killed mutant already, the others are tried too."""
        recent = [] if recent is None else recent
        candidates = self._candidates(mutant, recent)  # found with the reference as it is
        try:
            with mutated_package.mutated(mutant.module, mutant.source):
                killer = self._killer(candidates)
                rules = () if killer is None else self._rules(killer, candidates, credited)
        except Exception:  # whatever a change makes of a module that is loaded
            return Fate(mutant, STILLBORN)
        if killer is not None:
            recent[:] = [killer, *(one for one in recent if one != killer)][:_RECENT]
            return Fate(mutant, KILLED, self.passed[killer].id, rules=rules)
        reason = reason_for(mutant)
        if reason is not None:
            return Fate(mutant, EQUIVALENT, reason=reason.text)
        written = self.equivalent.get(mutant.id, "")
        return Fate(mutant, EQUIVALENT if written else SILENT, reason=written)

    def _candidates(self, mutant: Mutant, recent: Iterable[int]) -> list[int]:
        lines = range(mutant.first_line, mutant.last_line + 1)
        if mutant.function and not self._is_definition(mutant):
            reaching = sorted({at for line in lines for at in self.reached.get((mutant.module, line), ())})
        else:
            importers = set(mutated_package.importers(mutant.module))
            own = {at for (module, _), places in self.reached.items() if module in importers for at in places}
            reaching = sorted(own)
        among = set(reaching)
        first = [at for at in recent if at in among]
        return first + [at for at in reaching if at not in first]

    def _is_definition(self, mutant: Mutant) -> bool:
        """Fields of classes and defaults of parameters count when the module is loaded, and not when they are used."""
        return not any((mutant.module, line) in self.reached for line in range(mutant.first_line, mutant.last_line + 1))

    def _killer(self, candidates: Iterable[int]) -> int | None:
        sides = self._sides()
        return next((at for at in candidates if not self._meets(self.passed[at], sides)), None)

    def _rules(self, killer: int, candidates: Iterable[int], credited: Collection[str] | None) -> tuple[str, ...]:
        """The rules of the killer, and of the others that are not credited yet those of which a small vector notices
        too. One that loops would take its time with every vector, and is left at the killer's."""
        found = dict.fromkeys(rule.id for rule in self.passed[killer].requirements)
        if credited is None:
            return tuple(found)
        sides = self._sides()
        tried: Counter[str] = Counter()
        for at in candidates:
            rules = [rule.id for rule in self.passed[at].requirements]
            open_rules = [name for name in rules if name not in found and name not in credited]
            if not any(tried[name] < _TRIED for name in open_rules):
                continue
            tried.update(open_rules)
            reply = self._reply(self.passed[at], sides)
            if isinstance(reply, Broken) and reply.failure == "timeout":
                break
            if not self._is_met(self.passed[at], reply):
                found |= dict.fromkeys(open_rules)
        return tuple(found)

    def _sides(self) -> dict[str, InProcess]:
        return {
            profile: InProcess(_Mutated(profile), edition="pi-0.87", profile=profile, time_limit=TIME_LIMIT)
            for profile in mutated_package.OPERATIONS
        }

    def _reply(self, vector: Vector, sides: dict[str, InProcess]) -> Reply:
        request = Request(vector.operation, vector.params_text, vector.time_limit)
        return next(iter(sides[vector.profile].answers([request])))

    def _meets(self, vector: Vector, sides: dict[str, InProcess]) -> bool:
        if vector.operation not in sides[vector.profile].description.operations:
            return False
        return self._is_met(vector, self._reply(vector, sides))

    @staticmethod
    def _is_met(vector: Vector, reply: Reply) -> bool:
        return isinstance(reply, (Result, Error)) and vector.expect.judge(reply, vector.params).met
