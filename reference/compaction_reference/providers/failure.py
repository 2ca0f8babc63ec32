"""The words of failures. They matter: an overflow is told by the text that is stored with the message."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..ecma import json_text, parse_json, trim, truthy, utf16_length, utf16_slice

MAX_BODY_UNITS = 4000


class Failed(Exception):
    """The reply ends in an error; `text` is what the message says of it."""

    def __init__(self, text: str, stop_reason: str = "error") -> None:
        super().__init__(text)
        self.text, self.stop_reason = text, stop_reason


@dataclass(frozen=True, slots=True)
class TransportWords:
    """What a client says when there is no response (dropped, or silent until the time limit), and when a body breaks
    off (dropped, or silent). `silence_aborts`: it has no time limit, and whoever waits gives up. (RSP-40 to RSP-44)"""

    no_response: str
    no_answer: str
    dropped: str = "terminated"
    silent: str = "terminated"
    silence_aborts: bool = False


def parsed(text: str) -> Any:
    """The value of a JSON text, `None` for any other text."""
    try:
        return parse_json(text)
    except (ValueError, RecursionError):
        return None


def member(value: Any, *names: str) -> Any:
    """A member of a member, or `None` where there is none on the way."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def shortened(text: str) -> str:
    """Trimmed, and cut to the length that is kept of a body. (RSP-23)"""
    text = trim(text)
    rest = utf16_length(text) - MAX_BODY_UNITS
    return f"{utf16_slice(text, 0, MAX_BODY_UNITS)}... [truncated {rest} chars]" if rest > 0 else text


def told(error: Any, text: str = "") -> str:
    """The message of an error value; without one the value as JSON; without a value the text."""
    message = member(error, "message")
    if truthy(message):
        return message if isinstance(message, str) else json_text(message)
    return json_text(error) if truthy(error) else text


def with_status(status: int, words: str) -> str:
    """(RSP-18, RSP-20)"""
    return f"{status} {words}" if words else f"{status} status code (no body)"
