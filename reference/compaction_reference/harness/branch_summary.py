"""Summarising a branch that the user leaves (chapter HSU): as chapter BRS says, but for the details below."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import prompts
from ..branch_summary import NOTHING, Options, Prepared, budget, newest_that_fit, request_for
from ..ecma import members
from ..file_operations import FileOperations, format_lists
from ..summary import Request
from ..types import Entry, Json, Leaf, Message
from .context import summary_message
from .preparation import add_details
from .storage import in_memory
from .summary import accepted
from .tokens import of_message

MAX_OUTPUT = 2048


def collect(entries: Sequence[Entry], leaf: Leaf, target_id: str) -> tuple[list[Entry], Any]:
    """The entries that are left when the user goes from the leaf to the target, oldest first, and the id of the last
    entry that both paths share, or `None`. Refuses (`entry_not_found`) a leaf or a target that is not there."""
    storage, tip = in_memory(entries, leaf)
    if tip in (None, ""):
        return [], None
    old_path, target_path = storage.path(tip), storage.path(target_id)
    shared = 0
    while shared < min(len(old_path), len(target_path)) and old_path[shared]["id"] == target_path[shared]["id"]:
        shared += 1
    return old_path[shared:], old_path[shared - 1]["id"] if shared else None


def prepare(entries: Sequence[Entry], token_budget: float = 0) -> Prepared:
    """What of the entries is summarised, with the files of all earlier summaries of branches."""
    operations = FileOperations()
    for entry in entries:
        own = members(entry)
        if own.get("type") == "branch_summary":
            add_details(operations, own.get("details"))
    return newest_that_fit(entries, token_budget, operations, _message_of, of_message)


def _message_of(own: Any) -> Message | None:
    """What an entry adds to the summary. Tool results add nothing: the call before them says enough."""
    if own.get("type") == "message":
        message = own.get("message")
        return None if members(message).get("role") == "toolResult" else message
    return summary_message(own) if own.get("type") in ("compaction", "branch_summary") else None


def summarize(entries: Sequence[Entry], model: Any, options: Options, ask: Callable[[Request], Message]) -> Json:
    """`summary`, `readFiles`, `modifiedFiles`, and `usage` where a model was asked. Raises what `summary.accepted`
    raises, and whatever `ask` raises."""
    prepared = prepare(entries, budget(model, options))
    if not prepared.messages:
        return {"summary": NOTHING, "readFiles": [], "modifiedFiles": []}
    request = request_for(prepared.messages, model, options)
    reply = ask(Request(request.prompt, MAX_OUTPUT, request.routing_id))
    part = accepted(reply, "the summary of the branch")
    files = prepared.files
    summary = prompts.BRANCH_PREAMBLE + part.text + format_lists(files["readFiles"], files["modifiedFiles"])
    usage = {} if part.usage is None else {"usage": part.usage}
    return {"summary": summary, **usage, **files}
