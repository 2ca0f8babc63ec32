"""The reference with one operation replaced: what the tests of sweeps, variants and hand-over plug in."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any

from compaction_conformance.connect import Settings
from compaction_conformance.in_process import InProcess
from compaction_reference import operations

Call = Callable[[Any], Any]


class Replaced:
    """`faults` maps an operation to a function of its params and the right answer; `name` is what it calls itself."""

    def __init__(
        self,
        faults: dict[str, Callable[[Any, Any], Any]] | None = None,
        *,
        name: str = "odd",
        without: Iterable[str] = (),
    ) -> None:
        self._faults, self._name, self._without = faults or {}, name, set(without)

    def describe(self) -> dict[str, Any]:
        about = copy.deepcopy(operations.describe())
        about["implementation"] |= {"name": self._name}
        about["operations"] = [name for name in about["operations"] if name not in self._without]
        return about

    def call(self, method: str, params: Any) -> Any:
        fault = self._faults.get(method)
        answer = operations.call(method, copy.deepcopy(params)) if fault else operations.call(method, params)
        return fault(params, answer) if fault else answer


def side(faults: dict[str, Callable[[Any, Any], Any]] | None = None, **more: Any) -> InProcess:
    settings = Settings()
    return InProcess(Replaced(faults, **more), edition=settings.edition, profile=settings.profile)
