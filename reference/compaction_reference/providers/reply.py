"""The assistant message while it arrives."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..ecma import is_number
from ..types import Json, Message
from .failure import parsed
from .target import Target

TEXT, THINKING, CALL = "text", "thinking", "toolCall"


@dataclass(slots=True)
class _Block:
    kind: str
    names: Json
    pieces: list[str] = field(default_factory=list)

    def finished(self) -> Json:
        content = "".join(self.pieces)
        if self.kind != CALL:
            return {"type": self.kind, self.kind: content}
        arguments = parsed(content)
        return {"type": CALL, **self.names, "arguments": arguments if isinstance(arguments, dict) else {}}


class Reply:
    """Blocks in the order in which they began, usage, and how the reply stopped (`stop_reason` empty: not yet)."""

    def __init__(self) -> None:
        self.stop_reason = ""
        self.error = ""
        self.usage = usage()
        self._blocks: dict[Any, _Block] = {}

    def add(self, key: Any, kind: str, piece: Any = "", **names: Any) -> None:
        """One more piece of the block with this key, which begins with its first piece. `names` are those of a call,
        and one that is empty may come later."""
        block = self._blocks.setdefault(key, _Block(kind, names))
        block.names |= {name: value for name, value in names.items() if not block.names.get(name)}
        self.append(key, kind, piece)

    def append(self, key: Any, kind: str, piece: Any) -> None:
        """One more piece of a block that has begun. What belongs to none is dropped."""
        block = self._blocks.get(key)
        if block and block.kind == kind and isinstance(piece, str):
            block.pieces.append(piece)

    def add_call(self, name: str, call_id: Any, arguments: str) -> None:
        """A call that came whole; one without an id is given one."""
        number = len(self._blocks)
        self.add(("whole", number), CALL, arguments, id=call_id or f"{name}_{number}", name=name)

    def replace(self, key: Any, content: str) -> None:
        """The whole content of a block that has begun."""
        if key in self._blocks:
            self._blocks[key].pieces = [content]

    def extend(self, kind: str, piece: Any) -> None:
        """One more piece of the last block, or of a new one where the last is of another kind."""
        last = next(reversed(self._blocks.values()), None)
        self.add(len(self._blocks) - (last is not None and last.kind == kind), kind, piece)

    def stop(self, reason: str, error: str = "") -> None:
        self.stop_reason, self.error = reason, error

    def has_call(self) -> bool:
        return any(block.kind == CALL for block in self._blocks.values())

    def message(self, target: Target, api: str) -> Message:
        """What the agent stores; times are milliseconds since 1970."""
        return {
            "role": "assistant",
            "content": [block.finished() for block in self._blocks.values()],
            "api": api,
            "provider": target.provider,
            "model": target.model,
            "usage": self.usage,
            "stopReason": self.stop_reason,
            **({"errorMessage": self.error} if self.error else {}),
            "timestamp": int(time.time() * 1000),
        }


def usage(
    fresh: float = 0, output: float = 0, cache_read: float = 0, cache_write: float = 0, total: float | None = None
) -> Json:
    """Tokens of a reply. `fresh` is input that came from no cache; without a total it is the sum. (RSP-04)"""
    everything = fresh + output + cache_read + cache_write
    return {
        "input": fresh,
        "output": output,
        "cacheRead": cache_read,
        "cacheWrite": cache_write,
        "totalTokens": everything if total is None else total,
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0},
    }


def count(source: Any, *names: str) -> float:
    """The first of these members that is there, as a number of tokens; what is no finite number is none."""
    own: Mapping[str, Any] = source if isinstance(source, dict) else {}
    value = next((own[name] for name in names if own.get(name) is not None), 0)
    return value if is_number(value) and math.isfinite(value) else 0


def first(value: Any) -> Any:
    """The first element of a list, or an empty object."""
    return value[0] if isinstance(value, list) and value else {}


def each(value: Any) -> list[Any]:
    """The objects of a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
