"""Mistral chat completions."""

from __future__ import annotations

from typing import Any

from ..ecma import string, trim, truthy
from .connection import Answer
from .events import events, json_of
from .failure import Failed, TransportWords, member, shortened
from .reply import CALL, TEXT, THINKING, Reply, count, each, first, usage
from .target import QUESTION, Request, Target

_OUT_OF_TIME = "The operation was aborted due to timeout"
WORDS = TransportWords("fetch failed", _OUT_OF_TIME, silent=_OUT_OF_TIME)
UNFINISHED = "Mistral stream ended without a finish reason"
_STOPS = {"stop": "stop", "length": "length", "model_length": "length", "tool_calls": "toolUse"}


def request(target: Target) -> Request:
    """The time limit is one for the whole exchange. (RSP-41)"""
    body = {"model": target.model, "messages": [{"role": "user", "content": QUESTION}], "stream": True}
    headers = {"authorization": f"Bearer {target.key}", "accept": "text/event-stream"}
    return Request("/v1/chat/completions", body, headers, whole_seconds=target.timeout)


def refusal(answer: Answer, target: Target) -> str:
    """The body as it came; without one the phrase of the status line. (RSP-15, RSP-21)"""
    phrase = answer.phrase or f"Request failed with status {answer.status}"
    return f"Mistral API error ({answer.status}): {shortened(answer.text()) or phrase}"


def read(answer: Answer, reply: Reply) -> None:
    """(RSP-36)"""
    for event in events(answer.chunks()):
        data = trim("\n".join(line[5:].lstrip() for line in event.lines if line.startswith("data:")))
        if data == "[DONE]":
            return
        if not data:
            continue
        chunk = json_of(data)
        if not isinstance(member(chunk, "choices"), list):
            raise Failed("Invalid Mistral streaming event")
        _read_chunk(chunk, reply)


def _read_chunk(chunk: Any, reply: Reply) -> None:
    if truthy(spent := chunk.get("usage")):
        reply.usage = _usage(spent)
    choice = first(chunk["choices"])
    if truthy(reason := member(choice, "finish_reason")):
        known = _STOPS.get(string(reason))
        reply.stop(known or "error", "" if known else f"Provider stopped with: {string(reason)}")
    content = member(choice, "delta", "content")
    for item in content if isinstance(content, list) else [content]:
        _read_content(item, reply)
    for call in each(member(choice, "delta", "tool_calls")):
        key = call.get("index") if call.get("index") is not None else call.get("id")
        name, arguments = member(call, "function", "name") or "", member(call, "function", "arguments")
        reply.add((CALL, string(key)), CALL, arguments, id=call.get("id") or "", name=name)


def _read_content(item: Any, reply: Reply) -> None:
    if isinstance(item, str):
        reply.extend(TEXT, item)
    elif member(item, "type") == "text":
        reply.extend(TEXT, item.get("text"))
    elif member(item, "type") == "thinking":
        thought = "".join(string(part.get("text", "")) for part in each(item.get("thinking")))
        if thought:
            reply.extend(THINKING, thought)


def _usage(spent: Any) -> Any:
    prompt = count(spent, "prompt_tokens")
    details = member(spent, "prompt_tokens_details") or member(spent, "prompt_token_details")
    cached = min(prompt, max(0, count(details, "cached_tokens") or count(spent, "num_cached_tokens")))
    return usage(prompt - cached, count(spent, "completion_tokens"), cached, 0, count(spent, "total_tokens") or None)
