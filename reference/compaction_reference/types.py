"""The shapes that travel: session header, eleven entry types, messages, blocks, usage, settings.

They document; nothing is checked against them. A session file may hold anything, and what it holds passes through
untouched, so functions take an `Entry` or a `Message` as it was found: a dict, or whatever a damaged line left.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, Literal, TypeAlias, TypedDict

Json: TypeAlias = dict[str, Any]
Entry: TypeAlias = Any  # meant to be one of the eleven entries below
Message: TypeAlias = Any  # meant to be one of the messages below


class Place(Enum):
    """Where a leaf can be, besides at the entry with a given id (text) or before the first entry (`None`)."""

    LAST = "at the last entry of the file"


Leaf: TypeAlias = str | Place | None
LAST = Place.LAST


# ---- session file ----------------------------------------------------------------------------------------------------


class Header(TypedDict, total=False):
    """The first line. `version` is 3; absent means 1. `timestamp` is ISO 8601."""

    type: Literal["session"]
    version: int
    id: str
    timestamp: str
    cwd: str
    parentSession: str


class EntryBase(TypedDict, total=False):
    """What every entry has. `parentId` is `None` at a root; `timestamp` is ISO 8601 in UTC with milliseconds."""

    id: str
    parentId: str | None
    timestamp: str


class MessageEntry(EntryBase, total=False):
    type: Literal["message"]
    message: Message


class ThinkingLevelChange(EntryBase, total=False):
    type: Literal["thinking_level_change"]
    thinkingLevel: str


class ModelChange(EntryBase, total=False):
    type: Literal["model_change"]
    provider: str
    modelId: str


class UsageEntry(EntryBase, total=False):
    """Tokens spent beside the conversation. Note `model`, not `modelId`."""

    type: Literal["usage"]
    kind: str
    provider: str
    model: str
    usage: Usage
    note: str


class Compaction(EntryBase, total=False):
    """`firstKeptEntryId` is the entry's own id where nothing before it is kept. `systemMessage` is the system state at
    the time. `fromHook` marks a summary that an extension supplied."""

    type: Literal["compaction"]
    summary: str
    firstKeptEntryId: str
    tokensBefore: int
    details: Any
    usage: Usage
    fromHook: bool
    systemMessage: SystemMessage


class BranchSummary(EntryBase, total=False):
    """`fromId` is the leaf that was left, or `"root"`."""

    type: Literal["branch_summary"]
    fromId: str
    summary: str
    details: Any
    usage: Usage
    fromHook: bool


class Custom(EntryBase, total=False):
    """State of an extension; never shown to the model."""

    type: Literal["custom"]
    customType: str
    data: Any


class CustomMessageEntry(EntryBase, total=False):
    """A message of an extension; shown to the model whatever `display` says."""

    type: Literal["custom_message"]
    customType: str
    content: Content
    display: bool
    details: Any


class ContextEdit(EntryBase, total=False):
    """`replacement` is `None` to omit the target, or new content for it."""

    type: Literal["context_edit"]
    targetId: str
    replacement: Replacement | None


class Label(EntryBase, total=False):
    """An absent or empty `label` takes the target's label away."""

    type: Literal["label"]
    targetId: str
    label: str


class SessionInfo(EntryBase, total=False):
    type: Literal["session_info"]
    name: str


class Replacement(TypedDict):
    content: Content


# ---- messages: `timestamp` is milliseconds since 1970 ----------------------------------------------------------------


class SystemMessage(TypedDict, total=False):
    role: Literal["system"]
    content: Content
    sections: dict[str, str | None]
    toolsAdded: list[Json]
    toolsRemoved: list[Json]
    timestamp: int


class UserMessage(TypedDict, total=False):
    role: Literal["user"]
    content: Content
    timestamp: int


class AssistantMessage(TypedDict, total=False):
    """`stopReason`: stop, length, toolUse, error, aborted, pending or deferred. `content`: text, thinking, toolCall."""

    role: Literal["assistant"]
    content: list[Block]
    api: str
    provider: str
    model: str
    usage: Usage
    stopReason: str
    errorMessage: str
    timestamp: int


class ToolResultMessage(TypedDict, total=False):
    role: Literal["toolResult"]
    toolCallId: str
    toolName: str
    content: list[Block]
    isError: bool
    details: Any
    timestamp: int


class BashExecutionMessage(TypedDict, total=False):
    role: Literal["bashExecution"]
    command: str
    output: str
    exitCode: int
    cancelled: bool
    truncated: bool
    fullOutputPath: str
    excludeFromContext: bool
    timestamp: int


class CustomMessage(TypedDict, total=False):
    role: Literal["custom"]
    customType: str
    content: Content
    display: bool
    details: Any
    timestamp: int | None


class BranchSummaryMessage(TypedDict, total=False):
    role: Literal["branchSummary"]
    summary: str
    fromId: str
    timestamp: int | None


class CompactionSummaryMessage(TypedDict, total=False):
    role: Literal["compactionSummary"]
    summary: str
    tokensBefore: int
    timestamp: int | None


class Block(TypedDict, total=False):
    """`type` is text (`text`), thinking (`thinking`), image (`data`, `mimeType`) or toolCall (`id`, `name`,
    `arguments`)."""

    type: Literal["text", "thinking", "image", "toolCall"]
    text: str
    thinking: str
    data: str
    mimeType: str
    id: str
    name: str
    arguments: Json


Content: TypeAlias = str | list[Block]


class Usage(TypedDict, total=False):
    """Tokens of one model call; `cost` is money by the same names."""

    input: int
    output: int
    cacheRead: int
    cacheWrite: int
    totalTokens: int
    cost: dict[str, float]


# ---- results and settings --------------------------------------------------------------------------------------------


class CompactionSettings(TypedDict, total=False):
    """All in tokens but `enabled`: room left for the answer, and how much recent talk stays as it is."""

    enabled: bool
    reserveTokens: int
    keepRecentTokens: int
