"""An implementation that makes the same of every response."""

from __future__ import annotations

from typing import Any


class Reader:
    def __init__(self, *operations: str) -> None:
        self._operations = list(operations)

    def describe(self) -> dict[str, Any]:
        return {
            "protocolVersion": 1,
            "implementation": {"name": "wrong-reader", "version": "1", "language": "python"},
            "editions": ["pi-0.87"],
            "profiles": ["coding-agent"],
            "operations": self._operations,
        }

    def call(self, method: str, params: Any) -> Any:
        return {"stopReason": "stop", "errorMessage": None, "overflow": False}


_READER = Reader("overflow/classify")
describe, call = _READER.describe, _READER.call
SILENT = Reader("tokens/from_usage")
