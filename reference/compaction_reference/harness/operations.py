"""Every operation of the profile `harness`, by name, as `compaction_reference.operations` has those of the coding
agent. Params and results have the same shapes; a preparation has `retainedTail` where the other has `firstKeptEntryId`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import EDITION, __version__, file_operations, messages, serialization, settings, tokens
from ..calling import called
from ..ecma import json_value, or_null, to_number
from ..params import file_content
from ..types import LAST, Json
from . import NAME, PROFILE, branch_summary, cut_point, preparation, scripted, session, session_file, storage
from . import context as harness_context
from . import tokens as harness_tokens

PROTOCOL_VERSION = 1


def describe() -> Json:
    """The answer to `initialize`."""
    return {
        "protocolVersion": PROTOCOL_VERSION,
        "implementation": {"name": NAME, "version": __version__, "language": "python"},
        "editions": [EDITION],
        "profiles": [PROFILE],
        "operations": list(OPERATIONS),
    }


def call(method: str, params: Json) -> Json:
    """The result of an operation. Raises KeyError for an unknown name and `errors.Refusal` where the rules refuse."""
    return called(OPERATIONS[method], params)


def _path(params: Json) -> list[Any]:
    return storage.path_of(params["entries"], params.get("leafId", LAST))


def _session_parse(params: Json) -> Json:
    opened = session_file.open_file(file_content(params) or "")
    leaf_id = opened.storage.tips.get(storage.BRANCH)
    header, entries = json_value(opened.header), json_value(opened.storage.entries)
    return {"header": header, "entries": entries, "leafId": leaf_id}


def _cut_find(params: Json) -> Json:
    keep = to_number(params["keepRecentTokens"])
    cut, splits = cut_point.find(params["entries"], params["startIndex"], params["endIndex"], keep)
    return {"firstKeptEntryIndex": cut.first_kept, "turnStartIndex": cut.turn_start, "isSplitTurn": splits}


def _branch_collect(params: Json) -> Json:
    entries, shared = branch_summary.collect(params["entries"], params.get("leafId", LAST), params["targetId"])
    return {"entries": [entry["id"] for entry in entries], "commonAncestorId": shared}


def _branch_prepare(params: Json) -> Json:
    prepared = branch_summary.prepare(params["entries"], params["tokenBudget"])
    return {"messages": prepared.messages, "totalTokens": or_null(prepared.total_tokens), **prepared.files}


def _files_lists(params: Json) -> Json:
    return preparation.file_operations(params["messages"], params.get("previousDetails")).lists()


OPERATIONS: dict[str, Callable[[Json], Json]] = {
    "session/parse": _session_parse,
    "session/write": lambda p: {"content": session_file.text_after_appends(file_content(p), p["drafts"])},
    "session/path": lambda p: {"entries": _path(p)},
    "session/append": lambda p: session.append(p["entries"], p.get("leafId", LAST), p["draft"]),
    "projection/entries": lambda p: {"entries": harness_context.context_entries(_path(p))},
    "projection/messages": lambda p: {"messages": harness_context.context_messages(_path(p))},
    "messages/to_llm": lambda p: {"messages": messages.to_llm(p["messages"])},
    "tokens/from_usage": lambda p: {"tokens": or_null(tokens.from_usage(p["usage"]))},
    "tokens/of_message": lambda p: {"tokens": or_null(harness_tokens.of_message(p["message"]))},
    "tokens/of_context": lambda p: json_value(harness_tokens.of_context(p["messages"])),
    "tokens/last_usage": lambda p: {"usage": tokens.last_usage(p["entries"])},
    "trigger/should_compact": lambda p: {
        "compact": settings.should_compact(p["contextTokens"], p["contextWindow"], p["settings"])
    },
    "cut/find": _cut_find,
    "cut/turn_start": lambda p: {
        "turnStartIndex": cut_point.turn_start(p["entries"], p["entryIndex"], p["startIndex"])
    },
    "compaction/prepare": lambda p: {"preparation": preparation.prepare(_path(p), p["settings"])},
    "files/lists": _files_lists,
    "files/format": lambda p: {"text": file_operations.format_lists(p["readFiles"], p["modifiedFiles"])},
    "summary/serialize": lambda p: {"text": serialization.serialize(p["messages"])},
    "summary/compact": lambda p: scripted.compact(_path(p), p),
    "branch/collect": _branch_collect,
    "branch/prepare": _branch_prepare,
    "branch/summarize": scripted.summarize_branch,
}
