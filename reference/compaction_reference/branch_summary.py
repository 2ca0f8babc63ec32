"""Summarising a branch that the user leaves (chapter BRS): what belongs to it, what of it fits, what is asked and kept.

Unlike a compaction this works on entries as they are stored: context edits do not count.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from . import prompts
from .dates import milliseconds
from .ecma import map_key, members, number_of, or_null, pick, truthy
from .file_operations import FileOperations, format_lists
from .retry import section
from .serialization import serialize
from .summary import Request, accepted, new_routing_id, output_cap
from .tokens import of_message
from .tree import opening_leaf, path_of
from .types import LAST, Entry, Json, Leaf, Message

RESERVE_TOKENS = 16384
UNKNOWN_WINDOW = 128_000
MAX_OUTPUT = 4096
SUMMARY_ROOM = 0.9
NOTHING = "No content to summarize"


@dataclass(frozen=True, slots=True)
class Options:
    """Instructions are added to the usual ones, or stand in their place. Empty ones count as none."""

    reserve_tokens: float = RESERVE_TOKENS
    custom_instructions: str | None = None
    replace_instructions: bool = False
    new_routing_id: Callable[[], str] = new_routing_id


@dataclass(frozen=True, slots=True)
class Prepared:
    """The messages to summarise, oldest first, their weight in tokens, and the files that the branch touched."""

    messages: Sequence[Message]
    total_tokens: float
    files: Json


def settings(global_settings: Any, project_settings: Any) -> Json:
    """`reserveTokens` and `skipPrompt`: project over global, then defaults. They are not checked."""
    own = section(global_settings, project_settings, "branchSummary")
    defaults = {"reserveTokens": RESERVE_TOKENS, "skipPrompt": False}
    return {name: default if own.get(name) is None else own[name] for name, default in defaults.items()}


# ---- what is left behind ---------------------------------------------------------------------------------------------


def collect(entries: Sequence[Entry], leaf: Leaf, target_id: str) -> tuple[list[Entry], Any]:
    """The entries that are left when the user goes from the leaf to the target, oldest first, and the id of the last
    entry that both paths share, or `None`. Compactions are no boundary."""
    leaf_id = opening_leaf(entries).get("leafId") if leaf is LAST else leaf
    if not truthy(leaf_id):
        return [], None
    old_path = path_of(entries, leaf)
    on_old_path = {map_key(members(entry).get("id")): place for place, entry in enumerate(old_path)}
    for entry in reversed(path_of(entries, target_id)):
        shared = on_old_path.get(map_key(members(entry).get("id")))
        if shared is not None:
            return old_path[shared + 1 :], members(entry).get("id")
    return old_path, None


# ---- what of it is summarised ----------------------------------------------------------------------------------------


def prepare(entries: Sequence[Entry], token_budget: float = 0) -> Prepared:
    """What of the entries is summarised, with the files of earlier summaries of branches that no hook made."""
    operations = FileOperations()
    for entry in entries:
        own = members(entry)
        if own.get("type") == "branch_summary" and not truthy(own.get("fromHook")):
            operations.add_details(own.get("details"))
    return newest_that_fit(entries, token_budget, operations, _message_of, of_message)


def newest_that_fit(
    entries: Sequence[Entry],
    token_budget: float,
    operations: FileOperations,
    message_of: Callable[[Any], Message | None],
    weight_of: Callable[[Message], float],
) -> Prepared:
    """Takes messages from the newest back until one does not fit. That one is still taken if it is a summary and less
    than 90 % of the budget is used; in any case it is the last. A budget of 0 or less sets no limit."""
    taken: list[Message] = []
    total: float = 0
    for entry in reversed(entries):
        message = message_of(members(entry))
        if message is None:
            continue
        operations.add_message(message)
        weight = weight_of(message)
        full = token_budget > 0 and total + weight > token_budget
        is_summary = members(entry).get("type") in ("compaction", "branch_summary")
        if not full or (is_summary and total < token_budget * SUMMARY_ROOM):
            taken.append(message)
            total += weight
        if full:
            break
    return Prepared(taken[::-1], total, operations.lists())


def _message_of(own: Any) -> Message | None:
    """What an entry adds to the summary. Tool results add nothing: the call before them says enough."""
    kind = own.get("type")
    if kind == "message":
        message = own.get("message")
        return None if members(message).get("role") == "toolResult" else message
    time = {"timestamp": or_null(milliseconds(own.get("timestamp", math.nan)))}
    if kind == "custom_message":
        return {"role": "custom"} | pick(own, "customType", "content", "display", "details") | time
    if kind == "branch_summary":
        return {"role": "branchSummary"} | pick(own, "summary", "fromId") | time
    if kind == "compaction":
        return {"role": "compactionSummary"} | pick(own, "summary", "tokensBefore") | time
    return None


# ---- request and result ----------------------------------------------------------------------------------------------


def budget(model: Any, options: Options) -> float:
    """Tokens that the branch may take in the request: the window without the reserve."""
    window = members(model).get("contextWindow")
    return (number_of(model, "contextWindow") if truthy(window) else UNKNOWN_WINDOW) - options.reserve_tokens


def request_for(messages: Sequence[Message], model: Any, options: Options) -> Request:
    """Asks for a summary of the branch. No thinking is asked for, whatever the session's level."""
    custom = options.custom_instructions
    instructions = custom if custom and options.replace_instructions else prompts.focused(prompts.BRANCH, custom)
    prompt = prompts.conversation(serialize(messages)) + instructions
    return Request(prompt, min(MAX_OUTPUT, output_cap(model)), options.new_routing_id())


def summarize(entries: Sequence[Entry], model: Any, options: Options, ask: Callable[[Request], Message]) -> Json | None:
    """`summary`, and `usage`, `readFiles`, `modifiedFiles` where a model was asked; `None` when the user stopped it.
    Raises `summary.SummaryFailed`, and whatever `ask` raises."""
    prepared = prepare(entries, budget(model, options))
    if not prepared.messages:
        return {"summary": NOTHING}
    reply = ask(request_for(prepared.messages, model, options))
    if members(reply).get("stopReason") == "aborted":
        return None
    part = accepted(reply, "the summary of the branch")
    files = prepared.files
    summary = prompts.BRANCH_PREAMBLE + part.text + format_lists(files["readFiles"], files["modifiedFiles"])
    usage = {} if part.usage is None else {"usage": part.usage}
    return {"summary": summary, **usage, **files}
