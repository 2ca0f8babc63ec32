"""Smoke: one plain question an operation. An answer passes by its shape alone; whether it is right, a run says."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from compaction_conformance import schemas
from compaction_conformance.expectation import Error, ExpectAnswer, ExpectResult, Result, Verdict
from compaction_conformance.implementation import Description
from compaction_conformance.judge import Difference
from compaction_conformance.run import binds
from compaction_conformance.vectors import Vector


@dataclass(frozen=True)
class ExpectShape(ExpectAnswer):
    """Any result that the operation can have."""

    operation: str

    def judge(self, reply: Result | Error, params: Any) -> Verdict:
        if isinstance(reply, Error):
            return Verdict("unexpected_error", Difference("", "a result", reply.shown()))
        error = schemas.first_error(schemas.result_schema(self.operation), reply.value)
        if error is None:
            return Verdict()
        return Verdict(
            "schema_violation", Difference(error.pointer, "a value that its schema allows", error.value, error.message)
        )


def smoke_vectors(vectors: Iterable[Vector], about: Description) -> tuple[Vector, ...]:
    """One of each declared operation: of those where a MUST asks for a result, the one of middle size, since the
    smallest are empty or odd."""
    plain: dict[str, list[Vector]] = {}
    for vector in vectors:
        asked = vector.operation in about.operations and binds(vector, about)
        if asked and vector.level == "MUST" and isinstance(vector.expect, ExpectResult):
            plain.setdefault(vector.operation, []).append(vector)
    return tuple(_of_middle_size(group) for group in plain.values())


def _of_middle_size(vectors: list[Vector]) -> Vector:
    ordered = sorted(vectors, key=lambda vector: len(vector.params_text))
    middle = ordered[len(ordered) // 2]
    return replace(middle, expect=ExpectShape(middle.operation))
