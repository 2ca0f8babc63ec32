"""pp-coding-agent: a Python port of Pi's coding agent with typed entries and messages.

Entries come in through the port's own loader of session files, messages through its reader of them, and both go out
through its writers. A member that the port holds as None stands for an absent one, and so does an `excludeFromContext`
that is False; all else is as the port has it.
"""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

from pi_agent.harness.messages import convert_to_llm
from pi_ai.types import Model
from pi_ai.utils import overflow
from pi_ai.utils.abort import AbortController
from pi_ai.utils.retry import RetryCallbacks, RetryPolicy, is_retryable_assistant_error
from pi_coding_agent.core import compaction
from pi_coding_agent.core import session_manager as sessions
from pi_coding_agent.core.agent_session import AgentSession
from pi_coding_agent.core.settings_manager import InMemorySettingsStorage, SettingsManager
from scripted_model import Script, failed, played
from session_files import bytes_of, flattened, lines_of, session_file, written

Json = dict[str, Any]

ABOUT = {"name": "pp-coding-agent", "distribution": "pp-coding-agent", "url": "https://github.com/HSPK/pp"}
KINDS = [
    (r"Entry .* not found", "entry_not_found"),
    (r"Session id must be ", "invalid_session_id"),
    (r"is not a valid pi session", "not_a_session"),
]

# ---- shapes --------------------------------------------------------------------------------------------------------

read_message, read_usage = sessions._message_from_raw, sessions._usage_from_raw


def read_messages(messages: list[Any]) -> list[Any]:
    return [read_message(each) for each in messages]


def present(value: Any, keep: tuple[str, ...] = ()) -> Any:
    """An object of the port's writers without the members that are absent in the port."""
    return {k: v for k, v in value.items() if v is not None or k in keep} if isinstance(value, dict) else value


def write_message(message: Any) -> Json:
    raw = present(sessions._message_to_raw(message))
    if raw.get("excludeFromContext") is False:
        del raw["excludeFromContext"]
    if isinstance(raw.get("content"), list):
        raw["content"] = [present(block) for block in raw["content"]]
    if "usage" in raw:
        raw["usage"] = present(raw["usage"])
    return raw


def write_messages(messages: list[Any]) -> list[Json]:
    return [write_message(each) for each in messages]


def write_entry(entry: Any) -> Json:
    raw = present(sessions._entry_to_raw(entry), keep=("parentId",))
    if "usage" in raw:
        raw["usage"] = present(raw["usage"])
    return raw | {"message": write_message(entry.message)} if raw["type"] == "message" else raw


def leaf(params: Json) -> Json:
    return {"leaf_id": params["leafId"]} if "leafId" in params else {}


def settings_of(params: Json) -> compaction.CompactionSettings:
    read = params["settings"].get
    return compaction.CompactionSettings(
        enabled=read("enabled"), reserve_tokens=read("reserveTokens"), keep_recent_tokens=read("keepRecentTokens")
    )


def file_lists(operations: Any) -> Json:
    read, modified = compaction.compute_file_lists(operations)
    return {"readFiles": read, "modifiedFiles": modified}


# ---- sessions ------------------------------------------------------------------------------------------------------


def entries_of(params: Json) -> list[Any]:
    with session_file(lines_of(params["entries"])) as path:
        return sessions.load_entries_from_file(path)[1:]


def manager_of(params: Json) -> sessions.SessionManager:
    manager = sessions.SessionManager.in_memory("/")
    manager._file_entries = [manager._file_entries[0], *entries_of(params)]
    manager._build_index()
    return manager


def manager_at(params: Json) -> sessions.SessionManager:
    manager = manager_of(params)
    if "leafId" in params:
        manager.reset_leaf() if params["leafId"] is None else manager.branch(params["leafId"])
    return manager


def path_of(params: Json) -> list[Any]:
    manager = manager_of(params)
    if params.get("leafId", "") is None:
        manager.reset_leaf()
    return manager.get_branch(params.get("leafId"))


APPEND = {
    "message": lambda m, d: m.append_message(read_message(d["message"])),
    "thinking_level_change": lambda m, d: m.append_thinking_level_change(d["thinkingLevel"]),
    "model_change": lambda m, d: m.append_model_change(d["provider"], d["modelId"]),
    "compaction": lambda m, d: m.append_compaction(
        d["summary"], d.get("firstKeptEntryId"), d["tokensBefore"], d.get("details"), d.get("fromHook"), usage_of(d)
    ),
    "branch_summary": lambda m, d: m.branch_with_summary(
        d["branchFromId"], d["summary"], d.get("details"), d.get("fromHook"), usage_of(d)
    ),
    "custom": lambda m, d: m.append_custom_entry(d["customType"], d.get("data")),
    "custom_message": lambda m, d: m.append_custom_message_entry(
        d["customType"], sessions._entry_from_raw(d).content, d["display"], d.get("details")
    ),
    "label": lambda m, d: m.append_label_change(d["targetId"], d.get("label")),
    "session_info": lambda m, d: m.append_session_info(d["name"]),
}


def usage_of(draft: Json) -> Any:
    return read_usage(draft["usage"]) if "usage" in draft else None


def append(manager: sessions.SessionManager, draft: Json) -> None:
    if draft["type"] not in APPEND:
        raise NotImplementedError(f"the port has no entry of type {draft['type']}")
    APPEND[draft["type"]](manager, draft)


def session_parse(params: Json) -> Json:
    with session_file(bytes_of(params)) as path:
        manager = sessions.SessionManager.open(str(path))
        header, entries = sessions._entry_to_raw(manager.get_header()), manager.get_entries()
        return {
            "header": present(header),
            "entries": [write_entry(e) for e in entries],
            "leafId": manager.get_leaf_id(),
        }


def session_write(params: Json) -> Json:
    with session_file(bytes_of(params)) as path:
        manager = sessions.SessionManager.open(str(path))
        for draft in params["drafts"]:
            append(manager, draft)
        return written(path)


def session_tree(params: Json) -> Json:
    manager = manager_of(params)
    return flattened(manager.get_tree(), manager.get_session_name())


def session_append(params: Json) -> Json:
    manager = manager_at(params)
    append(manager, params["draft"])
    return {"entry": write_entry(manager.get_entries()[-1]), "leafId": manager.get_leaf_id()}


def session_fork(params: Json) -> Json:
    manager = manager_of(params)
    if params["leafId"] is None:
        manager.reset_leaf()
    manager.create_branched_session(params["leafId"])
    return {"entries": [write_entry(e) for e in manager.get_entries()]}


# ---- projection, tokens, settings ----------------------------------------------------------------------------------


def context_entries(params: Json) -> list[Any]:
    return sessions.build_context_entries(entries_of(params), **leaf(params))


def projection_sources(params: Json) -> Json:
    counts = [(e.id, len(sessions.session_entry_to_context_messages(e))) for e in context_entries(params)]
    return {"sources": [{"id": id_, "messages": count} for id_, count in counts]}


def projection_settings(params: Json) -> Json:
    context = sessions.build_session_context(entries_of(params), **leaf(params))
    model = context.model and {"provider": context.model.provider, "modelId": context.model.model_id}
    return {"thinkingLevel": context.thinking_level, "model": model}


def projected(params: Json) -> list[Any]:
    return sessions.build_session_context(entries_of(params), **leaf(params)).messages


def of_context(params: Json) -> Json:
    found = compaction.estimate_context_tokens(read_messages(params["messages"]))
    return {
        "tokens": found.tokens,
        "usageTokens": found.usage_tokens,
        "trailingTokens": found.trailing_tokens,
        "lastUsageIndex": found.last_usage_index,
    }


def last_usage(params: Json) -> Json:
    usage = compaction.get_last_assistant_usage(entries_of(params))
    return {"usage": usage and present(sessions._usage_to_raw(usage))}


def context_usage(params: Json) -> Json:
    manager, window = manager_at(params), params["contextWindow"]
    session = SimpleNamespace(
        model=None if window is None else SimpleNamespace(context_window=window),
        session_manager=manager,
        messages=manager.build_session_context().messages,
    )
    usage = AgentSession.get_context_usage(session)
    if usage is None:
        return {"usage": None}
    return {"usage": {"tokens": usage.tokens, "contextWindow": usage.context_window, "percent": usage.percent}}


def stored_settings(params: Json) -> SettingsManager:
    storage = InMemorySettingsStorage()
    storage.with_lock("global", lambda _: json.dumps(params["global"]))
    storage.with_lock("project", lambda _: json.dumps(params["project"]))
    return SettingsManager.from_storage(storage)


# ---- cut, preparation, files ---------------------------------------------------------------------------------------


def cut_find(params: Json) -> Json:
    cut = compaction.find_cut_point(
        entries_of(params), params["startIndex"], params["endIndex"], params["keepRecentTokens"]
    )
    return {
        "firstKeptEntryIndex": cut.first_kept_entry_index,
        "turnStartIndex": cut.turn_start_index,
        "isSplitTurn": cut.is_split_turn,
    }


def cut_turn_start(params: Json) -> Json:
    found = compaction.find_turn_start_index(entries_of(params), params["entryIndex"], params["startIndex"])
    return {"turnStartIndex": found}


def prepare(params: Json) -> Json:
    found = compaction.prepare_compaction(path_of(params), settings_of(params))
    if found is None:
        return {"preparation": None}
    return {
        "preparation": {
            "firstKeptEntryId": found.first_kept_entry_id,
            "messagesToSummarize": write_messages(found.messages_to_summarize),
            "turnPrefixMessages": write_messages(found.turn_prefix_messages),
            "isSplitTurn": found.is_split_turn,
            "tokensBefore": found.tokens_before,
            "previousSummary": found.previous_summary,
            "fileOperations": file_lists(found.file_ops),
        }
    }


def files_lists(params: Json) -> Json:
    """`previousDetails` are those of the compaction before, which the port's function takes as an entry."""
    entries, index = [], -1
    if "previousDetails" in params:
        entries, index = [sessions.CompactionEntry("c", None, "", "text", "c", 0, params["previousDetails"])], 0
    return file_lists(compaction.extract_file_operations(read_messages(params["messages"]), entries, index))


# ---- summaries -----------------------------------------------------------------------------------------------------


def model_of(params: Json) -> Model:
    about = params["model"]
    return Model(
        id=about["id"],
        provider=about["provider"],
        context_window=about["contextWindow"],
        max_tokens=about["maxTokens"],
        reasoning=about["reasoning"],
    )


def scripted(script: Script, params: Json) -> Json:
    """The arguments by which the port is given a model, an abort signal and a retry policy."""
    controller, policy = AbortController(), params.get("retry")

    async def stream(_model: Any, context: Any, options: Any) -> Any:
        reply = script.reply(
            {
                "system": context.system_prompt,
                "prompt": context.messages[0].content[0].text,
                "tools": [tool.name for tool in context.tools or []],
                "maxTokens": options.max_tokens,
                "reasoning": options.reasoning,
                "cacheRetention": options.cache_retention,
                "routingId": options.session_id,
            }
        )

        async def result() -> Any:
            return read_message(reply)

        return SimpleNamespace(result=result)

    def scheduled(attempt: int, _most: int, delay_ms: float, _error: str) -> None:
        if script.waits(attempt, delay_ms):
            controller.abort()

    return {
        "stream_fn": stream,
        "model": model_of(params),
        "signal": controller.signal,
        "retry": policy and RetryPolicy(policy["enabled"], policy["maxRetries"], policy["baseDelayMs"]),
        "callbacks": RetryCallbacks(on_retry_scheduled=scheduled),
        "custom_instructions": params.get("customInstructions"),
    }


def failure(error: Exception) -> Json | None:
    code = getattr(error, "code", None)
    if code == "aborted":
        return {"aborted": True}
    if code == "summarization_failed" or str(error).startswith("Turn prefix summarization failed: "):
        return failed(str(error))
    return None


async def compact(params: Json) -> Json:
    preparation = compaction.prepare_compaction(path_of(params), settings_of(params))

    async def use(script: Script) -> Json:
        if preparation is None:
            return {"nothing": True}
        level = {"thinking_level": params.get("thinkingLevel")}
        found = await compaction.compact(preparation, **scripted(script, params), **level)
        stored = {
            "summary": found.summary,
            "firstKeptEntryId": found.first_kept_entry_id,
            "tokensBefore": found.tokens_before,
            "usage": found.usage and present(sessions._usage_to_raw(found.usage)),
            "details": found.details,
        }
        return {"compaction": present(stored)}

    return await played(params, use, failure)


async def branch_summarize(params: Json) -> Json:
    async def use(script: Script) -> Json:
        options = compaction.GenerateBranchSummaryOptions(
            **scripted(script, params),
            replace_instructions=params.get("replaceInstructions", False),
            **({"reserve_tokens": params["reserveTokens"]} if "reserveTokens" in params else {}),
        )
        found = await compaction.generate_branch_summary(entries_of(params), options)
        if found.aborted:
            return {"aborted": True}
        if found.error is not None:
            return failed(found.error)
        summary = {
            "summary": found.summary,
            "usage": found.usage and present(sessions._usage_to_raw(found.usage)),
            "readFiles": found.read_files,
            "modifiedFiles": found.modified_files,
        }
        return {"branchSummary": present(summary)}

    return await played(params, use, failure)


def branch_collect(params: Json) -> Json:
    manager = manager_of(params)
    left = params.get("leafId", manager.get_leaf_id())
    found = compaction.collect_entries_for_branch_summary(manager, left, params["targetId"])
    return {"entries": [e.id for e in found.entries], "commonAncestorId": found.common_ancestor_id}


def branch_prepare(params: Json) -> Json:
    found = compaction.prepare_branch_entries(entries_of(params), params["tokenBudget"])
    return {
        "messages": write_messages(found.messages),
        "totalTokens": found.total_tokens,
        **file_lists(found.file_ops),
    }


OPERATIONS = {
    "session/parse": session_parse,
    "session/write": session_write,
    "session/path": lambda p: {"entries": [write_entry(e) for e in path_of(p)]},
    "session/tree": session_tree,
    "session/append": session_append,
    "session/fork": session_fork,
    "projection/entries": lambda p: {"entries": [write_entry(e) for e in context_entries(p)]},
    "projection/messages": lambda p: {"messages": write_messages(projected(p))},
    "projection/sources": projection_sources,
    "projection/settings": projection_settings,
    "messages/to_llm": lambda p: {"messages": write_messages(convert_to_llm(read_messages(p["messages"])))},
    "tokens/from_usage": lambda p: {"tokens": compaction.calculate_context_tokens(read_usage(p["usage"]))},
    "tokens/of_message": lambda p: {"tokens": compaction.estimate_tokens(read_message(p["message"]))},
    "tokens/of_context": of_context,
    "tokens/last_usage": last_usage,
    "tokens/context_usage": context_usage,
    "settings/resolve": lambda p: stored_settings(p).get_compaction_settings(),
    "trigger/should_compact": lambda p: {
        "compact": compaction.should_compact(p["contextTokens"], p["contextWindow"], settings_of(p))
    },
    "overflow/is_overflow": lambda p: {
        "overflow": overflow.is_context_overflow(read_message(p["message"]), p.get("contextWindow"))
    },
    "overflow/is_recoverable_length": lambda p: {
        "recoverable": overflow.is_recoverable_length(read_message(p["message"]), p["desiredMaxOutput"])
    },
    "cut/find": cut_find,
    "cut/turn_start": cut_turn_start,
    "compaction/prepare": prepare,
    "files/lists": files_lists,
    "files/format": lambda p: {"text": compaction.format_file_operations(p["readFiles"], p["modifiedFiles"])},
    "summary/serialize": lambda p: {
        "text": compaction.serialize_conversation(convert_to_llm(read_messages(p["messages"])))
    },
    "summary/compact": compact,
    "branch/collect": branch_collect,
    "branch/prepare": branch_prepare,
    "branch/summarize": branch_summarize,
    "branch/settings": lambda p: stored_settings(p).get_branch_summary_settings(),
    "retry/is_retryable": lambda p: {"retryable": is_retryable_assistant_error(read_message(p["message"]))},
    "retry/settings": lambda p: stored_settings(p).get_retry_settings(),
}
