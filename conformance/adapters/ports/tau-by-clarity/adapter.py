"""tau-by-clarity: a Python port of Pi's coding agent whose entries and messages stay plain JSON objects.

A session is a file that the port opens. Its functions are called with what its own session manager holds, also where
they were written for another shape and find nothing in it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pi_ai
from pi_ai.types import AssistantMessage, Usage
from pi_ai.utils.overflow import is_context_overflow
from pi_coding_agent.core import messages as llm
from pi_coding_agent.core import session_manager as sessions
from pi_coding_agent.core.agent_session import AgentSession
from pi_coding_agent.core.compaction import branch_summarization as branches
from pi_coding_agent.core.compaction import compaction
from pi_coding_agent.core.compaction import utils as files
from pi_coding_agent.core.settings_manager import InMemorySettingsStorage, SettingsManager
from scripted_model import Script, failed, played
from session_files import bytes_of, flattened, lines_of, session_file, written

Json = dict[str, Any]

ABOUT = {"name": "tau-by-clarity", "distribution": "tau-by-clarity", "url": "https://github.com/Nuosis/tau-by-clarity"}
KINDS: list[tuple[str, str]] = []

# ---- shapes --------------------------------------------------------------------------------------------------------


def assistant(raw: Json) -> AssistantMessage:
    """The port's message object, without its checks: damaged messages are part of the input."""
    usage = raw.get("usage")
    values = {
        "role": raw.get("role"),
        "content": raw.get("content"),
        "provider": raw.get("provider"),
        "usage": usage and usage_of(usage),
        "stop_reason": raw.get("stopReason"),
        "error_message": raw.get("errorMessage"),
    }
    return AssistantMessage.model_construct(**values)


def usage_of(raw: Json) -> Usage:
    names = {"input": "input", "output": "output", "cacheRead": "cache_read", "cacheWrite": "cache_write"}
    return Usage.model_construct(**{ours: raw[theirs] for theirs, ours in names.items() if theirs in raw})


def file_lists(operations: Any) -> Json:
    read, modified = files.compute_file_lists(operations)
    return {"readFiles": read, "modifiedFiles": modified}


# ---- sessions ------------------------------------------------------------------------------------------------------


@contextmanager
def opened(content: bytes | None) -> Iterator[tuple[sessions.SessionManager, Any]]:
    with session_file(content) as path:
        yield sessions.SessionManager.open(str(path)), path


@contextmanager
def manager_at(params: Json) -> Iterator[sessions.SessionManager]:
    with opened(lines_of(params["entries"])) as (manager, _path):
        if "leafId" in params:
            manager.set_leaf_id(params["leafId"])
        yield manager


def summarized_branch(manager: sessions.SessionManager, draft: Json) -> None:
    """As the port's agent session does it: first the entry, then the move."""
    left = manager.get_leaf_id()
    manager.append_branch_summary(draft["summary"], left, draft.get("details"), draft.get("fromHook", False))
    manager.set_leaf_id(draft["branchFromId"])


APPEND = {
    "message": lambda m, d: m.append_message(d["message"]),
    "thinking_level_change": lambda m, d: m.append_thinking_level_change(d["thinkingLevel"]),
    "model_change": lambda m, d: m.append_model_change(d["provider"], d["modelId"]),
    "compaction": lambda m, d: m.append_compaction(
        d["summary"], d.get("firstKeptEntryId"), d["tokensBefore"], d.get("details"), d.get("fromHook", False)
    ),
    "branch_summary": summarized_branch,
    "custom": lambda m, d: m.append_custom_entry(d["customType"], d.get("data")),
    "custom_message": lambda m, d: m.append_custom_message_entry(
        d["customType"], d["content"], d["display"], d.get("details")
    ),
    "label": lambda m, d: m.append_label_change(d["targetId"], d.get("label")),
    "session_info": lambda m, d: m.append_session_info(d["name"]),
}


def append(manager: sessions.SessionManager, draft: Json) -> None:
    if draft["type"] not in APPEND:
        raise NotImplementedError(f"the port has no entry of type {draft['type']}")
    APPEND[draft["type"]](manager, draft)


def session_parse(params: Json) -> Json:
    with opened(bytes_of(params)) as (manager, _path):
        found = [each.data for each in manager.get_entries()]
        return {"header": manager.get_header(), "entries": found, "leafId": manager.get_leaf_id()}


def session_write(params: Json) -> Json:
    with opened(bytes_of(params)) as (manager, path):
        for draft in params["drafts"]:
            append(manager, draft)
        return written(path)


def session_path(params: Json) -> Json:
    with manager_at(params) as manager:
        return {"entries": [each.data for each in manager.get_branch(params.get("leafId"))]}


def session_tree(params: Json) -> Json:
    with manager_at(params) as manager:
        return flattened(manager.get_tree(), manager.get_session_name())


def session_append(params: Json) -> Json:
    with manager_at(params) as manager:
        append(manager, params["draft"])
        return {"entry": manager.get_entries()[-1].data, "leafId": manager.get_leaf_id()}


def session_fork(params: Json) -> Json:
    with manager_at(params) as manager:
        return {"entries": [each.data for each in manager.branch(params["leafId"]).get_entries()]}


# ---- projection, tokens, settings ----------------------------------------------------------------------------------


def projected(params: Json) -> sessions.SessionContext:
    with manager_at(params) as manager:
        return sessions.build_session_context(manager.get_entries(), manager.get_leaf_id())


def projection_settings(params: Json) -> Json:
    found = projected(params)
    model = found.model and {"provider": found.model["provider"], "modelId": found.model["model_id"]}
    return {"thinkingLevel": found.thinking_level, "model": model}


def should_compact(params: Json) -> Json:
    """The port takes messages for their size; a reply whose usage tells the size stands for them."""
    message = {"role": "assistant", "content": [], "usage": {"totalTokens": params["contextTokens"]}}
    due = compaction.should_compact([message], params["contextWindow"], settings=params["settings"])
    return {"compact": due}


def stored_settings(params: Json) -> SettingsManager:
    storage = InMemorySettingsStorage(json.dumps(params["global"]), json.dumps(params["project"]))
    return SettingsManager.from_storage(storage)


def picked(found: Json, **renamed: str) -> Json:
    """The members that an operation asks for, of settings that hold whatever the files held."""
    return {theirs: found[ours] for ours, theirs in renamed.items()}


def compaction_settings(params: Json) -> Json:
    found = stored_settings(params).get_compaction_settings()
    return picked(found, enabled="enabled", reserveTokens="reserveTokens", keepRecentTokens="keepRecentTokens")


def branch_settings(params: Json) -> Json:
    found = stored_settings(params).get_branch_summary_settings()
    return picked(found, reserveTokens="reserveTokens", skipPrompt="skipPrompt")


def retry_settings(params: Json) -> Json:
    found = stored_settings(params).get_retry_settings()
    names = {"enabled": "enabled", "maxRetries": "maxRetries", "baseDelayMs": "baseDelayMs"}
    return picked(found, **names, maxDelayMs="maxAgentDelayMs")


def is_retryable(params: Json) -> Json:
    session = SimpleNamespace(_agent=SimpleNamespace(state=SimpleNamespace(model=None)))
    return {"retryable": AgentSession._is_retryable_error(session, assistant(params["message"]))}


# ---- files and summaries -------------------------------------------------------------------------------------------


def files_lists(params: Json) -> Json:
    operations = files.create_file_ops()
    for message in params["messages"]:
        files.extract_file_ops_from_message(message, operations)
    return file_lists(operations)


def serialize(params: Json) -> Json:
    """Both steps that the port's branch summaries take."""
    return {"text": files.serialize_conversation(llm.convert_to_llm(params["messages"]))}


def branch_collect(params: Json) -> Json:
    with manager_at(params) as manager:
        found = branches.collect_entries_for_branch_summary(manager, manager.get_leaf_id(), params["targetId"])
        return {"entries": [each.id for each in found.entries], "commonAncestorId": found.common_ancestor_id}


def branch_prepare(params: Json) -> Json:
    with manager_at(params) as manager:
        found = branches.prepare_branch_entries(manager.get_entries(), params["tokenBudget"])
        return {"messages": found.messages, "totalTokens": found.total_tokens, **file_lists(found.file_ops)}


async def branch_summarize(params: Json) -> Json:
    async def use(script: Script) -> Json:
        async def complete(_model: Any, asked: Json, options: Json) -> AssistantMessage:
            request = {
                "system": asked["systemPrompt"],
                "prompt": asked["messages"][0]["content"][0]["text"],
                "tools": [],
                "maxTokens": options["maxTokens"],
                "cacheRetention": "short",  # what a provider does when not told
                "routingId": "",
            }
            return assistant(script.reply(request))

        pi_ai.complete_simple = complete  # where the port looks for its model
        model = SimpleNamespace(context_window=params["model"]["contextWindow"])
        with manager_at(params) as manager:
            found = await branches.generate_branch_summary(
                manager.get_entries(),
                model,
                "key",
                custom_instructions=params.get("customInstructions"),
                replace_instructions=params.get("replaceInstructions", False),
                **({"reserve_tokens": params["reserveTokens"]} if "reserveTokens" in params else {}),
            )
        if found.aborted:
            return {"aborted": True}
        if found.error is not None:
            return failed(found.error)
        return {
            "branchSummary": {
                "summary": found.summary,
                "readFiles": found.read_files,
                "modifiedFiles": found.modified_files,
            }
        }

    return await played(params, use, lambda _: None)


OPERATIONS = {
    "session/parse": session_parse,
    "session/write": session_write,
    "session/path": session_path,
    "session/tree": session_tree,
    "session/append": session_append,
    "session/fork": session_fork,
    "projection/messages": lambda p: {"messages": projected(p).messages},
    "projection/settings": projection_settings,
    "messages/to_llm": lambda p: {"messages": llm.convert_to_llm(p["messages"])},
    "tokens/from_usage": lambda p: {"tokens": compaction.calculate_context_tokens(p["usage"])},
    "tokens/of_message": lambda p: {"tokens": compaction.estimate_tokens(p["message"])},
    "tokens/of_context": lambda p: compaction.estimate_context_tokens(p["messages"]),
    "settings/resolve": compaction_settings,
    "trigger/should_compact": should_compact,
    "overflow/is_overflow": lambda p: {
        "overflow": is_context_overflow(assistant(p["message"]), p.get("contextWindow"))
    },
    "cut/find": lambda p: compaction.find_cut_point(
        p["entries"], p["startIndex"], p["endIndex"], p["keepRecentTokens"]
    ),
    "cut/turn_start": lambda p: {
        "turnStartIndex": compaction.find_turn_start_index(p["entries"], p["entryIndex"], p["startIndex"])
    },
    "files/lists": files_lists,
    "files/format": lambda p: {"text": files.format_file_operations(p["readFiles"], p["modifiedFiles"])},
    "summary/serialize": serialize,
    "branch/collect": branch_collect,
    "branch/prepare": branch_prepare,
    "branch/summarize": branch_summarize,
    "branch/settings": branch_settings,
    "retry/is_retryable": is_retryable,
    "retry/settings": retry_settings,
}
