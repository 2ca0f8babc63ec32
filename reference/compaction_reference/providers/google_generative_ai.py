"""Gemini, and Vertex, which answers in the same shapes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from ..ecma import json_text, string, string_of, trim, truthy
from .connection import Answer
from .events import events, json_of
from .failure import Failed, TransportWords, member, parsed
from .reply import TEXT, THINKING, Reply, count, each, first, usage
from .target import QUESTION, Request, Target

WORDS = TransportWords("fetch failed", "fetch failed")
UNFINISHED = "Google stream ended without a finish reason"
_STOPS = {"STOP": "stop", "MAX_TOKENS": "length"}
_WITHHELD = (
    *("BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "SAFETY", "RECITATION", "LANGUAGE", "OTHER", "NO_IMAGE"),
    *("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "IMAGE_OTHER", "FINISH_REASON_UNSPECIFIED"),
    *("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"),
)


def request(target: Target) -> Request:
    path = f"/models/{quote(target.model, safe='')}:streamGenerateContent?alt=sse"
    body = {"contents": [{"role": "user", "parts": [{"text": QUESTION}]}]}
    return Request(path, body, {"x-goog-api-key": target.key})


def refusal(answer: Answer, target: Target) -> str:
    """The body alone, without the status; text is put into the envelope of Google's errors. (RSP-14, RSP-19, RSP-21)"""
    text = answer.text()
    if "application/json" in answer.headers.get("content-type", ""):
        return json_text(json_of(text))
    return json_text({"error": {"message": text, "code": answer.status, "status": answer.phrase}})


def read(answer: Answer, reply: Reply) -> None:
    for event in events(_checked(answer.chunks())):
        text = trim("\n".join(event.lines))
        if not event.finished and text:
            raise Failed("Incomplete JSON segment at the end")
        if text.startswith("data:"):
            _read_chunk(json_of(trim(text.removeprefix("data:"))), reply)


def _checked(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """An error that fills a whole piece of the stream ends it; one inside an event does not. (RSP-35)"""
    for chunk in chunks:
        value = parsed(chunk.decode("utf-8", "replace")) if chunk.lstrip()[:1] == b"{" else None
        error = member(value, "error")
        if isinstance(error, dict) and 400 <= count(error, "code") < 600:
            raise Failed(f"got status: {string_of(error, 'status')}. {json_text(value)}")
        yield chunk


def _read_chunk(chunk: Any, reply: Reply) -> None:
    candidate = first(member(chunk, "candidates"))
    for part in each(member(candidate, "content", "parts")):
        _read_part(part, reply)
    if truthy(reason := member(candidate, "finishReason")):
        _read_stop(string(reason), reply)
    if truthy(spent := member(chunk, "usageMetadata")):
        cached = count(spent, "cachedContentTokenCount")
        output = count(spent, "candidatesTokenCount") + count(spent, "thoughtsTokenCount")
        fresh = count(spent, "promptTokenCount") - cached
        reply.usage = usage(fresh, output, cached, 0, count(spent, "totalTokenCount"))


def _read_part(part: Any, reply: Reply) -> None:
    if "text" in part:
        reply.extend(THINKING if part.get("thought") is True else TEXT, part["text"])
    if truthy(call := part.get("functionCall")):
        reply.add_call(member(call, "name") or "", member(call, "id"), json_text(member(call, "args") or {}))


def _read_stop(reason: str, reply: Reply) -> None:
    if reason in _WITHHELD:
        reply.stop("error", f"Provider stopped with: {reason}")
    elif reason in _STOPS:
        stop = _STOPS[reason]
        reply.stop("toolUse" if stop == "stop" and reply.has_call() else stop)
    else:
        raise Failed(f"Unhandled stop reason: {reason}")
