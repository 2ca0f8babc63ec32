"""The schemas are sound, they cover the protocol, and they take and refuse what they have to."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from jsonschema import Draft202012Validator

from compaction_conformance import schemas
from compaction_conformance.expectation import ERROR_KINDS
from compaction_conformance.paths import adapters_dir, fixtures_dir, spec_dir, vector_files
from compaction_reference.errors import Kind
from samples import CASE, VECTOR, plain

COST = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}
USAGE = {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 3, "cost": COST}
TIME = "2025-01-01T00:00:00.000Z"
TEXT = {"type": "text", "text": "hello"}
IMAGE = {"type": "image", "data": "AA==", "mimeType": "image/png"}
CALL = {"type": "toolCall", "id": "t1", "name": "read", "arguments": {"path": "a.txt"}}
SYSTEM = {"role": "system", "content": "", "sections": {"rules": "Be brief.", "docs": None}, "timestamp": 0}
USER = {"role": "user", "content": "hello", "timestamp": 0}
ASSISTANT = {
    "role": "assistant",
    "content": [{"type": "thinking", "thinking": "hm"}, TEXT, CALL],
    "api": "openai-completions",
    "provider": "acme",
    "model": "m-1",
    "usage": USAGE,
    "stopReason": "toolUse",
    "timestamp": 0,
}
TOOL_RESULT = {
    "role": "toolResult",
    "toolCallId": "t1",
    "toolName": "read",
    "content": [TEXT, IMAGE],
    "isError": False,
    "timestamp": 0,
}
BASH = {"role": "bashExecution", "command": "ls", "output": "", "cancelled": True, "truncated": False, "timestamp": 0}
CUSTOM = {"role": "custom", "customType": "note", "content": [TEXT], "display": True, "timestamp": 0}
COMPACTION_SUMMARY = {"role": "compactionSummary", "summary": "s", "tokensBefore": 1, "timestamp": 0}
HEADER = {"type": "session", "version": 3, "id": "s-1", "timestamp": TIME, "cwd": "/w"}
ROW = {"id": "OVP-01", "provider": "any", "regex": "x", "example": "x", "nearMiss": "y", "editions": ["pi-0.87"]}
RECOMMENDED: dict[str, Any] = {
    "note": "n",
    "meanings": {"over": "more than fits"},
    "words": [{"id": "OVW-01", "word": "over", "regex": " exceeds ", "example": "it exceeds"}],
    "numbers": [{"id": "OVN-01", "gives": ["limit"], "regex": " limit ([0-9]+) ", "example": "limit 5"}],
    "decisions": [
        {
            "id": "OVD-01",
            "overflow": True,
            "means": "m",
            "when": {"sentence": ["over"], "sentenceLacks": ["time"], "facts": ["no text"], "status": [400]},
            "example": {"errorMessage": "it exceeds"},
        }
    ],
}
HANDSHAKE = {
    "protocolVersion": 1,
    "implementation": {"name": "my-port", "version": "0.3.0"},
    "editions": ["pi-0.87"],
    "profiles": ["coding-agent"],
    "operations": ["tokens/of_message", "later/operation"],
}
SCENARIO = {
    "models": [{"provider": "acme", "id": "m", "contextWindow": 1000, "maxTokens": 100}],
    "replies": [{"text": "fine", "usage": {"input": 1}, "during": [{"do": "steer", "text": "left"}]}],
    "steps": [{"do": "prompt", "text": "one"}, {"do": "navigate", "target": {"of": "user", "nth": -1}}],
}
PLAYED = {
    **VECTOR,
    "operation": "control/run",
    "params": {"scenario": SCENARIO},
    "expect": {"result": {"trace": [{"event": "agent_start"}]}},
}
ESTIMATE = {"tokens": 3, "usageTokens": 0, "trailingTokens": 3, "lastUsageIndex": None}
PREPARATION = {
    "firstKeptEntryId": "u2",
    "messagesToSummarize": [USER],
    "turnPrefixMessages": [],
    "isSplitTurn": False,
    "tokensBefore": 9,
    "previousSummary": None,
    "fileOperations": {"readFiles": ["a"], "modifiedFiles": []},
}
LISTS = {"readFiles": ["a"], "modifiedFiles": []}
DAMAGED = [None, 42, "x", [], {"type": "message", "message": None}, {"type": "alien", "id": 7, "timestamp": None}]


def entry(kind: str, /, **own: Any) -> dict[str, Any]:
    return {"type": kind, "id": "e1", "parentId": None, "timestamp": TIME, **own}


def without(value: dict[str, Any], *names: str) -> dict[str, Any]:
    return {key: item for key, item in value.items() if key not in names}


def case_file(**own: Any) -> dict[str, Any]:
    """A file of the overflow corpus with one case."""
    case = {"id": "acme-too-long", **CASE, "response": plain(400, "too long")}
    return {"family": "acme", "cases": [{**case, **own}]}


MESSAGE = entry("message", message=USER)
COMPACTION = entry("compaction", summary="s", firstKeptEntryId="e1", tokensBefore=1)
EDIT = entry("context_edit", targetId="e0", replacement=None)
HARNESS_HEADER = {"v": 4, "kind": "header", "id": "s1", "storageVersion": 1, "createdAt": 0, "cwd": "/p"}
HARNESS_MESSAGE = {"type": "message", "id": "e1", "parentId": None, "seq": 1, "timestamp": 0, "message": USER}
HARNESS_COMPACTION = {
    "type": "compaction",
    "id": "e2",
    "parentId": "e1",
    "seq": 2,
    "timestamp": 0,
    "summary": "s",
    "retainedTail": [USER],
    "tokensBefore": 1,
    "fromHook": False,
}
TIP = {"kind": "value", "op": "set", "namespace": "pi.branch.tip", "key": "main", "value": "e1", "seq": 1}

# name of the schema: values that it takes, and values that it refuses with the pointer to the fault
EXAMPLES: dict[str, tuple[list[Any], list[tuple[Any, str]]]] = {
    "header": (
        [HEADER, {**HEADER, "parentSession": "/p.jsonl", "later": 1}],
        [
            ({**HEADER, "version": 2}, "/version"),
            ({**HEADER, "version": "3"}, "/version"),
            ({**HEADER, "id": 7}, "/id"),
            ({**HEADER, "id": "-a"}, "/id"),
            ({**HEADER, "timestamp": "2025-01-01T00:00:00Z"}, "/timestamp"),
            ({**HEADER, "timestamp": TIME + "\n"}, "/timestamp"),
            (without(HEADER, "cwd"), ""),
            ([], ""),
        ],
    ),
    "harness/header": (
        [HARNESS_HEADER, {**HARNESS_HEADER, "nextSeq": 5, "parentSessionId": "s0", "later": 1}],
        [
            ({**HARNESS_HEADER, "v": 3}, "/v"),
            ({**HARNESS_HEADER, "storageVersion": 2}, "/storageVersion"),
            ({**HARNESS_HEADER, "createdAt": -1}, "/createdAt"),
            (without(HARNESS_HEADER, "cwd"), ""),
        ],
    ),
    "harness/entry": (
        [HARNESS_MESSAGE, HARNESS_COMPACTION, {**HARNESS_MESSAGE, "parentId": "e0", "terminate": True}],
        [
            ({**HARNESS_MESSAGE, "type": "label"}, "/type"),
            ({**HARNESS_MESSAGE, "seq": 0}, "/seq"),
            ({**HARNESS_MESSAGE, "timestamp": TIME}, "/timestamp"),
            (without(HARNESS_COMPACTION, "retainedTail"), ""),
            ({**HARNESS_COMPACTION, "retainedTail": [{"role": "alien"}]}, "/retainedTail/0/role"),
        ],
    ),
    "harness/transaction": (
        [
            {"kind": "entry", **HARNESS_MESSAGE},
            [{"kind": "entry", **HARNESS_MESSAGE}, {**TIP, "seq": 2}],
            [],
            {"kind": "usage", "id": "r1", "usage": USAGE, "adjustment": False, "seq": 1},
        ],
        [
            ({"kind": "alien", "seq": 1}, "/kind"),
            ([TIP, {"kind": "value", "seq": 2}], "/1"),
            ({**TIP, "namespace": ""}, "/namespace"),
            ("text", ""),
        ],
    ),
    "tolerant/header": (
        [{"type": "session", "id": ""}, {"type": "session", "id": "x", "version": 99}],
        [({"type": "session", "id": 1}, "/id"), ({"type": "session"}, ""), ({"type": "message", "id": "x"}, "/type")],
    ),
    "entry": (
        [MESSAGE, COMPACTION, EDIT],
        [
            ({**MESSAGE, "type": "alien"}, "/type"),
            (without(MESSAGE, "type"), ""),
            ({**MESSAGE, "message": None}, "/message"),
            (42, ""),
        ],
    ),
    "tolerant/entry": (
        [
            {},
            {"type": "alien", "timestamp": 1},
            {"type": "message", "message": {"role": "hookMessage", "content": None}},
            {"type": "message", "message": {"role": "user"}, "timestamp": None},
            {"type": "compaction", "firstKeptEntryIndex": 3},
            {"type": "custom_message", "content": None},
            {"id": 7, "parentId": 6},
        ],
        [
            ({"type": "message"}, ""),
            ({"type": "message", "message": None}, "/message"),
            ({"type": "message", "message": {"content": 5}}, "/message/content"),
            ({"type": "message", "message": {"content": [None]}}, "/message/content/0"),
            ({"type": "context_edit"}, ""),
            ({"timestamp": {}}, "/timestamp"),
            ([], ""),
        ],
    ),
    "entries/message": (
        [entry("message", message=each) for each in (SYSTEM, USER, ASSISTANT, TOOL_RESULT, BASH, CUSTOM)],
        [
            ({**MESSAGE, "id": 7}, "/id"),
            ({**MESSAGE, "id": ""}, "/id"),
            ({**MESSAGE, "timestamp": 1735689600000}, "/timestamp"),
            (without(MESSAGE, "parentId"), ""),
            (without(MESSAGE, "message"), ""),
            (entry("message", message={**USER, "content": None}), "/message/content"),
            (entry("message", message={**USER, "timestamp": TIME}), "/message/timestamp"),
            (entry("message", message={**USER, "role": "hookMessage"}), "/message/role"),
            (entry("message", message=COMPACTION_SUMMARY), "/message/role"),
            (entry("message", message={**USER, "content": [CALL]}), "/message/content/0/type"),
            (entry("message", message={**USER, "content": [{"type": "text"}]}), "/message/content/0"),
            (entry("message", message={**ASSISTANT, "content": "plain"}), "/message/content"),
            (entry("message", message={**ASSISTANT, "stopReason": "done"}), "/message/stopReason"),
            (entry("message", message={**ASSISTANT, "usage": without(USAGE, "totalTokens")}), "/message/usage"),
            (entry("message", message={**ASSISTANT, "usage": {**USAGE, "input": None}}), "/message/usage/input"),
            (entry("message", message={**TOOL_RESULT, "isError": 0}), "/message/isError"),
            (entry("message", message={**SYSTEM, "sections": {"a": 1}}), "/message/sections/a"),
            (entry("message", message={**SYSTEM, "toolsAdded": [{"name": "read"}]}), "/message/toolsAdded/0"),
        ],
    ),
    "entries/thinking_level_change": (
        [entry("thinking_level_change", thinkingLevel="high")],
        [(entry("thinking_level_change", thinkingLevel=3), "/thinkingLevel"), (entry("thinking_level_change"), "")],
    ),
    "entries/model_change": (
        [entry("model_change", provider="acme", modelId="m")],
        [(entry("model_change", provider="acme", model="m"), "")],
    ),
    "entries/usage": (
        [entry("usage", kind="cache_warm", provider="acme", model="m", usage=USAGE, note="n")],
        [(entry("usage", kind="cache_warm", provider="acme", model="m", usage={}), "/usage"), (entry("usage"), "")],
    ),
    "entries/compaction": (
        [COMPACTION, {**COMPACTION, "details": None, "usage": USAGE, "fromHook": True, "systemMessage": SYSTEM}],
        [
            ({**COMPACTION, "firstKeptEntryId": None}, "/firstKeptEntryId"),
            ({**COMPACTION, "systemMessage": USER}, "/systemMessage/role"),
            (without(COMPACTION, "firstKeptEntryId"), ""),
        ],
    ),
    "entries/branch_summary": (
        [entry("branch_summary", fromId="root", summary="s")],
        [(entry("branch_summary", fromId=None, summary="s"), "/fromId"), (entry("branch_summary", fromId="a"), "")],
    ),
    "entries/custom": (
        [entry("custom", customType="x"), entry("custom", customType="x", data=[1])],
        [(entry("custom"), "")],
    ),
    "entries/custom_message": (
        [entry("custom_message", customType="x", content="c", display=False)],
        [(entry("custom_message", customType="x", content=None, display=False), "/content")],
    ),
    "entries/context_edit": (
        [EDIT, {**EDIT, "replacement": {"content": ""}}, {**EDIT, "replacement": {"content": [CALL], "extra": 1}}],
        [
            (without(EDIT, "replacement"), ""),
            ({**EDIT, "replacement": "x"}, "/replacement"),
            ({**EDIT, "replacement": {}}, "/replacement"),
            ({**EDIT, "replacement": {"content": None}}, "/replacement/content"),
        ],
    ),
    "entries/label": (
        [entry("label", targetId="a", label="mark"), entry("label", targetId="a")],
        [(entry("label", label="mark"), ""), (entry("label", targetId="a", label=None), "/label")],
    ),
    "entries/session_info": (
        [entry("session_info"), entry("session_info", name="n")],
        [(entry("session_info", name=None), "/name"), ({**entry("session_info"), "type": "label"}, "/type")],
    ),
    "draft": (
        [
            {"type": "message", "message": {"role": "alien", "content": None}},
            {"type": "compaction", "summary": "", "firstKeptEntryId": None, "tokensBefore": -1},
            {"type": "compaction", "summary": "", "tokensBefore": 0},
            {"type": "branch_summary", "branchFromId": None, "summary": "s"},
            {"type": "context_edit", "targetId": "a"},
            {"type": "context_edit", "targetId": "a", "replacement": [42]},
            {"type": "label", "targetId": "a"},
            {"type": "session_info", "name": "a\nb"},
        ],
        [
            ({"type": "message", "id": "e1", "message": USER}, "/id"),
            ({"type": "compaction", "summary": "", "firstKeptEntryId": "a"}, ""),
            ({"type": "branch_summary", "fromId": "a", "summary": "s"}, ""),
            ({"type": "alien"}, "/type"),
            ({}, ""),
        ],
    ),
    "settings": (
        [
            {},
            {"theme": "dark", "compaction": {"enabled": False, "reserveTokens": 0}},
            {
                "compaction": {"modelOverrides": {"acme/m": {"keepRecentTokens": 1}}},
                "branchSummary": {"skipPrompt": True},
            },
        ],
        [
            ({"compaction": {"reserveTokens": -1}}, "/compaction/reserveTokens"),
            ({"compaction": {"reserveTokens": 1.5}}, "/compaction/reserveTokens"),
            ({"compaction": {"keepRecentTokens": 2**53}}, "/compaction/keepRecentTokens"),
            ({"compaction": {"modelOverrides": {"acme/m": []}}}, "/compaction/modelOverrides/acme~1m"),
            ({"compaction": {"enabled": "no"}}, "/compaction/enabled"),
        ],
    ),
    "vector": (
        [
            VECTOR,
            {**VECTOR, "twin": "PRJ-b", "given": {"roles": ["user", None]}, "timeLimit": 0.5, "editions": ["pi-0.87"]},
            {**VECTOR, "expect": {"error": {"kind": "entry_not_found"}}},
            {**VECTOR, "expect": {"answer": "any"}},
            {
                **VECTOR,
                "expect": {
                    "readings": [
                        {"reading": "pi", "result": {}},
                        {"reading": "refuse", "error": {"kind": "malformed_input"}},
                    ]
                },
            },
        ],
        [
            ({**VECTOR, "id": "PRJ"}, "/id"),
            ({**VECTOR, "requirements": []}, "/requirements"),
            ({**VECTOR, "requirements": ["PRJ-07", "PRJ-07"]}, "/requirements"),
            ({**VECTOR, "description": "a label should be found"}, "/description"),
            ({**VECTOR, "given": {"entrys": 1}}, "/given"),
            ({**VECTOR, "operation": "projection/build"}, "/operation"),
            ({**VECTOR, "expect": {}}, "/expect"),
            ({**VECTOR, "expect": {"result": {}, "answer": "any"}}, "/expect"),
            ({**VECTOR, "expect": {"error": {"kind": "odd"}}}, "/expect/error/kind"),
            ({**VECTOR, "expect": {"readings": [{"reading": "pi"}]}}, "/expect/readings/0"),
            ({**VECTOR, "evidence": {"grade": "guess", "source": "x"}}, "/evidence/grade"),
            ({**VECTOR, "timeLimit": 0}, "/timeLimit"),
            ({**VECTOR, "note": "x"}, ""),
        ],
    ),
    "vector-file": (
        [{"chapter": "projection", "vectors": [VECTOR]}],
        [
            ({"chapter": "03-projection", "vectors": [VECTOR]}, "/chapter"),
            ({"chapter": "projection", "vectors": []}, "/vectors"),
            ({"chapter": "projection", "vectors": [without(VECTOR, "evidence")]}, "/vectors/0"),
            ({"vectors": [VECTOR]}, ""),
        ],
    ),
    "overflow-case-file": (
        [case_file(), case_file(response={"frames": [], "end": "cut"}), case_file(disputed=True, policy="p")],
        [
            (without(case_file(), "family"), ""),
            ({**case_file(), "family": "No Family"}, "/family"),
            ({**case_file(), "cases": []}, "/cases"),
            (case_file(id="UPPER"), "/cases/0/id"),
            (case_file(api="soap"), "/cases/0/api"),
            (case_file(label="not-overflow"), "/cases/0/of"),
            (case_file(policy="p"), "/cases/0/policy"),
            (case_file(disputed=True), "/cases/0"),
            (case_file(response={"status": 200}), "/cases/0/response"),
            (case_file(response={"status": 200, "body": "", "frames": []}), "/cases/0/response/frames"),
            (case_file(response={"frames": []}), "/cases/0/response"),
            (case_file(response={"status": 200, "body": "", "end": "cut"}), "/cases/0/response"),
            (case_file(response={"status": 204, "body": ""}), "/cases/0/response/status"),
            (case_file(response={"status": 200, "headers": {"A": "b"}, "body": ""}), "/cases/0/response/headers"),
            (
                case_file(response={"status": 200, "headers": {"a": "b\r\nc"}, "body": ""}),
                "/cases/0/response/headers/a",
            ),
            (case_file(response={"status": 200, "bodyBase64": "AAA"}), "/cases/0/response/bodyBase64"),
            (case_file(evidence={"grade": "hearsay", "source": "ours", "seen": "2026"}), "/cases/0/evidence/grade"),
            (case_file(evidence={"grade": "verbatim", "source": "a blog", "seen": "2026"}), "/cases/0/evidence/source"),
            (case_file(evidence={"grade": "verbatim", "source": "ours", "seen": "2026-13"}), "/cases/0/evidence/seen"),
            (
                case_file(answers={"pi": {"stopReason": "stop", "errorMessage": None, "overflow": True}}),
                "/cases/0/answers",
            ),
            (case_file(answers={"pi-0.87": {"stopReason": "stop", "overflow": True}}), "/cases/0/answers/pi-0.87"),
        ],
    ),
    "recommended-overflow": (
        [RECOMMENDED],
        [
            ({**RECOMMENDED, "words": [{**RECOMMENDED["words"][0], "word": "Two"}]}, "/words/0/word"),
            ({**RECOMMENDED, "numbers": [{**RECOMMENDED["numbers"][0], "gives": ["price"]}]}, "/numbers/0/gives/0"),
            ({**RECOMMENDED, "decisions": [without(RECOMMENDED["decisions"][0], "example")]}, "/decisions/0"),
            (without(RECOMMENDED, "note"), ""),
        ],
    ),
    "overflow-patterns": (
        [{"edition": "pi-0.87", "note": "n", "patterns": [ROW], "exclusions": [ROW], "providerRules": [ROW]}],
        [
            (
                {
                    "edition": "pi-0.87",
                    "note": "n",
                    "patterns": [without(ROW, "nearMiss")],
                    "exclusions": [ROW],
                    "providerRules": [ROW],
                },
                "/patterns/0",
            ),
            ({"edition": "pi-0.87", "note": "n", "patterns": [ROW]}, ""),
        ],
    ),
    "protocol/initialize.params": (
        [{"protocolVersion": 1, "edition": "pi-0.87", "profile": "harness"}],
        [
            ({"protocolVersion": "1", "edition": "pi-0.87", "profile": "harness"}, "/protocolVersion"),
            ({"protocolVersion": 1, "edition": "0.87", "profile": "harness"}, "/edition"),
            ({"protocolVersion": 1, "edition": "pi-0.87", "profile": "cli"}, "/profile"),
        ],
    ),
    "protocol/initialize.result": (
        [HANDSHAKE, {**HANDSHAKE, "extra": 1}],
        [
            ({**HANDSHAKE, "implementation": {"name": "x"}}, "/implementation"),
            ({**HANDSHAKE, "operations": ["a/b", "a/b"]}, "/operations"),
            ({**HANDSHAKE, "operations": ["tokens"]}, "/operations/0"),
            ({**HANDSHAKE, "editions": []}, "/editions"),
            (None, ""),
        ],
    ),
    "protocol/request": (
        [{"jsonrpc": "2.0", "id": 0, "method": "tokens/of_message", "params": {}}],
        [
            ({"jsonrpc": "2.0", "id": "0", "method": "x", "params": {}}, "/id"),
            ({"jsonrpc": "2.0", "id": 0, "method": "x", "params": {}, "vector": "PRJ-a"}, ""),
        ],
    ),
    "protocol/response": (
        [
            {"jsonrpc": "2.0", "id": 1, "result": {}},
            {"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "unknown"}},
            {"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "", "data": {"kind": "not_on_path"}}},
        ],
        [
            ({"jsonrpc": "2.0", "id": 1}, ""),
            ({"id": 1, "result": {}}, ""),
            ({"jsonrpc": "1.0", "id": 1, "result": {}}, "/jsonrpc"),
            ({"jsonrpc": "2.0", "id": None, "result": {}}, "/id"),
            ({"jsonrpc": "2.0", "id": 1, "result": 2}, "/result"),
            ({"jsonrpc": "2.0", "id": 1, "result": {}, "error": {"code": 1, "message": ""}}, "/result"),
            ({"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "x"}}, "/error"),
            (
                {"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "", "data": {"kind": "odd"}}},
                "/error/data/kind",
            ),
        ],
    ),
}

PATH = {"entries": DAMAGED, "leafId": None}
TOKENS = ({"tokens": 2}, ({"tokens": "2"}, "/tokens"))
OF_PATH = (PATH, ({"entries": [], "leafId": 3}, "/leafId"))
MESSAGES = ({"messages": DAMAGED}, ({"messages": {}}, "/messages"))
ENTRIES = ({"entries": DAMAGED}, ({"entries": None}, "/entries"))
SCRIPT = {
    "model": {"provider": "p", "id": "m", "contextWindow": 0},
    "replies": [ASSISTANT, {"throws": "boom"}],
    "retry": {"enabled": True, "maxRetries": 3, "baseDelayMs": 0},
    "abortDuringWait": 1,
    "sessionId": "s-1",
}
LIVE = {"messages": DAMAGED, "routingId": "s-1", "cacheRetention": "short"}
REQUEST = {"system": "s", "prompt": "p", "tools": [], "maxTokens": None, "cacheRetention": "none", "routingId": "r"}
CALLS = {"requests": [REQUEST], "retries": [{"request": 0, "attempt": 1, "delayMs": 0.5}]}
Pair = tuple[Any, tuple[Any, str]]

# operation: (params taken, params refused), (result taken, result refused)
OPERATIONS: dict[str, tuple[Pair, Pair]] = {
    "session/parse": (
        ({"content": ""}, ({"content": "", "contentBase64": ""}, "")),
        ({"header": {"type": "session", "id": "x"}, "entries": DAMAGED}, ({"header": None, "entries": []}, "/header")),
    ),
    "session/write": (
        ({"content": None, "drafts": []}, ({"content": None, "drafts": [{}]}, "/drafts/0")),
        ({"content": None}, ({"content": 1}, "/content")),
    ),
    "session/path": (OF_PATH, ENTRIES),
    "session/tree": (
        ENTRIES,
        (
            {"roots": ["a", 1, None], "children": {"a": ["b"]}, "labels": {"a": "x"}, "name": None},
            ({"roots": [], "children": {"a": "b"}, "labels": {}, "name": None}, "/children/a"),
        ),
    ),
    "session/append": (
        ({**PATH, "draft": {"type": "custom", "customType": "x"}}, ({**PATH, "draft": {"type": "custom"}}, "/draft")),
        ({"entry": {}, "leafId": "a"}, ({"entry": [], "leafId": "a"}, "/entry")),
    ),
    "session/fork": ((PATH, ({"entries": []}, "")), ENTRIES),
    "projection/entries": (OF_PATH, ENTRIES),
    "projection/messages": (OF_PATH, MESSAGES),
    "projection/sources": (
        OF_PATH,
        (
            {"sources": [{"id": "a", "messages": 0}]},
            ({"sources": [{"id": "a", "messages": -1}]}, "/sources/0/messages"),
        ),
    ),
    "projection/settings": (
        OF_PATH,
        ({"thinkingLevel": "off", "model": {"provider": "p", "modelId": "m"}}, ({"thinkingLevel": "off"}, "")),
    ),
    "system/current": (MESSAGES, ({"message": None, "prompt": ""}, ({"message": "", "prompt": ""}, "/message"))),
    "messages/to_llm": (MESSAGES, MESSAGES),
    "tokens/from_usage": (({"usage": None}, ({}, "")), ({"tokens": None}, ({"tokens": True}, "/tokens"))),
    "tokens/of_message": (({"message": None}, ({"message": {}, "id": 1}, "")), TOKENS),
    "tokens/of_context": (MESSAGES, (ESTIMATE, ({**ESTIMATE, "lastUsageIndex": 0.5}, "/lastUsageIndex"))),
    "tokens/of_projection": (OF_PATH, (ESTIMATE, (without(ESTIMATE, "trailingTokens"), ""))),
    "tokens/last_usage": (ENTRIES, ({"usage": None}, ({"usage": 1}, "/usage"))),
    "tokens/context_usage": (
        ({**PATH, "contextWindow": None}, (PATH, "")),
        (
            {"usage": {"tokens": None, "contextWindow": 1000, "percent": None}},
            ({"usage": {"tokens": 1, "contextWindow": 1000}}, "/usage"),
        ),
    ),
    "settings/resolve": (
        (
            {"global": {"compaction": 1}, "project": {}, "model": None},
            ({"global": {}, "project": None, "model": None}, "/project"),
        ),
        (
            {"enabled": "no", "reserveTokens": 0, "keepRecentTokens": 1},
            ({"enabled": True, "reserveTokens": -1, "keepRecentTokens": 1}, "/reserveTokens"),
        ),
    ),
    "trigger/should_compact": (
        ({"contextTokens": None, "contextWindow": 1, "settings": {}}, ({"contextTokens": 1, "contextWindow": 1}, "")),
        ({"compact": True}, ({"compact": 1}, "/compact")),
    ),
    "overflow/is_overflow": (
        ({"message": {}, "contextWindow": 1}, ({"contextWindow": 1}, "")),
        ({"overflow": False}, ({"overflow": None}, "/overflow")),
    ),
    "overflow/is_recoverable_length": (
        ({"message": {}, "desiredMaxOutput": 1}, ({"message": {}}, "")),
        ({"recoverable": False}, ({"recoverable": "no"}, "/recoverable")),
    ),
    "overflow/classify_text": (
        (
            {"errorMessage": "too long", "status": 400, "api": "ollama", "provider": "p", "maxOutputTokens": 8},
            ({"status": 400}, ""),
        ),
        ({"overflow": True, "because": "OVD-06"}, ({"overflow": True}, "")),
    ),
    "overflow/classify": (
        (
            {
                "baseUrl": "http://127.0.0.1:8080/case/a",
                "api": "ollama",
                "provider": "p",
                "model": "m",
                "timeoutMs": 100,
            },
            ({"baseUrl": "http://example.com/", "api": "ollama", "provider": "p", "model": "m"}, "/baseUrl"),
        ),
        (
            {"stopReason": "error", "errorMessage": None, "overflow": False, "retryable": True},
            ({"stopReason": "pending", "errorMessage": None, "overflow": False}, "/stopReason"),
        ),
    ),
    "cut/find": (
        (
            {"entries": DAMAGED, "startIndex": 0, "endIndex": 2, "keepRecentTokens": 1},
            ({"entries": [], "startIndex": 0.5, "endIndex": 2, "keepRecentTokens": 1}, "/startIndex"),
        ),
        (
            {"firstKeptEntryIndex": 0, "turnStartIndex": -1, "isSplitTurn": False},
            ({"firstKeptEntryIndex": 0, "turnStartIndex": -2, "isSplitTurn": False}, "/turnStartIndex"),
        ),
    ),
    "cut/turn_start": (
        ({"entries": DAMAGED, "entryIndex": 1, "startIndex": 0}, ({"entries": [], "entryIndex": 1}, "")),
        ({"turnStartIndex": -1}, ({"turnStartIndex": None}, "/turnStartIndex")),
    ),
    "compaction/prepare": (
        ({**PATH, "settings": {"keepRecentTokens": "x"}}, ({**PATH, "settings": None}, "/settings")),
        (
            {"preparation": PREPARATION},
            ({"preparation": {**PREPARATION, "previousSummary": 1}}, "/preparation/previousSummary"),
        ),
    ),
    "files/lists": (
        ({"messages": DAMAGED, "previousDetails": "x"}, ({"messages": 1}, "/messages")),
        (LISTS, (without(LISTS, "readFiles"), "")),
    ),
    "files/format": (
        (LISTS, ({**LISTS, "modifiedFiles": None}, "/modifiedFiles")),
        ({"text": ""}, ({"text": None}, "/text")),
    ),
    "summary/serialize": (MESSAGES, ({"text": ""}, ({"text": None}, "/text"))),
    "summary/compact": (
        (
            {**PATH, **SCRIPT, "settings": {}, "customInstructions": "", "sourceContext": LIVE},
            ({**PATH, **SCRIPT, "settings": {}, "sourceContext": without(LIVE, "routingId")}, "/sourceContext"),
        ),
        (
            {**CALLS, "outcome": {"error": {"kind": "incomplete", "message": "cut off"}}},
            ({**CALLS, "outcome": {"nothing": True, "aborted": True}}, "/outcome"),
        ),
    ),
    "branch/collect": (
        ({**PATH, "targetId": "x"}, (PATH, "")),
        (
            {"entries": ["u1", None], "commonAncestorId": None},
            ({"entries": [{}], "commonAncestorId": None}, "/entries/0"),
        ),
    ),
    "branch/prepare": (
        ({"entries": DAMAGED, "tokenBudget": -1}, ({"entries": DAMAGED, "tokenBudget": "1"}, "/tokenBudget")),
        (
            {"messages": DAMAGED, "totalTokens": None, **LISTS},
            ({"messages": DAMAGED, "totalTokens": 1, "readFiles": []}, ""),
        ),
    ),
    "branch/summarize": (
        (
            {"entries": DAMAGED, **SCRIPT, "reserveTokens": 0, "replaceInstructions": True},
            ({"entries": DAMAGED, **SCRIPT, "retry": {"enabled": True}}, "/retry"),
        ),
        (
            {**CALLS, "outcome": {"branchSummary": {"summary": "s", **LISTS}}},
            ({**CALLS, "requests": [{**REQUEST, "system": ""}], "outcome": {"aborted": True}}, "/requests/0/system"),
        ),
    ),
    "branch/settings": (
        ({"global": {}, "project": {"branchSummary": 5}}, ({"global": {}}, "")),
        ({"reserveTokens": "x", "skipPrompt": False}, ({"reserveTokens": 1}, "")),
    ),
    "retry/is_retryable": (
        ({"message": None}, ({}, "")),
        ({"retryable": False}, ({"retryable": 0}, "/retryable")),
    ),
    "retry/settings": (
        ({"global": {}, "project": {}}, ({"global": {}, "project": None}, "/project")),
        (
            {"enabled": True, "maxRetries": 3, "baseDelayMs": 2000, "maxAgentDelayMs": 60000},
            ({"enabled": True, "maxRetries": 3, "baseDelayMs": 2000}, ""),
        ),
    ),
    "control/run": (
        ({"scenario": SCENARIO}, ({"scenario": {"models": []}}, "/scenario")),
        ({"trace": [{"event": "agent_start"}]}, ({"trace": {}}, "/trace")),
    ),
}
EXAMPLES["report"] = (
    [
        {
            "type": "header",
            "suite": {"name": "pi-compaction-conformance", "version": "0.1.0", "digest": "0" * 64},
            "edition": "pi-0.87",
            "profile": "coding-agent",
            "implementation": {"name": "x", "version": "1", "language": "go", "url": "", "operations": []},
        },
        {
            "type": "outcome",
            "vector": "PRJ-retain-none",
            "chapter": "projection",
            "requirements": ["PRJ-07"],
            "level": "MUST",
            "operation": "projection/messages",
            "status": "failed",
            "failure": "mismatch",
            "pointer": "/messages/0",
            "got": None,
        },
        {"type": "footer", "counts": {"MUST": {"passed": 1}}, "exitCode": 0},
    ],
    [
        ({"type": "footer", "counts": {}, "exitCode": 2}, "/exitCode"),
        ({"type": "nothing"}, ""),
    ],
)
EXAMPLES["scenario"] = (
    [SCENARIO, {**SCENARIO, "hooks": [{"on": "turn_end", "answer": {"entries": [], "continue": True}}]}],
    [
        ({**SCENARIO, "steps": []}, "/steps"),
        ({**SCENARIO, "steps": [{"do": "dance"}]}, "/steps/0/do"),
        ({**SCENARIO, "steps": [{"do": "prompt"}]}, "/steps/0"),
        ({**SCENARIO, "steps": [{"do": "navigate", "target": {"of": "alien"}}]}, "/steps/0/target/of"),
        ({**SCENARIO, "hooks": [{"on": "alien"}]}, "/hooks/0/on"),
        ({**SCENARIO, "replies": [{"text": 5}]}, "/replies/0/text"),
        ({**SCENARIO, "maxRequests": 0}, "/maxRequests"),
        (without(SCENARIO, "models"), ""),
    ],
)
EXAMPLES["scenario-trace"] = (
    [[], [{"step": 1, "do": "abort"}, {"stopped": "requests"}]],
    [([{}], "/0"), ([{"step": 1}], "/0"), ([{"event": "alien"}], "/0/event"), ([{"alien": 1}], "/0")],
)
EXAMPLES["scenario-file"] = (
    [{"chapter": "control", "vectors": [PLAYED]}],
    [
        ({"chapter": "tokens", "vectors": [PLAYED]}, "/chapter"),
        ({"chapter": "control", "vectors": [{**PLAYED, "operation": "session/path"}]}, "/vectors/0/operation"),
        ({"chapter": "control", "vectors": []}, "/vectors"),
    ],
)
NOTE = {"id": "cjk", "about": "text", "exercises": ["text"], "requirements": ["PRJ-33"], "strict": True}
EXAMPLES["sessions-file"] = (
    [{"sessions": [NOTE, {**NOTE, "sample": 90}]}],
    [
        ({"sessions": []}, "/sessions"),
        ({"sessions": [{**NOTE, "id": "C J K"}]}, "/sessions/0/id"),
        ({"sessions": [{**NOTE, "requirements": ["PRJ33"]}]}, "/sessions/0/requirements/0"),
        ({"sessions": [{**NOTE, "sample": 1}]}, "/sessions/0/sample"),
        ({"sessions": [without(NOTE, "about")]}, "/sessions/0"),
    ],
)
QUESTION = {"operation": "cut/find", "takes": "path", "requirement": "CUT-08", "with": [{"keepRecentTokens": 0}]}
EXAMPLES["questions-file"] = (
    [{"questions": [QUESTION, without(QUESTION, "with")]}],
    [
        ({"questions": [{**QUESTION, "operation": "cut/lose"}]}, "/questions/0/operation"),
        ({"questions": [{**QUESTION, "takes": "time"}]}, "/questions/0/takes"),
        ({"questions": [{**QUESTION, "with": []}]}, "/questions/0/with"),
        ({"questions": [without(QUESTION, "requirement")]}, "/questions/0"),
    ],
)
ROW = {"operation": "cut/find", "with": {"keepRecentTokens": 0}, "digests": ["0a1b2c3d", "CUT-25"]}
SWEEP = {
    "session": "cjk",
    "edition": "pi-0.87",
    "source": "pi 0.87.0",
    "points": [[0, None], [1, "a"]],
    "sizes": [140],
    "answers": [ROW],
}
EXAMPLES["sweep-file"] = (
    [SWEEP],
    [
        ({**SWEEP, "points": [[0]]}, "/points/0"),
        ({**SWEEP, "points": [[-1, None]]}, "/points/0/0"),
        ({**SWEEP, "sizes": [0]}, "/sizes/0"),
        ({**SWEEP, "answers": [{**ROW, "digests": ["0A1B2C3D"]}]}, "/answers/0/digests/0"),
        (without(SWEEP, "edition"), ""),
    ],
)
ANSWERS = ("settings", "sources", "messages", "llmMessages", "system", "tokens")
LEAF: dict[str, Any] = {
    "leafId": "a",
    **{name: {"error": {"kind": "malformed_input"}} for name in ANSWERS},
    **{name: [{"open": "PRE-30"}] for name in ("contextUsage", "cuts", "preparations")},
}
GOLDEN: dict[str, Any] = {
    "session": "cjk",
    "edition": "pi-0.87",
    "source": "pi 0.87.0",
    "parse": {"header": {"lines": [1, 1]}, "entries": [{"lines": [2, 9]}, {"type": "label"}], "leafId": "a"},
    "leaves": [LEAF],
}
EXAMPLES["golden-file"] = (
    [GOLDEN],
    [
        ({**GOLDEN, "leaves": []}, "/leaves"),
        ({**GOLDEN, "leaves": [{**LEAF, "cuts": []}]}, "/leaves/0/cuts"),
        ({**GOLDEN, "leaves": [{**LEAF, "tokens": {"open": "maybe"}}]}, "/leaves/0/tokens/open"),
        ({**GOLDEN, "parse": {**GOLDEN["parse"], "entries": [{"lines": [2]}]}}, "/parse/entries/0/lines"),
        (without(GOLDEN, "source"), ""),
    ],
)
for _operation, (_params, _result) in OPERATIONS.items():
    EXAMPLES[schemas.params_schema(_operation)] = ([_params[0]], [_params[1]])
    EXAMPLES[schemas.result_schema(_operation)] = ([_result[0]], [_result[1], ({**_result[0], "surplus": 1}, "")])

TAKEN = [(name, value) for name, (taken, _) in EXAMPLES.items() for value in taken]
REFUSED = [(name, value, pointer) for name, (_, refused) in EXAMPLES.items() for value, pointer in refused]


def members(schema: Any) -> Iterator[dict[str, Any]]:
    """Every object within a schema."""
    if isinstance(schema, dict):
        yield schema
        for value in schema.values():
            yield from members(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from members(value)


def table_rows(heading: str) -> list[list[str]]:
    """The cells of all tables below a heading of `protocol.md`, up to the next heading of that depth."""
    text = (spec_dir() / "protocol.md").read_text(encoding="utf-8")
    section = text.split(f"\n{heading}\n", 1)[1]
    section = re.split(rf"\n{'#' * heading.index(' ')} ", section)[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in section.splitlines() if line.startswith("|")
    ]
    return [row for row in rows if row[0].startswith("`")]


@pytest.mark.parametrize("name", schemas.all_schemas())
def test_a_schema_is_a_sound_draft_2020_12_schema(name: str) -> None:
    schema = schemas.all_schemas()[name]
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == f"{schemas.BASE}{name}.json"
    assert schema["title"]
    assert schema["description"].endswith(".")


@pytest.mark.parametrize("name", schemas.all_schemas())
def test_every_reference_leads_to_a_schema(name: str) -> None:
    resolver = schemas.validator(name)._resolver
    references = [part["$ref"] for part in members(schemas.all_schemas()[name]) if "$ref" in part]
    assert all(isinstance(resolver.lookup(reference).contents, (dict, bool)) for reference in references)


def test_every_shared_definition_is_used() -> None:
    used = {
        part["$ref"].split("/")[-1]
        for schema in schemas.all_schemas().values()
        for part in members(schema)
        if "$ref" in part
    }
    assert set(schemas.all_schemas()["definitions"]["$defs"]) <= used


def test_every_schema_has_examples_of_both_kinds() -> None:
    assert set(EXAMPLES) == set(schemas.all_schemas()) - {"definitions"}
    assert all(taken and refused for taken, refused in EXAMPLES.values())


@pytest.mark.parametrize(("name", "value"), TAKEN)
def test_a_schema_takes_what_is_sound(name: str, value: Any) -> None:
    assert schemas.first_error(name, value) is None


@pytest.mark.parametrize(("name", "value", "pointer"), REFUSED)
def test_a_schema_refuses_what_is_not_and_points_to_it(name: str, value: Any, pointer: str) -> None:
    error = schemas.first_error(name, value)
    assert error is not None
    assert error.pointer == pointer
    assert error.schema_id == f"{schemas.BASE}{name}.json"
    assert error.message.count("\n") == 0


def test_operations_are_those_of_the_protocol_in_its_order() -> None:
    assert list(schemas.operations()) == [row[0].strip("`") for row in table_rows("## Operations")]


def test_every_operation_has_both_schemas_and_no_schema_is_without_one() -> None:
    expected = {
        name(operation) for operation in schemas.operations() for name in (schemas.params_schema, schemas.result_schema)
    }
    assert {name for name in schemas.all_schemas() if name.startswith("operations/")} == expected


@pytest.mark.parametrize("row", table_rows("## Operations"), ids=lambda row: row[0])
def test_an_operation_has_the_members_that_its_row_names(row: list[str]) -> None:
    operation, params, result = row[0].strip("`"), row[1], row[2]
    for cell, name in ((params, schemas.params_schema(operation)), (result, schemas.result_schema(operation))):
        schema = schemas.all_schemas()[name]
        named = re.findall(r"`([A-Za-z0-9]+)(\??)`", cell)
        optional = {member for member, mark in named if mark}
        if "the same four" not in cell:
            assert set(schema["properties"]) <= {member for member, _ in named}
        assert optional <= set(schema["properties"])
        assert not optional & set(schema.get("required", []))


def test_the_kinds_of_refusal_are_those_of_the_protocol() -> None:
    kinds = schemas.all_schemas()["definitions"]["$defs"]["refusalKind"]["enum"]
    assert kinds == [row[0].strip("`") for row in table_rows("## Errors")]


def test_the_examples_of_the_protocol_are_sound_messages() -> None:
    text = (spec_dir() / "protocol.md").read_text(encoding="utf-8")
    messages = [json.loads(line) for line in re.findall(r'\{"jsonrpc".*\}', text)]
    assert len(messages) >= 5
    for message in messages:
        kind = "request" if "method" in message else "response"
        assert schemas.first_error(f"protocol/{kind}", message) is None
    handshake = {message["id"]: message for message in messages if message["id"] == 0 and "result" in message}[0]
    assert schemas.first_error("protocol/initialize.result", handshake["result"]) is None
    assert schemas.first_error("protocol/initialize.params", messages[0]["params"]) is None
    assert schemas.first_error("operations/tokens-of_message.params", messages[2]["params"]) is None


def test_the_example_of_the_fixtures_is_a_sound_vector_file() -> None:
    text = (fixtures_dir() / "README.md").read_text(encoding="utf-8")
    example = re.search(r"```json\n(.*?)```", text, re.DOTALL)
    assert example
    assert schemas.first_error("vector-file", json.loads(example[1])) is None


def test_the_overflow_pattern_table_is_sound() -> None:
    table = json.loads((spec_dir() / "overflow-patterns.json").read_text(encoding="utf-8"))
    assert schemas.first_error("overflow-patterns", table) is None


@pytest.mark.parametrize("path", vector_files(), ids=lambda path: path.stem)
def test_expected_results_have_the_shape_of_their_operation(path: Path) -> None:
    for vector in json.loads(path.read_text(encoding="utf-8"))["vectors"]:
        for answer in (vector["expect"], *vector["expect"].get("readings", [])):
            if "result" in answer:
                name = schemas.result_schema(vector["operation"])
                assert schemas.first_error(name, filled(answer["result"])) is None, vector["id"]


def filled(expected: Any) -> Any:
    """An expected result with a text in place of `$lines` and `$text`: the other placeholders are texts already."""
    if isinstance(expected, dict):
        is_text = expected.keys() & {"$lines", "$text"}
        return "text" if is_text else {key: filled(value) for key, value in expected.items()}
    return [filled(value) for value in expected] if isinstance(expected, list) else expected


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("header", {"type": "session"}, '"version", "id", "timestamp", "cwd" are missing'),
        ("header", {**HEADER, "version": 2}, "is 2; expected 3"),
        ("header", {**HEADER, "timestamp": "now"}, 'is "now"; expected ISO 8601 time in UTC with milliseconds'),
        ("entry", 42, "is 42; expected an object (entry)"),
        ("entries/message", entry("message", message=None), "is null; expected an object (stored message)"),
        ("operations/tokens-of_message.params", {"message": 1, "x\n": 1}, '"x\\n" is not known here; known: message'),
        ("vector", {**VECTOR, "requirements": []}, "has 0; expected at least 1"),
        ("vector", {**VECTOR, "expect": {}}, "has 0; expected at least 1 (one of result, error, readings, answer)"),
        ("vector", {**VECTOR, "requirements": ["PRJ-07"] * 2}, "has the same element twice; expected each one once"),
        ("settings", {"compaction": {"reserveTokens": -1}}, "is -1; expected at least 0 (whole number of tokens)"),
        ("draft", {"type": "custom", "customType": "x", "id": "a"}, 'is "a"; a draft has none yet'),
        ("protocol/response", {"jsonrpc": "2.0", "id": 1, "result": 2}, "is 2; expected an object (result)"),
        ("entry", [10**5000], "holds a number of too many digits to be checked"),
    ],
)
def test_an_error_says_in_plain_words_what_is_there_and_what_is_expected(name: str, value: Any, message: str) -> None:
    error = schemas.first_error(name, value)
    assert error is not None
    assert error.message == message


def test_a_description_that_says_should_is_told_why() -> None:
    error = schemas.first_error("vector", {**VECTOR, "description": "it should work"})
    assert error is not None
    assert "states a fact" in error.message


def test_values_beyond_the_usual_end_in_an_error_and_no_exception() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    for value in (deep, {"type": deep}, 10**5000, {"type": 10**5000}, float("nan"), "\ud83d"):
        error = schemas.first_error("entry", value)
        assert error is not None
        assert str(error).isprintable()


def test_an_unknown_schema_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        schemas.first_error("entries/alien", {})


def test_the_data_folders_exist() -> None:
    assert (spec_dir() / "protocol.md").is_file()
    assert (fixtures_dir() / "README.md").is_file()
    assert adapters_dir().is_dir()


def test_the_kinds_of_refusals_are_the_same_everywhere() -> None:
    """The reference and the harness must not import each other; both follow the schema."""
    known = set(json.loads((spec_dir() / "schemas" / "definitions.json").read_text())["$defs"]["refusalKind"]["enum"])
    assert set(ERROR_KINDS) == known
    assert set(get_args(Kind)) == known


def test_the_end_of_a_pattern_is_the_end_of_the_text() -> None:
    header = {"type": "session", "version": 3, "id": "one", "timestamp": "2025-01-01T00:00:00.000Z", "cwd": "/"}
    assert schemas.first_error("header", header) is None
    error = schemas.first_error("header", header | {"timestamp": f"{header['timestamp']}\n"})
    assert error is not None
    assert error.pointer == "/timestamp"
