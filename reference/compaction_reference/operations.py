"""Every operation of `spec/protocol.md`, by name. The reference is plugged in through this module alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

from . import (
    EDITION,
    PROFILE,
    __version__,
    branch_summary,
    cut_point,
    file_operations,
    messages,
    overflow,
    preparation,
    projection,
    recommended_overflow,
    retry,
    scripted,
    serialization,
    session,
    session_file,
    settings,
    system,
    tokens,
    tree,
)
from .calling import called
from .control import scenario
from .ecma import json_value, members, or_null, pick, to_number
from .params import file_content
from .types import LAST, Entry, Json

PROTOCOL_VERSION = 1
FEATURES = ["source-context"]


def describe() -> Json:
    """The answer to `initialize`."""
    return {
        "protocolVersion": PROTOCOL_VERSION,
        "implementation": {"name": "reference", "version": __version__, "language": "python"},
        "editions": [EDITION],
        "profiles": [PROFILE],
        "features": FEATURES,
        "operations": list(OPERATIONS),
    }


def call(method: str, params: Json) -> Json:
    """The result of an operation. Raises KeyError for an unknown name and `errors.Refusal` where the rules refuse."""
    return called(OPERATIONS[method], params)


def _leaf(params: Json) -> Any:
    return params.get("leafId", LAST)


def _walk(params: Json) -> Iterator[Entry]:
    return projection.walk_from(params["entries"], _leaf(params))


def _projection(params: Json) -> projection.Projection:
    return projection.project(_walk(params))


def _session_parse(params: Json) -> Json:
    opened = session_file.open_file(file_content(params))
    return {"header": json_value(opened.header), "entries": json_value(opened.entries), **opened.leaf}


def _session_write(params: Json) -> Json:
    return {"content": session_file.text_after_appends(file_content(params), params["drafts"])}


def _session_append(params: Json) -> Json:
    opened = session.Session(params["entries"], _leaf(params))
    return {"entry": opened.append(params["draft"]), **opened.leaf}


def _projection_sources(params: Json) -> Json:
    projected = _projection(params).entries
    return {"sources": [pick(members(each.source), "id") | {"messages": len(each.messages)} for each in projected]}


def _projection_entries(params: Json) -> Json:
    return {"entries": projection.fold(_walk(params)).entries}


def _system_current(params: Json) -> Json:
    return {
        "message": system.current_system_message(params["messages"]),
        "prompt": system.current_prompt(params["messages"]),
    }


def _context_usage(params: Json) -> Json:
    opened = session.Session(params["entries"], _leaf(params))
    return {"usage": json_value(tokens.context_usage(opened, params["contextWindow"]))}


def _cut_find(params: Json) -> Json:
    keep = to_number(params["keepRecentTokens"])
    cut = cut_point.find(params["entries"], params["startIndex"], params["endIndex"], keep)
    return {
        "firstKeptEntryIndex": cut.first_kept,
        "turnStartIndex": cut.turn_start,
        "isSplitTurn": cut.splits_turn,
    }


def _branch_collect(params: Json) -> Json:
    left, ancestor_id = branch_summary.collect(params["entries"], _leaf(params), params["targetId"])
    return {"entries": [members(entry).get("id") for entry in left], "commonAncestorId": ancestor_id}


def _branch_prepare(params: Json) -> Json:
    prepared = branch_summary.prepare(params["entries"], params["tokenBudget"])
    return {"messages": prepared.messages, "totalTokens": or_null(prepared.total_tokens), **prepared.files}


def _classify(params: Json) -> Json:
    from . import providers  # the one part that needs a library

    return providers.classify(params)


OPERATIONS: dict[str, Callable[[Json], Json]] = {
    "session/parse": _session_parse,
    "session/write": _session_write,
    "session/path": lambda p: {"entries": tree.path_of(p["entries"], _leaf(p))},
    "session/tree": lambda p: tree.tree(p["entries"]),
    "session/append": _session_append,
    "session/fork": lambda p: {"entries": session.fork(p["entries"], _leaf(p))},
    "projection/entries": _projection_entries,
    "projection/messages": lambda p: {"messages": _projection(p).messages},
    "projection/sources": _projection_sources,
    "projection/settings": lambda p: projection.settings_on(_walk(p)),
    "system/current": _system_current,
    "messages/to_llm": lambda p: {"messages": messages.to_llm(p["messages"])},
    "tokens/from_usage": lambda p: {"tokens": or_null(tokens.from_usage(p["usage"]))},
    "tokens/of_message": lambda p: {"tokens": or_null(tokens.of_message(p["message"]))},
    "tokens/of_context": lambda p: json_value(tokens.of_context(p["messages"])),
    "tokens/of_projection": lambda p: json_value(tokens.of_projection(_projection(p))),
    "tokens/last_usage": lambda p: {"usage": tokens.last_usage(p["entries"])},
    "tokens/context_usage": _context_usage,
    "settings/resolve": lambda p: settings.resolve(p["global"], p["project"], p["model"]),
    "trigger/should_compact": lambda p: {
        "compact": settings.should_compact(p["contextTokens"], p["contextWindow"], p["settings"])
    },
    "overflow/is_overflow": lambda p: {"overflow": overflow.is_overflow(p["message"], p.get("contextWindow"))},
    "overflow/is_recoverable_length": lambda p: {
        "recoverable": overflow.is_recoverable_length(p["message"], p["desiredMaxOutput"])
    },
    "overflow/classify_text": recommended_overflow.classify_text,
    "cut/find": _cut_find,
    "cut/turn_start": lambda p: {
        "turnStartIndex": cut_point.turn_start(p["entries"], p["entryIndex"], p["startIndex"])
    },
    "compaction/prepare": lambda p: {"preparation": preparation.prepare(p["entries"], _leaf(p), p["settings"])},
    "files/lists": lambda p: file_operations.file_lists(p["messages"], p.get("previousDetails")),
    "files/format": lambda p: {"text": file_operations.format_lists(p["readFiles"], p["modifiedFiles"])},
    "summary/serialize": lambda p: {"text": serialization.serialize(p["messages"])},
    "summary/compact": scripted.compact,
    "branch/collect": _branch_collect,
    "branch/prepare": _branch_prepare,
    "branch/summarize": scripted.summarize_branch,
    "branch/settings": lambda p: branch_summary.settings(p["global"], p["project"]),
    "retry/is_retryable": lambda p: {"retryable": retry.is_retryable(p["message"])},
    "retry/settings": lambda p: retry.settings(p["global"], p["project"]),
    "control/run": lambda p: scenario.run(p["scenario"]),
}
if find_spec("httpx"):
    OPERATIONS["overflow/classify"] = _classify
