"""OpenAI responses."""

from __future__ import annotations

from typing import Any

from ..ecma import string, string_of, truthy
from .connection import Answer
from .failure import Failed, TransportWords, member
from .openai_completions import sdk_data, sdk_refusal
from .reply import CALL, TEXT, THINKING, Reply, count, each, usage
from .target import QUESTION, Request, Target

WORDS = TransportWords("Connection error.", "Request timed out.")
UNFINISHED = "OpenAI Responses stream ended before a terminal response event"
_DELTAS = {
    "response.output_text.delta": TEXT,
    "response.refusal.delta": TEXT,
    "response.reasoning_summary_text.delta": THINKING,
    "response.reasoning_text.delta": THINKING,
    "response.function_call_arguments.delta": CALL,
}
_KINDS = {"message": TEXT, "reasoning": THINKING, "function_call": CALL}


def request(target: Target) -> Request:
    content = [{"type": "input_text", "text": QUESTION}]
    body = {"model": target.model, "input": [{"role": "user", "content": content}], "stream": True, "store": False}
    return Request("/responses", body, {"authorization": f"Bearer {target.key}"})


def refusal(answer: Answer, target: Target) -> str:
    """(RSP-11)"""
    words, body, _ = sdk_refusal(answer)
    name = "OpenAI" if target.provider == "openai" else target.provider
    return f"{name} API error ({answer.status}): {body or words}"


def read(answer: Answer, reply: Reply) -> None:
    for event in sdk_data(answer):
        _read_event(event, reply)


def _read_event(event: Any, reply: Reply) -> None:
    kind, key, item = member(event, "type"), string(member(event, "output_index")), member(event, "item")
    if not isinstance(kind, str):
        return
    if kind == "response.output_item.added" and (made := _KINDS.get(string(member(item, "type")))):
        call_id = f"{string_of(item, 'call_id')}|{string_of(item, 'id')}"
        reply.add(key, made, member(item, "arguments"), id=call_id, name=member(item, "name"))
    elif kind in _DELTAS:
        reply.append(key, _DELTAS[kind], member(event, "delta"))
    elif kind == "response.output_item.done":
        _read_done(item, key, reply)
    elif kind in ("response.completed", "response.incomplete"):
        _read_end(member(event, "response"), reply)
    elif kind == "response.failed":
        raise Failed(_failure(member(event, "response")))
    elif kind == "error":
        raise Failed(f"Error Code {string_of(event, 'code')}: {string_of(event, 'message')}")


def _read_done(item: Any, key: str, reply: Reply) -> None:
    """A finished item holds its whole content once more."""
    if member(item, "type") == "message":
        parts = each(member(item, "content"))
        reply.replace(key, "".join(string(part.get("text", part.get("refusal", ""))) for part in parts))
    elif member(item, "type") == "function_call" and isinstance(member(item, "arguments"), str):
        reply.replace(key, item["arguments"])


def _read_end(response: Any, reply: Reply) -> None:
    """(RSP-01, RSP-02, RSP-04, RSP-05)"""
    if truthy(spent := member(response, "usage")):
        details = member(spent, "input_tokens_details")
        read, write = count(details, "cached_tokens"), count(details, "cache_write_tokens")
        fresh = max(0, count(spent, "input_tokens") - read - write)
        reply.usage = usage(fresh, count(spent, "output_tokens"), read, write, count(spent, "total_tokens"))
    status, reason = member(response, "status"), member(response, "incomplete_details", "reason")
    if status == "incomplete" and reason == "max_output_tokens":
        reply.stop("length")
    elif status == "incomplete":
        why = f": {reason}" if isinstance(reason, str) and reason else " without a provider reason"
        reply.stop("error", f"Response incomplete{why}")
    elif status in ("failed", "cancelled"):
        reply.stop("error")
    elif not truthy(status) or status in ("completed", "in_progress", "queued"):
        reply.stop("toolUse" if reply.has_call() else "stop")
    else:
        raise Failed(f"Unhandled stop reason: {string(status)}")


def _failure(response: Any) -> str:
    """(RSP-32)"""
    error, reason = member(response, "error"), member(response, "incomplete_details", "reason")
    if truthy(error):
        return f"{string(member(error, 'code') or 'unknown')}: {string(member(error, 'message') or 'no message')}"
    return f"incomplete: {string(reason)}" if truthy(reason) else "Unknown error (no error details in response)"
