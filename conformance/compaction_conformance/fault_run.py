"""Runs named faults and holds what was caught against `faults.json`, which can only grow."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from compaction_conformance.expectation import Error, Result
from compaction_conformance.faults import FAULTS, NEAR, Fault, Patched
from compaction_conformance.implementation import Implementation, Request
from compaction_conformance.in_process import InProcess
from compaction_conformance.json_files import write_text
from compaction_conformance.record_files import TEXT, list_of, members, read_checked
from compaction_conformance.vectors import Vector

TIME_LIMIT = 2.0  # seconds; the slowest vector takes a tenth of that, and those with cycles have limits of their own


@dataclass(frozen=True)
class Caught:
    """The vectors of the broken rules that a fault fails, by id, and how many of them there are."""

    fault: Fault
    by: tuple[str, ...]
    asked: int


def plug_in(implementation: Patched, profile: str, time_limit: float = TIME_LIMIT) -> Implementation:
    return InProcess(implementation, edition="pi-0.87", profile=profile, time_limit=time_limit)


def catch(fault: Fault, vectors: Iterable[Vector]) -> Caught:
    """Asks the vectors that are about the rules which the fault breaks."""
    asked = [vector for vector in vectors if _is_about(vector, fault)]
    return Caught(fault, tuple(sorted(failed(fault.implementation(), fault.profile, asked))), len(asked))


def failed(implementation: Patched, profile: str, vectors: Sequence[Vector]) -> list[str]:
    """The ids of the vectors that are not met."""
    side = plug_in(implementation, profile)
    requests = [
        Request(vector.operation, vector.params_text, min(vector.time_limit or TIME_LIMIT, TIME_LIMIT))
        for vector in vectors
    ]
    replies = zip(vectors, side.answers(requests), strict=True)
    return [
        vector.id
        for vector, reply in replies
        if not (isinstance(reply, (Result, Error)) and vector.expect.judge(reply, vector.params).met)
    ]


def _is_about(vector: Vector, fault: Fault) -> bool:
    rules = {rule.id for rule in vector.requirements}
    return vector.profile == fault.profile and bool(rules & set(fault.breaks))


# ---- what is pinned --------------------------------------------------------------------------------------------------


_SCHEMA = members(faults=list_of(members(id=TEXT, caughtBy=list_of(TEXT))))


def read_pinned(path: Path) -> dict[str, tuple[str, ...]]:
    """The catching vectors by the id of the fault; none without the file."""
    if not path.is_file():
        return {}
    data = read_checked(path, _SCHEMA, command="faults --pin")
    return {one["id"]: tuple(one["caughtBy"]) for one in data["faults"]}


def write_pinned(path: Path, caught: Iterable[Caught]) -> None:
    faults = [
        {
            "id": one.fault.id,
            "breaks": list(one.fault.breaks),
            "wrong": one.fault.wrong,
            "seen": one.fault.seen,
            "url": one.fault.url,
            **({"near": True} if one.fault.id in NEAR else {}),
            **({} if one.fault.profile == "coding-agent" else {"profile": one.fault.profile}),
            "caughtBy": list(one.by),
        }
        for one in sorted(caught, key=lambda one: one.fault.id)
    ]
    write_text(path, json.dumps({"faults": faults}, indent=1, ensure_ascii=False) + "\n")


def problems(caught: Sequence[Caught], pinned: Mapping[str, Sequence[str]], *, whole: bool = True) -> list[str]:
    """What got worse: a fault that nothing catches, a vector that catches no more, and (of all faults) one that is
    gone."""
    found = losses(caught, pinned)
    for one in caught:
        if one.fault.id not in pinned:
            found.append(f"{one.fault.id}: not pinned (run `compaction-conformance faults --pin`)")
    found += [f"{name}: pinned, and there is no such fault" for name in pinned if whole and name not in FAULTS]
    return found


def losses(caught: Sequence[Caught], pinned: Mapping[str, Sequence[str]]) -> list[str]:
    """What keeps from pinning. Where less is meant to be caught, the fault's line in the record goes first."""
    found = []
    for one in caught:
        if not one.by:
            found.append(f"{one.fault.id}: none of {one.asked} vectors of {', '.join(one.fault.breaks)} catches it")
        for lost in sorted(set(pinned.get(one.fault.id, ())) - set(one.by)):
            found.append(f"{one.fault.id}: {lost} caught it and does not any more")
    return found


def summary_row(one: Caught) -> tuple[str, ...]:
    return one.fault.id, " ".join(one.fault.breaks), f"{len(one.by)}/{one.asked}", one.fault.wrong
