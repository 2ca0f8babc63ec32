"""Summarising what a compaction folds (chapter SUM): which requests are made, which replies are taken, what is stored.

The model is a function `ask(request) -> assistant message` that the caller brings, retries included (`retry.complete`).
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from . import prompts
from .ecma import members, number_of, pick, string, truthy
from .file_operations import format_lists
from .serialization import calls_a_tool, serialize
from .system import content_text, current_system_message
from .tokens import of_context
from .types import Json, Message

HISTORY_SHARE = 0.8
TURN_PREFIX_SHARE = 0.5
NO_HISTORY = "No prior history."
TURN_HEADING = "\n\n---\n\n**Turn Context (split turn):**\n\n"

FailureKind: TypeAlias = Literal["failed", "incomplete", "tool_call"]
_COUNTED = ("input", "output", "cacheRead", "cacheWrite")
_COUNTED_SOMETIMES = ("cacheWrite1h", "reasoning")
_COSTS = (*_COUNTED, "total")


class SummaryFailed(Exception):
    """A reply that is not to be stored as a summary. `kind` is part of the contract, the message is for people."""

    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(message)
        self.kind: FailureKind = kind


def new_routing_id() -> str:
    return str(uuid.uuid4())


@dataclass(frozen=True, slots=True)
class SourceContext:
    """The live request of the session, for the optional feature `source-context`: the messages as the model API got
    them, and the routing and caching that they were sent with."""

    messages: Sequence[Message]
    routing_id: str
    cache_retention: str


@dataclass(frozen=True, slots=True)
class Options:
    """What the user and the session add. Empty instructions and the thinking level `off` count as none."""

    custom_instructions: str | None = None
    thinking_level: str | None = None
    source: SourceContext | None = None
    new_routing_id: Callable[[], str] = new_routing_id


@dataclass(frozen=True, slots=True)
class Request:
    """One model call. Either `system` stands before the prompt, or the `context` of the live session does.
    `max_tokens` limits the reply."""

    prompt: str
    max_tokens: float
    routing_id: str
    system: str | None = prompts.SYSTEM
    context: Sequence[Message] = field(default_factory=tuple)
    reasoning: str | None = None
    cache_retention: str = "none"


@dataclass(frozen=True, slots=True)
class Requests:
    """The calls of one compaction, made in this order; at least one is there."""

    history: Request | None
    turn_prefix: Request | None


@dataclass(frozen=True, slots=True)
class Part:
    """The text of an accepted reply, and the usage that came with it."""

    text: str
    usage: Any = None


# ---- requests --------------------------------------------------------------------------------------------------------


def requests_for(preparation: Json, model: Any, settings: Any, options: Options) -> Requests:
    """The history is summarised unless a split turn has none before it; the first part of a split turn by itself."""
    reserve = number_of(members(settings), "reserveTokens")
    prefix = preparation["turnPrefixMessages"] if preparation["isSplitTurn"] else []
    history = preparation["messagesToSummarize"]
    return Requests(
        history_request(history, preparation["previousSummary"], model, reserve, options)
        if history or not prefix
        else None,
        turn_prefix_request(prefix, model, reserve, options) if prefix else None,
    )


def history_request(
    messages: Sequence[Message], previous: str | None, model: Any, reserve_tokens: float, options: Options
) -> Request:
    """Asks for a summary of complete turns, or for the previous summary brought up to date with them. Where the live
    context of the session is given and fits, it is sent on instead of a serialised copy."""
    max_tokens = output_budget(HISTORY_SHARE * reserve_tokens, model)
    reasoning = thinking(model, options.thinking_level)
    source = options.source
    if source is not None and fits(source, model, max_tokens):
        instructions = prompts.LIVE_UPDATE if truthy(previous) else prompts.LIVE_FIRST
        return Request(
            prompts.focused(instructions, options.custom_instructions),
            max_tokens,
            source.routing_id,
            system=None,
            context=source.messages,
            reasoning=reasoning,
            cache_retention=source.cache_retention,
        )
    prompt = prompts.conversation(serialize(messages))
    if truthy(previous):
        prompt += prompts.previous_summary(string(previous))
    prompt += prompts.focused(prompts.UPDATE if truthy(previous) else prompts.FIRST, options.custom_instructions)
    return Request(prompt, max_tokens, options.new_routing_id(), reasoning=reasoning)


def turn_prefix_request(messages: Sequence[Message], model: Any, reserve_tokens: float, options: Options) -> Request:
    """Asks for the first part of a split turn: no earlier summary and no wish of the user goes with it."""
    return Request(
        prompts.conversation(serialize(messages)) + prompts.TURN_PREFIX,
        output_budget(TURN_PREFIX_SHARE * reserve_tokens, model),
        options.new_routing_id(),
        reasoning=thinking(model, options.thinking_level),
    )


def output_budget(tokens: float, model: Any) -> float:
    """The most that a reply may take: whole tokens, never more than the model can give, where that is known. There is
    no lower bound. NaN without a number."""
    return math.nan if math.isnan(tokens) else min(math.floor(tokens), output_cap(model))


def output_cap(model: Any) -> float:
    """What the model can give at most; a limit that is absent or not above 0 is none."""
    cap = number_of(members(model), "maxTokens")
    return cap if cap > 0 else math.inf


def thinking(model: Any, level: str | None) -> str | None:
    """The thinking level to ask for: only of a model that reasons, and not where it is switched off."""
    return level if truthy(members(model).get("reasoning")) and level and level != "off" else None


def fits(source: SourceContext, model: Any, max_tokens: float) -> bool:
    """Whether the live context and the longest reply together are no larger than a window that is known."""
    window = number_of(members(model), "contextWindow")
    return window > 0 and of_context(source.messages)["tokens"] + max_tokens <= window


def tools_of(request: Request) -> list[Any]:
    """Names of the tools that a request offers: those of the live context, none otherwise."""
    system = current_system_message(request.context)
    return [members(tool).get("name") for tool in (system or {}).get("toolsAdded", [])]


# ---- replies ---------------------------------------------------------------------------------------------------------


def accepted(reply: Message, what: str) -> Part:
    """The text of a reply, as it is. Raises `SummaryFailed` for one that failed, ended early or calls a tool, looked at
    in this order. An aborted reply and an empty one pass, as with Pi: the caller knows whether the user stopped it."""
    own = members(reply)
    if own.get("stopReason") == "error":
        reason = string(own["errorMessage"]) if truthy(own.get("errorMessage")) else "no reason given"
        raise SummaryFailed("failed", f"{what} failed: {reason}")
    if own.get("stopReason") == "length":
        raise SummaryFailed("incomplete", f"{what} was cut off at the limit of its length")
    if calls_a_tool(own.get("content")):
        raise SummaryFailed("tool_call", f"{what} called a tool")
    return Part(content_text(own.get("content")), own.get("usage"))


def merged(preparation: Json, history: Part | None, turn_prefix: Part | None) -> Part:
    """One summary from the parts: the history, a rule, the first part of the split turn. Where no history was asked
    for, the previous summary stands in its place as it is, or a fixed text."""
    if turn_prefix is None:
        assert history is not None
        return history
    if history is None:
        previous = preparation["previousSummary"]
        earlier = NO_HISTORY if previous is None else string(previous)
        return Part(earlier + TURN_HEADING + turn_prefix.text, turn_prefix.usage)
    usage = added_up(history.usage, turn_prefix.usage) if truthy(history.usage) else turn_prefix.usage
    return Part(history.text + TURN_HEADING + turn_prefix.text, usage)


def added_up(first: Any, second: Any) -> Json:
    """Two usages as one, field by field, costs too. Fields that not every provider counts are there if either has
    them."""
    one, other = members(first), members(second)
    costs, other_costs = members(one.get("cost")), members(other.get("cost"))
    usage: Json = {name: number_of(one, name) + number_of(other, name) for name in (*_COUNTED, "totalTokens")}
    for name in _COUNTED_SOMETIMES:
        if name in one or name in other:
            usage[name] = (one.get(name) or 0) + (other.get(name) or 0)
    usage["cost"] = {name: number_of(costs, name) + number_of(other_costs, name) for name in _COSTS}
    return usage


def result(preparation: Json, part: Part, kept: str = "firstKeptEntryId") -> Json:
    """What is stored: the summary with the file lists behind it, and what the preparation found, `kept` included. Lists
    that a carried summary brings along stay in it."""
    files = preparation["fileOperations"]
    summary = part.text + format_lists(files["readFiles"], files["modifiedFiles"])
    usage = {} if part.usage is None else {"usage": part.usage}
    return {"summary": summary, **pick(preparation, kept, "tokensBefore"), **usage, "details": files}


def parts(
    requests: Requests, ask: Callable[[Request], Message], accept: Callable[[Message, str], Part]
) -> tuple[Part | None, Part | None]:
    """History and turn prefix, as far as they are asked for: the history first, and when that fails nothing more."""
    history = turn_prefix = None
    if requests.history is not None:
        history = accept(ask(requests.history), "the summary")
    if requests.turn_prefix is not None:
        turn_prefix = accept(ask(requests.turn_prefix), "the summary of the turn's first part")
    return history, turn_prefix


def compact(preparation: Json, model: Any, settings: Any, options: Options, ask: Callable[[Request], Message]) -> Json:
    """The compaction of a preparation: `summary`, `firstKeptEntryId`, `tokensBefore`, `usage`, `details`. The history
    is asked for first, and when that fails nothing more is. Raises `SummaryFailed`, and whatever `ask` raises."""
    history, turn_prefix = parts(requests_for(preparation, model, settings, options), ask, accepted)
    return result(preparation, merged(preparation, history, turn_prefix))
