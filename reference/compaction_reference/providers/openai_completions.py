"""OpenAI chat completions, and the many servers that copy them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..ecma import json_text, string, truthy
from .connection import Answer, Lost
from .events import events, json_of
from .failure import Failed, TransportWords, member, parsed, shortened, told, with_status
from .reply import CALL, TEXT, THINKING, Reply, count, each, first, usage
from .target import QUESTION, Request, Target

WORDS = TransportWords("Connection error.", "Request timed out.")
UNFINISHED = "Stream ended without finish_reason"
_STOPS = {"stop": "stop", "end": "stop", "length": "length", "function_call": "toolUse", "tool_calls": "toolUse"}
_REASONING = ("reasoning_content", "reasoning", "reasoning_text")


def request(target: Target) -> Request:
    body = {
        "model": target.model,
        "messages": [{"role": "user", "content": QUESTION}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    return Request("/chat/completions", body, {"authorization": f"Bearer {target.key}"})


def refusal(answer: Answer, target: Target) -> str:
    words, body, error = sdk_refusal(answer)
    return with_raw(f"{answer.status}: {body}" if body else words, error)


def sdk_refusal(answer: Answer) -> tuple[str, str, Any]:
    """What OpenAI's library keeps of an error status: words, the JSON of the error object (empty where the words hold
    it already, or where it is none), and the error. All of a body but its member `error` is lost.
    (RSP-10, RSP-17, RSP-18, RSP-20, RSP-22, RSP-23, RSP-43)"""
    try:
        text = answer.text()
    except Lost:
        text = WORDS.dropped
    value = parsed(text)
    error = member(value, "error")
    words = with_status(answer.status, told(error, "" if truthy(value) else text))
    body = shortened(json_text(error)) if isinstance(error, dict) and error else ""
    return words, "" if body in words else body, error


def with_raw(words: str, error: Any) -> str:
    """OpenRouter hands on what the provider behind it said; what the words hold is not repeated. (RSP-24)"""
    raw = member(error, "metadata", "raw")
    return f"{words}\n{string(raw)}" if truthy(raw) and string(raw) not in words else words


def sdk_data(answer: Answer) -> Iterator[Any]:
    """The values of a stream. An event that holds an error ends it; one that is not finished is dropped.
    (RSP-30, RSP-31, RSP-39)"""
    done = False
    for event in events(answer.chunks()):
        done = done or (event.data or "").startswith("[DONE]")
        if done or not event.finished or (event.data is None and not event.name):
            continue
        value = json_of(event.data or "")
        if truthy(error := member(value, "error")):
            raise StreamError(error)
        yield value


class StreamError(Failed):
    """An error that came inside a stream."""

    def __init__(self, error: Any) -> None:
        super().__init__(told(error))
        self.error = error


def read(answer: Answer, reply: Reply) -> None:
    try:
        for chunk in sdk_data(answer):
            _read_chunk(chunk, reply)
    except StreamError as failed:
        raise Failed(with_raw(failed.text, failed.error)) from None


def _read_chunk(chunk: Any, reply: Reply) -> None:
    choice = first(member(chunk, "choices"))
    if truthy(spent := member(chunk, "usage") or member(choice, "usage")):
        reply.usage = _usage(spent)
    if truthy(reason := member(choice, "finish_reason")):
        known = _STOPS.get(string(reason))
        reply.stop(known or "error", "" if known else f"Provider finish_reason: {string(reason)}")
    delta = member(choice, "delta")
    if truthy(content := member(delta, "content")):
        reply.add(TEXT, TEXT, content)
    if thought := next((text for name in _REASONING if (text := member(delta, name)) and isinstance(text, str)), ""):
        reply.add(THINKING, THINKING, thought)
    for call in each(member(delta, "tool_calls")):
        name = member(call, "function", "name") or ""
        key = call.get("index") if call.get("index") is not None else call.get("id")
        reply.add((CALL, string(key)), CALL, member(call, "function", "arguments"), id=call.get("id") or "", name=name)


def _usage(spent: Any) -> Any:
    """Cached tokens are part of the prompt's, and are told in three places. (RSP-04)"""
    details = member(spent, "prompt_tokens_details")
    has_details = member(details, "cached_tokens") is not None
    read = count(details, "cached_tokens") if has_details else count(spent, "prompt_cache_hit_tokens", "cached_tokens")
    write = count(details, "cache_write_tokens")
    fresh = max(0, count(spent, "prompt_tokens") - read - write)
    return usage(fresh, count(spent, "completion_tokens"), read, write)
