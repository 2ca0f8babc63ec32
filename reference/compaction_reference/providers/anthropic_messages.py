"""Anthropic messages."""

from __future__ import annotations

from typing import Any

from ..ecma import string, truthy
from .connection import Answer, Lost
from .events import Event, events, json_of
from .failure import Failed, TransportWords, member, parsed, told, with_status
from .reply import CALL, TEXT, THINKING, Reply, count, usage
from .target import MAX_OUTPUT, QUESTION, Request, Target

WORDS = TransportWords("Connection error.", "Request timed out.")
UNFINISHED = "Anthropic stream ended without a stop reason"
_UNENDED = "Anthropic stream ended before message_stop"
_REFUSED = "The model refused to complete the request"
_EVENTS = ("message_start", "message_delta", "message_stop")
_BLOCK_EVENTS = ("content_block_start", "content_block_delta", "content_block_stop")
_STOPS = {
    "end_turn": "stop",
    "pause_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "tool_use": "toolUse",
}
_KINDS = {"text": TEXT, "thinking": THINKING, "tool_use": CALL}
_DELTAS = {
    "text_delta": (TEXT, "text"),
    "thinking_delta": (THINKING, "thinking"),
    "input_json_delta": (CALL, "partial_json"),
}
_COUNTS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def request(target: Target) -> Request:
    body = {
        "model": target.model,
        "max_tokens": MAX_OUTPUT,
        "messages": [{"role": "user", "content": QUESTION}],
        "stream": True,
    }
    return Request("/v1/messages", body, {"x-api-key": target.key, "anthropic-version": "2023-06-01"})


def refusal(answer: Answer, target: Target) -> str:
    """The whole body is kept, whatever its shape; of one with a member `message` that member. (RSP-12, RSP-13)"""
    try:
        text = answer.text()
    except Lost:
        text = WORDS.dropped
    value = parsed(text)
    return with_status(answer.status, told(value, "" if truthy(value) else text))


def read(answer: Answer, reply: Reply) -> None:
    """(RSP-33, RSP-37)"""
    spent: dict[str, float] = dict.fromkeys(_COUNTS, 0)
    started = ended = False
    for event in events(answer.chunks()):
        if event.name == "error":
            raise Failed(event.data or "")
        if event.name not in (*_EVENTS, *_BLOCK_EVENTS):
            continue
        value = _value(event)
        kind = member(value, "type")
        started, ended = started or kind == "message_start", ended or kind == "message_stop"
        if kind == "message_start":
            spent |= _counted(member(value, "message", "usage"))
        elif kind == "message_delta":
            spent |= _counted(member(value, "usage"))
            _read_stop(member(value, "delta"), reply)
        elif kind in _BLOCK_EVENTS:
            _read_block(value, reply)
        reply.usage = usage(*spent.values())
    if started and not ended:
        raise Failed(_UNENDED)


def _value(event: Event) -> Any:
    try:
        return json_of(event.data or "")
    except Failed as failed:
        raw = "\\n".join(event.lines)
        words = f"Could not parse Anthropic SSE event {event.name}: {failed.text}"
        raise Failed(f"{words}; data={event.data or ''}; raw={raw}") from None


def _counted(spent: Any) -> dict[str, float]:
    """The counts that are told; the others stay as they are. Input does not include what came from a cache. (RSP-04)"""
    return {name: count(spent, name) for name in _COUNTS if member(spent, name) is not None}


def _read_stop(delta: Any, reply: Reply) -> None:
    """(RSP-05, RSP-06)"""
    reason = member(delta, "stop_reason")
    if not truthy(reason):
        return
    if string(reason) in _STOPS:
        reply.stop(_STOPS[string(reason)])
    elif reason == "refusal":
        reply.stop("error", string(member(delta, "stop_details", "explanation") or _REFUSED))
    elif reason == "sensitive":
        reply.stop("error", "Provider stopped with: sensitive")
    else:
        raise Failed(f"Unhandled stop reason: {string(reason)}")


def _read_block(value: Any, reply: Reply) -> None:
    key, block, delta = string(value.get("index")), value.get("content_block"), value.get("delta")
    if kind := _KINDS.get(string(member(block, "type"))):
        name = kind if kind != CALL else ""
        reply.add(key, kind, member(block, name), id=member(block, "id"), name=member(block, "name"))
    elif made := _DELTAS.get(string(member(delta, "type"))):
        reply.append(key, made[0], member(delta, made[1]))
