"""aelix: an agent kernel in Python with frozen entries and messages.

The port's message objects have names of their own (`tool_name`, `input`); they are made and taken apart here, name by
name. A role or block that it has no class for is not made up. Files are read and written by the port alone.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import fields
from typing import Any

from aelix_agent_core.harness.core import AgentHarnessError
from aelix_agent_core.session import branch_summarization, compaction, context, entries
from aelix_agent_core.session.fs import LocalFileSystem
from aelix_agent_core.session.jsonl_storage import JsonlSessionStorage
from aelix_agent_core.session.memory_storage import MemorySessionStorage
from aelix_agent_core.session.repo_utils import get_entries_to_fork
from aelix_agent_core.session.session import Session
from aelix_ai import messages as types
from aelix_ai.api_registry import register_provider
from aelix_ai.streaming import AssistantDoneEvent, AssistantErrorEvent, Model
from aelix_ai.utils.overflow import is_context_overflow
from scripted_model import Script, failed, played
from session_files import bytes_of, session_file, written

Json = dict[str, Any]

ABOUT = {"name": "aelix", "distribution": "aelix-agent-core", "url": "https://github.com/handochan/aelix-ai"}
KINDS = [
    (r"Entry .* not found", "entry_not_found"),
    (r"SessionError: .*(first line is not a valid|missing) session header", "not_a_session"),
]

# ---- shapes --------------------------------------------------------------------------------------------------------

MESSAGES = {"user": types.UserMessage, "assistant": types.AssistantMessage, "toolResult": types.ToolResultMessage}
BLOCKS = {
    "text": types.TextContent,
    "image": types.ImageContent,
    "thinking": types.ThinkingContent,
    "toolCall": types.ToolCallContent,
}
RENAMED = {
    types.ToolCallContent: {"tool_call_id": "id", "tool_name": "name", "input": "arguments"},
}
OPTIONAL = ("text_signature", "thinking_signature", "thought_signature", "redacted", "source")


def names_of(class_: type) -> list[tuple[str, str]]:
    """The fields of a class with the names that they have in Pi's files."""
    renamed = RENAMED.get(class_, {})
    return [(each.name, renamed.get(each.name, camel(each.name))) for each in fields(class_)]


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def made(class_: type, raw: Json) -> Any:
    values = {ours: raw[theirs] for ours, theirs in names_of(class_) if theirs in raw}
    if "content" in values:
        values["content"] = read_blocks(values["content"])
    return class_(**values)


class PlainText(list[Any]):
    """A text that was no list of blocks, in the shape that the port has for it. It goes out as it came in."""


def read_blocks(content: Any) -> Any:
    """Blocks that the port has a class for become its objects, a plain text becomes one block, the rest stays."""
    if isinstance(content, str):
        return PlainText([types.TextContent(text=content)])
    if not isinstance(content, list):
        return content
    known = [(BLOCKS.get(each.get("type")) if isinstance(each, dict) else None, each) for each in content]
    return [each if class_ is None else made(class_, each) for class_, each in known]


def read_message(raw: Json) -> Any:
    if raw.get("role") not in MESSAGES:
        return entries._message_from_dict(raw)  # refuses it
    return made(MESSAGES[raw["role"]], raw)


def write(value: Any) -> Any:
    """Objects of the port back in Pi's names; what is None, or an optional text that is empty, is absent."""
    if isinstance(value, PlainText):
        return value[0].text
    if isinstance(value, list):
        return [write(each) for each in value]
    if type(value) not in [*MESSAGES.values(), *BLOCKS.values()]:
        return value
    held = [(ours, theirs, getattr(value, ours)) for ours, theirs in names_of(type(value))]
    return {theirs: write(v) for ours, theirs, v in held if v is not None and (v or ours not in OPTIONAL)}


def read_messages(params: Json) -> list[Any]:
    return [read_message(each) for each in params["messages"]]


def read_entry(raw: Json) -> Any:
    if raw.get("type") == "message":
        return entries.MessageEntry(raw["id"], raw.get("parentId"), raw["timestamp"], read_message(raw["message"]))
    content = {"content": read_blocks(raw["content"])} if raw.get("type") == "custom_message" else {}
    return entries.entry_from_json(raw | content)


def write_entry(entry: Any) -> Json:
    raw = entries.entry_to_json(entry)
    for name in ("message", "content"):
        if name in raw:
            raw[name] = write(getattr(entry, name))
    return raw


def file_lists(operations: Any) -> Json:
    read, modified = compaction.compute_file_lists(operations)
    return {"readFiles": read, "modifiedFiles": modified}


# ---- sessions ------------------------------------------------------------------------------------------------------


def read_entries(params: Json) -> list[Any]:
    return [read_entry(each) for each in params["entries"]]


async def session_at(params: Json) -> Session:
    storage = MemorySessionStorage(entries=read_entries(params))
    if "leafId" in params:
        await storage.set_leaf_id(params["leafId"])
    return Session(storage)


async def path_of(params: Json) -> list[Any]:
    storage = MemorySessionStorage(entries=read_entries(params))
    return await storage.get_path_to_root(params.get("leafId", await storage.get_leaf_id()))


async def moved(session: Session, draft: Json) -> None:
    summary = {"summary": draft["summary"], "details": draft.get("details"), "from_hook": draft.get("fromHook")}
    await session.move_to(draft["branchFromId"], summary)


APPEND = {
    "message": lambda s, d: s.append_message(read_message(d["message"])),
    "thinking_level_change": lambda s, d: s.append_thinking_level_change(d["thinkingLevel"]),
    "model_change": lambda s, d: s.append_model_change(d["provider"], d["modelId"]),
    "compaction": lambda s, d: s.append_compaction(
        d["summary"], d.get("firstKeptEntryId"), d["tokensBefore"], d.get("details"), d.get("fromHook")
    ),
    "branch_summary": moved,
    "custom": lambda s, d: s.append_custom_entry(d["customType"], d.get("data")),
    "custom_message": lambda s, d: s.append_custom_message_entry(
        d["customType"], read_blocks(d["content"]), d["display"], d.get("details")
    ),
    "label": lambda s, d: s.append_label(d["targetId"], d.get("label")),
    "session_info": lambda s, d: s.append_session_name(d["name"]),
}


async def append(session: Session, draft: Json) -> None:
    if draft["type"] not in APPEND:
        raise NotImplementedError(f"the port has no entry of type {draft['type']}")
    await APPEND[draft["type"]](session, draft)


async def session_parse(params: Json) -> Json:
    with session_file(bytes_of(params)) as path:
        storage = await JsonlSessionStorage.open(LocalFileSystem(), str(path))
        about = await storage.get_metadata()
        header = {"type": "session", "version": 3, "id": about.id, "timestamp": about.created_at, "cwd": about.cwd}
        if about.parent_session_path is not None:
            header["parentSession"] = about.parent_session_path
        found = [write_entry(each) for each in await storage.get_entries()]
        return {"header": header, "entries": found, "leafId": await storage.get_leaf_id()}


async def session_write(params: Json) -> Json:
    with session_file(bytes_of(params)) as path:
        storage = await JsonlSessionStorage.open(LocalFileSystem(), str(path))
        for draft in params["drafts"]:
            await append(Session(storage), draft)
        return written(path)


async def session_append(params: Json) -> Json:
    session = await session_at(params)
    await append(session, params["draft"])
    return {"entry": write_entry((await session.get_entries())[-1]), "leafId": await session.get_leaf_id()}


async def session_fork(params: Json) -> Json:
    storage = MemorySessionStorage(entries=read_entries(params))
    return {"entries": [write_entry(each) for each in await get_entries_to_fork(storage, params["leafId"], "at")]}


# ---- projection, tokens, cut, preparation, files -------------------------------------------------------------------


async def projected(params: Json) -> Any:
    return context.build_session_context(await path_of(params))


async def projection_settings(params: Json) -> Json:
    found = await projected(params)
    return {"thinkingLevel": found.thinking_level, "model": found.model}


def of_context(params: Json) -> Json:
    """The port tells the size and whose usage it rests on; that usage's own size is asked for apart."""
    messages = read_messages(params)
    found = compaction.estimate_context_tokens(messages)
    at = found.last_usage_index
    usage = 0 if at is None else compaction.calculate_context_tokens(messages[at].usage)
    return {"tokens": found.tokens, "usageTokens": usage, "trailingTokens": found.tokens - usage, "lastUsageIndex": at}


def cut_find(params: Json) -> Json:
    cut = compaction.find_cut_point(
        read_entries(params), params["startIndex"], params["endIndex"], params["keepRecentTokens"]
    )
    return {
        "firstKeptEntryIndex": cut.first_kept_entry_index,
        "turnStartIndex": cut.turn_start_index,
        "isSplitTurn": cut.is_split_turn,
    }


def cut_turn_start(params: Json) -> Json:
    found = compaction.find_turn_start_index(read_entries(params), params["entryIndex"], params["startIndex"])
    return {"turnStartIndex": found}


async def prepare(params: Json) -> Json:
    """The port takes no settings: how much it keeps is a constant."""
    found = compaction.prepare_compaction(await path_of(params))
    if found is None:
        return {"preparation": None}
    return {
        "preparation": {
            "firstKeptEntryId": found.first_kept_entry_id,
            "messagesToSummarize": write(found.messages_to_summarize),
            "turnPrefixMessages": write(found.turn_prefix_messages),
            "isSplitTurn": found.is_split_turn,
            "tokensBefore": found.tokens_before,
            "previousSummary": found.previous_summary,
            "fileOperations": file_lists(found.file_ops),
        }
    }


def files_lists(params: Json) -> Json:
    before, index = [], -1
    if "previousDetails" in params:
        before, index = [entries.CompactionEntry("c", None, "", "text", "c", 0, params["previousDetails"])], 0
    return file_lists(compaction._extract_file_operations(read_messages(params), before, index))


# ---- summaries -----------------------------------------------------------------------------------------------------


def model_playing(script: Script, params: Json) -> Model:
    """A model whose API is a provider that plays the script; the port finds it in its registry."""

    async def provider(_model: Any, asked: Any, options: Any) -> AsyncIterator[Any]:
        reply = script.reply(
            {
                "system": asked.system_prompt,
                "prompt": asked.messages[0].content[0].text,
                "tools": [tool.name for tool in asked.tools or []],
                "maxTokens": options.max_tokens,
                "reasoning": options.reasoning,
                "cacheRetention": options.cache_retention or "short",  # what a provider does when not told
                "routingId": getattr(options, "session_id", None) or "",
            }
        )
        message = read_message(reply)
        if message.stop_reason in ("error", "aborted"):
            yield AssistantErrorEvent(message.stop_reason, message, message.error_message)
        else:
            yield AssistantDoneEvent(message=message)

    register_provider("scripted", provider)
    about = params["model"]
    return Model(
        id=about["id"],
        api="scripted",
        provider=about["provider"],
        context_window=about["contextWindow"],
        max_tokens=about["maxTokens"],
        reasoning=about["reasoning"],
    )


def failure(error: Exception) -> Json | None:
    if not isinstance(error, AgentHarnessError):
        return None
    return failed(str(error), "empty" if "produced empty summary" in str(error) else "failed")


async def compact(params: Json) -> Json:
    preparation = compaction.prepare_compaction(await path_of(params))

    async def use(script: Script) -> Json:
        if preparation is None:
            return {"nothing": True}
        model, focus = model_playing(script, params), params.get("customInstructions")
        found = await compaction.compact(model, lambda _: {}, preparation, focus)
        return {
            "compaction": {
                "summary": found.summary,
                "firstKeptEntryId": found.first_kept_entry_id,
                "tokensBefore": found.tokens_before,
                "details": found.details,
            }
        }

    return await played(params, use, failure)


async def branch_summarize(params: Json) -> Json:
    async def use(script: Script) -> Json:
        summary = await branch_summarization.generate_branch_summary(
            model_playing(script, params),
            lambda _: {},
            read_entries(params),
            params.get("customInstructions"),
            replace_instructions=params.get("replaceInstructions"),
        )
        return {"branchSummary": {"summary": summary}}

    return await played(params, use, failure)


async def branch_collect(params: Json) -> Json:
    session = Session(MemorySessionStorage(entries=read_entries(params)))
    left = params.get("leafId", await session.get_leaf_id())
    found, ancestor = await branch_summarization.collect_entries_for_branch_summary(session, left, params["targetId"])
    return {"entries": [each.id for each in found], "commonAncestorId": ancestor}


async def of_path(params: Json, use: Any) -> Json:
    return {"entries": [write_entry(each) for each in use(await path_of(params))]}


async def projection_messages(params: Json) -> Json:
    return {"messages": write((await projected(params)).messages)}


OPERATIONS = {
    "session/parse": session_parse,
    "session/write": session_write,
    "session/path": lambda p: of_path(p, list),
    "session/append": session_append,
    "session/fork": session_fork,
    "projection/entries": lambda p: of_path(p, context.select_display_entries),
    "projection/messages": projection_messages,
    "projection/settings": projection_settings,
    "tokens/from_usage": lambda p: {"tokens": compaction.calculate_context_tokens(p["usage"])},
    "tokens/of_message": lambda p: {"tokens": compaction.estimate_tokens(read_message(p["message"]))},
    "tokens/of_context": of_context,
    "overflow/is_overflow": lambda p: {
        "overflow": is_context_overflow(read_message(p["message"]), p.get("contextWindow"))
    },
    "cut/find": cut_find,
    "cut/turn_start": cut_turn_start,
    "compaction/prepare": prepare,
    "files/lists": files_lists,
    "files/format": lambda p: {"text": compaction.format_file_operations(p["readFiles"], p["modifiedFiles"])},
    "summary/serialize": lambda p: {"text": compaction._serialize_conversation(read_messages(p))},
    "summary/compact": compact,
    "branch/collect": branch_collect,
    "branch/summarize": branch_summarize,
}
