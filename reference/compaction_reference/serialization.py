"""A conversation as one text (rules SUM-01 to SUM-18), so that the model that summarises it does not carry it on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .ecma import json_text, members, own_entries, string, string_of, utf16_length, utf16_slice
from .errors import malformed
from .messages import to_llm
from .system import content_text
from .types import Message

RESULT_UNITS = 2000


def serialize(messages: Sequence[Message]) -> str:
    """The messages in order, in the form that a model API takes, a blank line between parts. System messages and
    messages without text leave nothing. Nothing is escaped. Refuses content that is neither text nor blocks."""
    return "\n\n".join(part for message in to_llm(messages) for part in _parts(members(message)))


def _parts(own: Any) -> list[str]:
    role = own.get("role")
    if role == "user":
        said = content_text(own.get("content"), "")
        return [f"[User]: {said}"] if said else []
    if role == "assistant":
        return _assistant_parts(own.get("content"))
    if role == "toolResult":
        result = content_text(own.get("content"), "")
        return [f"[Tool result]: {_shortened(result)}"] if result else []
    return []


def _assistant_parts(content: Any) -> list[str]:
    """Thinking, then text, then calls, whatever the order of the blocks. An empty block counts as one."""
    blocks = blocks_of(content)
    thinking = [block.get("thinking") for block in blocks if block.get("type") == "thinking"]
    calls = [_call(block) for block in blocks if block.get("type") == "toolCall"]
    parts = []
    if thinking:
        thoughts = "\n".join("" if thought is None else string(thought) for thought in thinking)
        parts.append(f"[Assistant thinking]: {thoughts}")
    if any(block.get("type") == "text" for block in blocks):
        parts.append(f"[Assistant]: {content_text(content)}")
    if calls:
        parts.append(f"[Assistant tool calls]: {'; '.join(calls)}")
    return parts


def _call(block: Any) -> str:
    """`name(path="a", limit=5)`: the arguments in JavaScript's order, each value as compact JSON."""
    given = block.get("arguments")
    if given is None:
        raise malformed("a tool call without arguments")
    arguments = own_entries(given) if isinstance(given, (dict, list, str)) else []
    return f"{string_of(block, 'name')}({', '.join(f'{name}={json_text(value)}' for name, value in arguments)})"


def _shortened(text: str) -> str:
    """At most the first 2000 units, and how many are missing. A cut through a pair leaves half of it, as Pi does."""
    missing = utf16_length(text) - RESULT_UNITS
    if missing <= 0:
        return text
    return f"{utf16_slice(text, 0, RESULT_UNITS)}\n\n[... {missing} more characters truncated]"


def blocks_of(content: Any) -> list[Any]:
    """The blocks of a list of content. Refuses what is no list, and `null` among the blocks."""
    if not isinstance(content, list):
        raise malformed("content that is no list of blocks")
    return [members(block) for block in content]


def calls_a_tool(content: Any) -> bool:
    """Whether a reply has a tool call among its blocks."""
    return any(block.get("type") == "toolCall" for block in blocks_of(content))
