"""Amazon Bedrock Converse: errors are named, streams are binary."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

from ..ecma import json_text, string, truthy
from .binary_stream import Frame, frames
from .connection import Answer, Lost
from .events import json_of
from .failure import Failed, TransportWords, member, shortened
from .reply import CALL, TEXT, THINKING, Reply, count, usage
from .target import MAX_OUTPUT, QUESTION, Request, Target

WORDS = TransportWords("socket hang up", "Request aborted", "aborted", "aborted", silence_aborts=True)
UNFINISHED = "Bedrock stream ended without a stop reason"
_HINT = "\n  Deserialization error: to see the raw response, inspect the hidden field {error}.$response on this object."
_DOCS = "https://docs.aws.amazon.com/bedrock/latest/userguide/data-retention.html"
_RETENTION = f" See {_DOCS} for supported data retention modes."
_PREFIXES = {
    "InternalServerException": "Internal server error",
    "ModelStreamErrorException": "Model stream error",
    "ValidationException": "Validation error",
    "ThrottlingException": "Throttling error",
    "ServiceUnavailableException": "Service unavailable",
}
_STOPS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "toolUse",
}


def request(target: Target) -> Request:
    body = {
        "messages": [{"role": "user", "content": [{"text": QUESTION}]}],
        "inferenceConfig": {"maxTokens": MAX_OUTPUT},
    }
    path = f"/model/{quote(target.model, safe='')}/converse-stream"
    return Request(path, body, {"authorization": f"Bearer {target.key}"})


def refusal(answer: Answer, target: Target) -> str:
    """`<kind of error>: <message>`; a body that is no JSON loses the status and the kind. (RSP-16, RSP-26)"""
    try:
        text = b"".join(answer.chunks()).decode("utf-8", "replace")
        value = json_of(text) if text else {}
    except Failed as failed:
        raise Failed(failed.text + _HINT) from None
    except Lost as lost:
        raise _lost(lost) from None
    kind = _kind(answer, value)
    return _named(kind, _message(value, "UnknownError"), _other_body(answer.status, value))


def _kind(answer: Answer, value: Any) -> str:
    """The header names the error, or a member of the body does."""
    names = [name for name in value if name.lower() == "code"] if isinstance(value, dict) else []
    told = member(value, *names[:1] or ["__type"])
    named = answer.headers.get("x-amzn-errortype") or ("Unknown" if told is None else told)
    return re.split("[,:]", string(named))[0].rpartition("#")[2]


def _message(value: Any, otherwise: str) -> str:
    return string(next((item for name in ("message", "Message") if truthy(item := member(value, name))), otherwise))


def _other_body(status: int, value: Any) -> str:
    """A gateway's error object stands in for the message. (RSP-25)"""
    body, error = member(value, "body"), member(value, "error")
    if not isinstance(body, str):
        body = json_text(error) if isinstance(error, dict) and error else ""
    return f"{status}: {shortened(body)}" if body else ""


def _named(kind: str, message: str, other: str = "") -> str:
    words = message if not other or other.partition(": ")[2] in message else other
    hint = _RETENTION if re.search("data retention mode", words, re.IGNORECASE) else ""
    return f"{_PREFIXES.get(kind, kind)}: {words}{hint}"


def read(answer: Answer, reply: Reply) -> None:
    """What goes wrong with the first message of the stream has a hint added. (RSP-26)"""
    started = False
    try:
        for frame in frames(answer.chunks()):
            kind, value = _event(frame)
            started = True
            _read_event(kind, value, reply)
    except Failed as failed:
        if started or isinstance(failed, _Named):
            raise
        raise Failed(failed.text + _HINT) from None
    except Lost as lost:
        if started:
            raise
        raise _lost(lost) from None


def _lost(lost: Lost) -> Failed:
    return Failed(WORDS.dropped + _HINT, "aborted" if lost.silent else "error")


class _Named(Failed):
    """A failure that Bedrock itself tells of."""


def _event(frame: Frame) -> tuple[str, Any]:
    """The type of a message and its value. An exception is raised. (RSP-34)"""
    kind = frame.headers.get(":message-type")
    if kind == "error":
        raise Failed(frame.headers.get(":error-message") or "UnknownError")
    if kind == "exception":
        name = frame.headers.get(":exception-type", "")
        title = name[:1].upper() + name[1:]
        if title not in _PREFIXES:
            raise Failed(frame.text())
        raise _Named(_named(title, _message(json_of(frame.text() or "{}"), "Unknown")))
    return frame.headers.get(":event-type", ""), json_of(frame.text() or "{}")


def _read_event(kind: str, value: Any, reply: Reply) -> None:
    key = string(member(value, "contentBlockIndex"))
    if kind == "contentBlockStart" and truthy(call := member(value, "start", "toolUse")):
        reply.add(key, CALL, id=member(call, "toolUseId") or "", name=member(call, "name") or "")
    elif kind == "contentBlockDelta":
        _read_delta(key, member(value, "delta"), reply)
    elif kind == "messageStop":
        reason = member(value, "stopReason")
        known = _STOPS.get(string(reason))
        unknown = f"Provider stopped with: {string(reason)}" if truthy(reason) else ""
        reply.stop(known or "error", "" if known else unknown)
    elif kind == "metadata" and truthy(spent := member(value, "usage")):
        fresh, output = count(spent, "inputTokens"), count(spent, "outputTokens")
        total = count(spent, "totalTokens") or fresh + output
        cached, written = count(spent, "cacheReadInputTokens"), count(spent, "cacheWriteInputTokens")
        reply.usage = usage(fresh, output, cached, written, total)


def _read_delta(key: str, delta: Any, reply: Reply) -> None:
    if (text := member(delta, "text")) is not None:
        reply.add(key, TEXT, text)
    elif truthy(call := member(delta, "toolUse")):
        reply.append(key, CALL, member(call, "input"))
    elif truthy(thought := member(delta, "reasoningContent")):
        reply.add(key, THINKING, member(thought, "text"))
