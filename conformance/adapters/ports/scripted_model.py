"""The scripted model of spec/protocol.md: it plays replies, and keeps what it was asked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

Json = dict[str, Any]


class Thrown(Exception):
    """A call of the model that broke. A port that lets it through is told from one that makes an error of its own."""


class Script:
    """`requests` and `retries` of a result, as they come about."""

    def __init__(self, params: Json) -> None:
        self.params = params
        self.requests: list[Json] = []
        self.retries: list[Json] = []

    def reply(self, request: Json) -> Any:
        """The next reply, as JSON. The request is one of the protocol's, its members absent where they are None."""
        required = ("maxTokens", "cacheRetention", "routingId")
        self.requests.append({k: v for k, v in request.items() if v is not None or k in required})
        replies = self.params["replies"]
        if len(self.requests) > len(replies):
            raise Thrown("the script holds no reply for this request")
        reply = replies[len(self.requests) - 1]
        if isinstance(reply, dict) and "throws" in reply:
            raise Thrown(reply["throws"])
        return reply

    def waits(self, attempt: int, delay_ms: float) -> bool:
        """Notes a wait before a retry; tells whether the user stops the operation during it."""
        self.retries.append({"request": len(self.requests) - 1, "attempt": attempt, "delayMs": delay_ms})
        return len(self.retries) == self.params.get("abortDuringWait")


async def played(
    params: Json, use: Callable[[Script], Awaitable[Json]], failure: Callable[[Exception], Json | None]
) -> Json:
    """The result of `summary/compact` or `branch/summarize`. `failure` tells what outcome a port's error stands for."""
    script = Script(params)
    sleep = asyncio.sleep
    asyncio.sleep = lambda _seconds, result=None: sleep(0, result)  # type: ignore[assignment]  # nothing is really waited
    try:
        outcome = await use(script)
    except Thrown as thrown:
        outcome = {"error": {"kind": "thrown", "message": str(thrown)}}
    except Exception as error:
        told = failure(error)
        if told is None:
            raise
        outcome = told
    finally:
        asyncio.sleep = sleep
    return {"requests": script.requests, "retries": script.retries, "outcome": outcome}


def failed(message: str, kind: str = "failed") -> Json:
    return {"error": {"kind": kind, "message": message or kind}}
