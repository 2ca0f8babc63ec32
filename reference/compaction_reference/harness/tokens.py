"""How large a context is (chapter HCO): as chapter TOK says, but system messages weigh nothing and a tool call without
arguments has a weight. A usage counts however old it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import tokens
from ..ecma import members
from ..types import Json, Message

_ABSENT_ARGUMENTS = "undefined"  # what the text of absent arguments reads


def of_message(message: Message) -> float:
    """Estimated tokens of one message; 0 for a system message and for an unknown role."""
    own = members(message)
    if own.get("role") == "system":
        return 0
    if own.get("role") == "assistant" and isinstance(own.get("content"), list):
        own = {**own, "content": [_with_arguments(members(block)) for block in own["content"]]}
    return tokens.of_message(own)


def of_context(messages: Sequence[Message]) -> Json:
    """`tokens`, `usageTokens`, `trailingTokens` and `lastUsageIndex`, as in chapter TOK."""
    for index in range(len(messages) - 1, -1, -1):
        usage = tokens.usable_usage(messages[index])
        if usage is not None:
            return tokens.counts(tokens.from_usage(usage), sum(map(of_message, messages[index + 1 :])), index)
    return tokens.counts(0, sum(map(of_message, messages)), None)


def _with_arguments(block: Any) -> Json:
    """JSON has no word for absent; a name as much longer does instead."""
    if block.get("type") != "toolCall" or "arguments" in block or not isinstance(block.get("name"), str):
        return dict(block)
    name = block["name"] + _ABSENT_ARGUMENTS[2:]
    return {**block, "name": name, "arguments": {}}  # the braces are the two units left
