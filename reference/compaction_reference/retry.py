"""Asking again after a failure that may pass (chapter SUM): which failures those are, how often, after what delay."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .ecma import MAX_SAFE_INTEGER, is_safe_integer, members, string, truthy
from .settings import merge
from .types import Json, Message

MAX_DELAY_MS = 60_000

# One character at most, not a line end; a character of two UTF-16 units is two.
_ANY = "[^\n\r\u2028\u2029\U00010000-\U0010ffff]?"

_PASSING = (
    *("429", "500", "502", "503", "504", "520", "524", f"connection{_ANY}error", f"connection{_ANY}lost"),
    *(f"connection{_ANY}refused", "currently experiencing high demand", "EAI_AGAIN", "ended without", "ENOTFOUND"),
    *("exceeded request buffer limit while retrying upstream", "fetch failed", "getaddrinfo"),
    *("http2 request did not get a response", f"internal{_ANY}error", f"network{_ANY}error", "other side closed"),
    *("overloaded", "please retry your request", f"provider{_ANY}returned{_ANY}error", f"rate{_ANY}limit"),
    *("reset before headers", "ResourceExhausted", "retry delay", f"server{_ANY}error", f"service{_ANY}unavailable"),
    *("socket connection was closed", "socket hang up", "stream ended before a terminal response event"),
    *("stream ended before message_stop", "terminated", "timed? out", "timeout", "too many requests"),
    *("try your request again", f"upstream{_ANY}connect", f"websocket{_ANY}closed", f"websocket{_ANY}error"),
    "you can retry your request",
)
_LASTING = (
    *("GoUsageLimitError", "FreeUsageLimitError", "Monthly usage limit reached", "available balance"),
    *("insufficient_quota", "out of budget", "quota exceeded", "billing"),
)
_PASSING_TEXT = re.compile("|".join(_PASSING), re.IGNORECASE | re.ASCII)
_LASTING_TEXT = re.compile("|".join(_LASTING), re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class Policy:
    """At most `max_retries` more calls; delays in milliseconds."""

    max_retries: float = 0
    base_delay_ms: float = 2000
    max_delay_ms: float = MAX_DELAY_MS


def policy_of(retry: Any) -> Policy:
    """The policy that retry settings stand for; absent or switched off means that nothing is repeated."""
    if retry is None or not truthy(members(retry).get("enabled")):
        return Policy()
    cap = retry.get("maxAgentDelayMs")
    return Policy(retry["maxRetries"], retry["baseDelayMs"], MAX_DELAY_MS if cap is None else cap)


def settings(global_settings: Any, project_settings: Any) -> Json:
    """`enabled`, `maxRetries`, `baseDelayMs`, `maxAgentDelayMs`: project over global, then defaults. Not checked."""
    own = section(global_settings, project_settings, "retry")
    defaults = {"enabled": True, "maxRetries": 3, "baseDelayMs": 2000, "maxAgentDelayMs": MAX_DELAY_MS}
    return {name: default if own.get(name) is None else own[name] for name, default in defaults.items()}


def section(global_settings: Any, project_settings: Any, name: str) -> Json:
    """One section of the merged settings; empty where it is no object."""
    both = (each if isinstance(each, dict) else {} for each in (global_settings, project_settings))
    own = merge(*both).get(name)
    return own if isinstance(own, dict) else {}


def is_retryable(message: Message) -> bool:
    """Whether a reply failed for a reason that may pass: its error text names one, and names no used up account."""
    own = members(message)
    if own.get("stopReason") != "error" or not truthy(own.get("errorMessage")):
        return False
    text = string(own["errorMessage"])
    return not _LASTING_TEXT.search(text) and bool(_PASSING_TEXT.search(text))


def delay_ms(policy: Policy, attempt: int) -> float:
    """Milliseconds to wait before the retry with this number (from 1): doubled each time, up to the policy's most."""
    delay = float(policy.base_delay_ms) * 2.0 ** min(attempt - 1, 1000)
    return min(delay if is_safe_integer(delay) else MAX_SAFE_INTEGER, policy.max_delay_ms)


def complete(call: Callable[[], Message], policy: Policy, wait: Callable[[int, float], bool]) -> Message:
    """The reply to a call that is repeated while it fails in passing. `wait(attempt, ms)` waits, and answers False
    when the user stopped it: then the failed reply counts as aborted. What `call` raises is never repeated."""
    attempt = 0
    while True:
        reply = call()
        if attempt >= policy.max_retries or not is_retryable(reply):
            return reply
        attempt += 1
        if not wait(attempt, delay_ms(policy, attempt)):
            return {name: value for name, value in reply.items() if name != "errorMessage"} | {"stopReason": "aborted"}
