"""pi-ai-python: a Python port of a later Pi (1.x): its model layer, and the compaction of its durable agent.

Messages come in and go out through the port's own serialization.
"""

from __future__ import annotations

from typing import Any

from pi_ai.serialization import from_dict, message_from_dict, messages_from_list, to_dict
from pi_ai.types import Usage
from pi_ai.utils import estimate, overflow, retry, transcript
from pi_durable.harness.compaction import serialize_conversation

Json = dict[str, Any]

ABOUT = {"name": "pi-ai-python", "distribution": "pi-ai-python", "url": "https://github.com/nivalume/pi-py"}
KINDS: list[tuple[str, str]] = []


def of_context(params: Json) -> Json:
    found = estimate.estimate_context_tokens(messages_from_list(params["messages"]))
    return {
        "tokens": found.tokens,
        "usageTokens": found.usage_tokens,
        "trailingTokens": found.trailing_tokens,
        "lastUsageIndex": found.last_usage_index,
    }


def system_current(params: Json) -> Json:
    messages = messages_from_list(params["messages"])
    return {
        "message": to_dict(transcript.get_current_system_message(messages)),
        "prompt": transcript.get_current_system_prompt(messages),
    }


def is_overflow(params: Json) -> Json:
    return {"overflow": overflow.is_context_overflow(message_from_dict(params["message"]), params.get("contextWindow"))}


def is_recoverable_length(params: Json) -> Json:
    found = overflow.is_recoverable_length(message_from_dict(params["message"]), params["desiredMaxOutput"])
    return {"recoverable": found}


OPERATIONS = {
    "system/current": system_current,
    "tokens/from_usage": lambda p: {"tokens": estimate.calculate_context_tokens(from_dict(Usage, p["usage"]))},
    "tokens/of_message": lambda p: {"tokens": estimate.estimate_message_tokens(message_from_dict(p["message"]))},
    "tokens/of_context": of_context,
    "overflow/is_overflow": is_overflow,
    "overflow/is_recoverable_length": is_recoverable_length,
    "summary/serialize": lambda p: {"text": serialize_conversation(messages_from_list(p["messages"]))},
    "retry/is_retryable": lambda p: {"retryable": retry.is_retryable_assistant_error(message_from_dict(p["message"]))},
}
