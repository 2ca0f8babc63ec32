"""pi-agent-harness-lc: an agent harness on LangChain, loosely after Pi's, with pydantic objects in Pi's names.

Entries come in through the port's own storage and go out as it writes them; messages come in as its session replay
reads them.
"""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

from pi_agent_core.messages import AssistantMessage, Usage
from pi_agent_core.types import Model, StreamOptions
from pi_agent_harness.compaction import compaction as summaries
from pi_agent_harness.compaction import utils
from pi_agent_harness.messages import harness_convert_to_llm
from pi_agent_harness.session import session as sessions
from pi_agent_harness.session.jsonl_storage import JsonlSessionStorage, _entry_to_json
from pi_agent_harness.session.memory_storage import MemorySessionStorage
from pi_agent_harness.session.repo_utils import get_entries_to_fork
from pi_agent_harness.types import CompactionSettings, SessionMetadata
from pydantic import BaseModel
from scripted_model import Script, played
from session_files import bytes_of, lines_of, session_file, written

Json = dict[str, Any]

ABOUT = {
    "name": "pi-agent-harness-lc",
    "distribution": "pi-agent-harness-lc",
    "url": "https://github.com/zy1233/pi-python",
}
KINDS = [
    (r"Entry .* not found", "entry_not_found"),
    (r"(first line is not a valid|missing) session header", "not_a_session"),
    (r"^ValidationError: ", "malformed_input"),
]

# ---- shapes --------------------------------------------------------------------------------------------------------


def read_messages(params: Json) -> list[Any]:
    return [sessions._message_from_raw(each) for each in params["messages"]]


def write_message(message: Any) -> Any:
    """A message object with the members that it was made with, without those that are None; a raw message as it is."""
    if not isinstance(message, BaseModel):
        return message
    held = message.model_dump(exclude_unset=True)
    return {"role": message.role, **{name: value for name, value in held.items() if value is not None}}


def write_messages(messages: list[Any]) -> list[Any]:
    return [write_message(each) for each in messages]


def write_entries(entries: list[Any]) -> list[Json]:
    return [json.loads(_entry_to_json(each)) for each in entries]


def settings_of(params: Json) -> CompactionSettings:
    names = {"enabled": "enabled", "reserveTokens": "reserve_tokens", "keepRecentTokens": "keep_recent_tokens"}
    given = params["settings"]
    return CompactionSettings.model_construct(
        **{ours: given[theirs] for theirs, ours in names.items() if theirs in given}
    )


# ---- sessions ------------------------------------------------------------------------------------------------------


async def loaded(params: Json) -> list[Any]:
    with session_file(lines_of(params["entries"])) as path:
        return await (await JsonlSessionStorage.open_path(path)).get_entries()


async def storage_at(params: Json) -> MemorySessionStorage:
    entries = await loaded(params)
    leaf_id = params.get("leafId", entries[-1].id if entries else None)
    return MemorySessionStorage(SessionMetadata(id="in-memory", createdAt=""), entries, leaf_id)


async def path_of(params: Json) -> list[Any]:
    storage = await storage_at(params)
    return await storage.get_path_to_root(await storage.get_leaf_id())


async def moved(session: sessions.Session, draft: Json) -> None:
    await session.move_to(draft["branchFromId"], {name: draft.get(name) for name in ("summary", "details", "fromHook")})


APPEND = {
    "message": lambda s, d: s.append_message(sessions._message_from_raw(d["message"])),
    "thinking_level_change": lambda s, d: s.append_thinking_level_change(d["thinkingLevel"]),
    "model_change": lambda s, d: s.append_model_change(d["provider"], d["modelId"]),
    "compaction": lambda s, d: s.append_compaction(
        d["summary"], d.get("firstKeptEntryId"), d["tokensBefore"], d.get("details"), d.get("fromHook")
    ),
    "branch_summary": moved,
    "custom": lambda s, d: s.append_custom_entry(d["customType"], d.get("data")),
    "custom_message": lambda s, d: s.append_custom_message_entry(
        d["customType"], d["content"], d["display"], d.get("details")
    ),
    "label": lambda s, d: s.append_label(d["targetId"], d.get("label")),
    "session_info": lambda s, d: s.append_session_name(d["name"]),
}


async def append(storage: Any, draft: Json) -> None:
    if draft["type"] not in APPEND:
        raise NotImplementedError(f"the port has no entry of type {draft['type']}")
    await APPEND[draft["type"]](sessions.Session(storage), draft)


async def session_parse(params: Json) -> Json:
    with session_file(bytes_of(params)) as path:
        storage = await JsonlSessionStorage.open_path(path)
        about = await storage.get_metadata()
        header = {"type": "session", "version": 3, "id": about.id, "timestamp": about.createdAt, "cwd": about.cwd}
        if about.parentSessionPath is not None:
            header["parentSession"] = about.parentSessionPath
        entries = write_entries(await storage.get_entries())
        return {"header": header, "entries": entries, "leafId": await storage.get_leaf_id()}


async def session_write(params: Json) -> Json:
    with session_file(bytes_of(params)) as path:
        storage = await JsonlSessionStorage.open_path(path)
        for draft in params["drafts"]:
            await append(storage, draft)
        return written(path)


async def session_append(params: Json) -> Json:
    storage = await storage_at(params)
    await append(storage, params["draft"])
    (entry,) = write_entries((await storage.get_entries())[-1:])
    return {"entry": entry, "leafId": await storage.get_leaf_id()}


async def session_fork(params: Json) -> Json:
    options = {"entryId": params["leafId"], "position": "at"}
    return {"entries": write_entries(await get_entries_to_fork(await storage_at(params), options))}


# ---- projection, preparation, files --------------------------------------------------------------------------------


async def projected(params: Json) -> Any:
    return sessions.build_session_context(await path_of(params))


async def projection_messages(params: Json) -> Json:
    return {"messages": write_messages((await projected(params)).messages)}


async def projection_settings(params: Json) -> Json:
    found = await projected(params)
    return {"thinkingLevel": found.thinkingLevel, "model": found.model}


async def prepare(params: Json) -> Json:
    """The port has one list of messages: it does not part the prefix of a split turn from the history."""
    found = utils.prepare_compaction(await path_of(params), settings_of(params))
    if found is None:
        return {"preparation": None}
    return {
        "preparation": {
            "firstKeptEntryId": found.firstKeptEntryId,
            "messagesToSummarize": write_messages(found.messages),
            "turnPrefixMessages": [],
            "isSplitTurn": found.splitTurnSummary is not None,
            "tokensBefore": found.tokensBefore,
            "previousSummary": found.previousSummary,
            "fileOperations": summaries.extract_file_details(found.messages, found.previousDetails),
        }
    }


# ---- summaries -----------------------------------------------------------------------------------------------------


def stream_playing(script: Script) -> Any:
    async def stream(_model: Any, asked: Any, options: StreamOptions) -> Any:
        reply = script.reply(
            {
                "system": asked.system_prompt,
                "prompt": asked.messages[0].content,
                "tools": [tool.name for tool in asked.tools or []],
                "maxTokens": None,  # the port has no such option
                "reasoning": options.reasoning,
                "cacheRetention": "short",  # what a provider does when not told
                "routingId": options.session_id or "",
            }
        )
        message: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        message.set_result(AssistantMessage.model_validate(reply))
        return SimpleNamespace(message_result=lambda: message)

    return stream


def model_of(params: Json) -> Model:
    about = params["model"]
    return Model(about["provider"], about["id"], context_window=about["contextWindow"], reasoning=about["reasoning"])


async def compact(params: Json) -> Json:
    preparation = utils.prepare_compaction(await path_of(params), settings_of(params))

    async def use(script: Script) -> Json:
        if preparation is None:
            return {"nothing": True}
        found = await summaries.compact_preparation(
            preparation, stream_playing(script), model_of(params), params.get("customInstructions")
        )
        return {"compaction": found.model_dump(include={"summary", "firstKeptEntryId", "tokensBefore", "details"})}

    return await played(params, use, lambda _: None)


async def branch_summarize(params: Json) -> Json:
    entries = await loaded(params)

    async def use(script: Script) -> Json:
        found = await summaries.create_branch_summary(
            entries, stream_playing(script), model_of(params), params.get("customInstructions")
        )
        if found is None:
            return {"branchSummary": {"summary": ""}}
        return {"branchSummary": {"summary": found.summary, **found.details}}

    return await played(params, use, lambda _: None)


async def branch_collect(params: Json) -> Json:
    """The port does not tell the common ancestor."""
    entries = await loaded(params)
    left = params.get("leafId", entries[-1].id if entries else None)
    found = summaries.collect_entries_for_branch_summary(entries, left, params["targetId"])
    return {"entries": [each.id for each in found], "commonAncestorId": None}


async def session_path(params: Json) -> Json:
    return {"entries": write_entries(await path_of(params))}


OPERATIONS = {
    "session/parse": session_parse,
    "session/write": session_write,
    "session/path": session_path,
    "session/append": session_append,
    "session/fork": session_fork,
    "projection/messages": projection_messages,
    "projection/settings": projection_settings,
    "messages/to_llm": lambda p: {"messages": write_messages(harness_convert_to_llm(read_messages(p)))},
    "tokens/from_usage": lambda p: {"tokens": utils.calculate_context_tokens(Usage.model_validate(p["usage"]))},
    "tokens/of_message": lambda p: {"tokens": utils.estimate_message_tokens(sessions._message_from_raw(p["message"]))},
    "trigger/should_compact": lambda p: {
        "compact": utils.should_compact(p["contextTokens"], p["contextWindow"], settings_of(p))
    },
    "compaction/prepare": prepare,
    "files/lists": lambda p: summaries.extract_file_details(read_messages(p), p.get("previousDetails")),
    "files/format": lambda p: {
        "text": summaries.format_file_details({"readFiles": p["readFiles"], "modifiedFiles": p["modifiedFiles"]})
    },
    "summary/serialize": lambda p: {"text": summaries.serialize_conversation(read_messages(p))},
    "summary/compact": compact,
    "branch/collect": branch_collect,
    "branch/summarize": branch_summarize,
}
