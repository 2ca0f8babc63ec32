"""What an implementation says of error texts: is it an overflow, would the same request be made again?"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from compaction_conformance.expectation import Reply, Result
from compaction_conformance.implementation import Implementation, Request
from compaction_conformance.terminal import shown

IS_OVERFLOW = "overflow/is_overflow"
CLASSIFY_TEXT = "overflow/classify_text"
IS_RETRYABLE = "retry/is_retryable"
_COST = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}
_USAGE = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0, "cost": _COST}


@dataclass(frozen=True)
class ErrorText:
    """A failed request as it was stored. `status` and the numbers of tokens are None where they are not known."""

    text: str
    provider: str = ""
    api: str = ""
    status: int | None = None
    context_window: int | None = None
    max_output_tokens: int | None = None

    def message(self) -> dict[str, Any]:
        """The assistant message that an agent stores for it."""
        return {
            "role": "assistant",
            "content": [],
            "api": self.api or "openai-completions",
            "provider": self.provider,
            "model": "test-model",
            "usage": _USAGE,
            "stopReason": "error",
            "errorMessage": self.text,
            "timestamp": 0,
        }

    def params(self) -> dict[str, Any]:
        """The params of `overflow/classify_text`."""
        known = {
            "errorMessage": self.text,
            "status": self.status,
            "api": self.api or None,
            "provider": self.provider or None,
            "contextWindow": self.context_window,
            "maxOutputTokens": self.max_output_tokens,
        }
        return {name: value for name, value in known.items() if value is not None}


@dataclass(frozen=True)
class Told:
    """An answer, or in `trouble` the words for why there is none."""

    value: bool | None
    because: str = ""
    trouble: str = ""


def overflows(side: Implementation, texts: Sequence[ErrorText]) -> list[Told]:
    """`overflow/is_overflow` for every text."""
    return _ask(side, IS_OVERFLOW, "overflow", (_message_params(text) for text in texts), len(texts))


def classified(side: Implementation, texts: Sequence[ErrorText]) -> list[Told]:
    """`overflow/classify_text` for every text."""
    return _ask(side, CLASSIFY_TEXT, "overflow", (text.params() for text in texts), len(texts))


def retried(side: Implementation, texts: Sequence[ErrorText]) -> list[Told]:
    """`retry/is_retryable` for every text."""
    return _ask(side, IS_RETRYABLE, "retryable", ({"message": text.message()} for text in texts), len(texts))


def _message_params(text: ErrorText) -> dict[str, Any]:
    params: dict[str, Any] = {"message": text.message()}
    return params if text.context_window is None else {**params, "contextWindow": text.context_window}


def _ask(side: Implementation, method: str, member: str, params: Iterable[dict[str, Any]], count: int) -> list[Told]:
    if method not in side.description.operations:
        return [Told(None, trouble=f"does not serve {method}")] * count
    requests = [Request(method, json.dumps(each)) for each in params]
    return [_told(reply, member) for reply in side.answers(requests)]


def _told(reply: Reply, member: str) -> Told:
    value = reply.value if isinstance(reply, Result) else None
    if isinstance(value, dict) and isinstance(value.get(member), bool):
        because = value.get("because")
        return Told(value[member], because if isinstance(because, str) else "")
    return Told(None, trouble=f"no verdict: {shown(reply.shown())}")
