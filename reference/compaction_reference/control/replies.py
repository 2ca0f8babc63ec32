"""What the words of a scenario stand for (`spec/scenarios.md`): models, tools, scripted replies."""

from __future__ import annotations

from typing import Any

from ..ecma import pick
from ..types import Json, Message
from .surroundings import Model


def model_of(raw: Any) -> Model:
    """One of the scenario's models."""
    return Model(raw["provider"], raw["id"], raw["contextWindow"], raw["maxTokens"], raw.get("reasoning", False))


def thinking_level_of(model: Model | None, wanted: str) -> str:
    """The level asked for, of a model that reasons; `off` of any other."""
    return wanted if model is not None and model.reasoning else "off"


def declaration_of(name: str) -> Json:
    """How a scripted tool is declared to the model; its size counts."""
    parameters = {"type": "object", "properties": {}}
    return {"name": name, "description": name, "parameters": parameters}


def message_of(reply: Any, model: Model, now: int, aborted: bool) -> Message:
    """The assistant message that a scripted reply stands for."""
    content: list[Json] = []
    if "thinking" in reply:
        content.append({"type": "thinking", "thinking": reply["thinking"]})
    if "text" in reply:
        content.append({"type": "text", "text": reply["text"]})
    for call in reply.get("calls", []):
        content.append({"type": "toolCall", "arguments": {}} | pick(call, "id", "name", "arguments"))
    stop_reason = "error" if "error" in reply else reply.get("stopReason", "toolUse" if "calls" in reply else "stop")
    error = "aborted" if aborted else reply.get("error")
    source = reply.get("from", {})
    return {
        "role": "assistant",
        "content": content,
        "provider": source.get("provider", model.provider),
        "model": source.get("id", model.id),
        "usage": usage_of(reply.get("usage", {"input": 10, "output": 2})),
        "stopReason": "aborted" if aborted else stop_reason,
        **({} if error is None else {"errorMessage": error}),
        "timestamp": now,
    }


def with_usage(answer: Json) -> Json:
    """An answer whose compaction or summary, if it tells of its usage, tells all of it."""
    for name in ("compaction", "summary"):
        if "usage" in answer.get(name, {}):
            answer[name]["usage"] = usage_of(answer[name]["usage"])
    return answer


def usage_of(given: Any) -> Json:
    """A whole usage from the parts that are told; the total is their sum unless it is told."""
    parts = {name: given.get(name, 0) for name in ("input", "output", "cacheRead", "cacheWrite")}
    costs = dict.fromkeys((*parts, "total"), 0)
    return parts | {"totalTokens": given.get("totalTokens", sum(parts.values())), "cost": costs}
