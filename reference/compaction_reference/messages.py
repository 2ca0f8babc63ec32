"""Messages as a model API takes them (chapter LLM): four roles, everything else told to the model by the user."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .ecma import is_number, members, pick, string, string_of, truthy
from .types import Json, Message

_MODEL_ROLES = ("system", "user", "assistant", "toolResult")

# Wire constants: models and other programs see these words as they are.
COMPACTION_PREFIX = (
    "The conversation history before this point was compacted into the following summary:\n\n<summary>\n"
)
COMPACTION_SUFFIX = "\n</summary>"
BRANCH_PREFIX = "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n"
BRANCH_SUFFIX = "</summary>"


def to_llm(messages: Sequence[Message]) -> list[Message]:
    """The messages in order, summaries, extension messages and commands turned into user messages. A command that was
    kept out of the context and messages of unknown roles are left out. (LLM-01 to LLM-12, LLM-19, LLM-22, LLM-23)"""
    converted = (_converted(message) for message in messages)
    return [message for message in converted if message is not None]


def _converted(message: Message) -> Message | None:
    own = members(message)
    role = own.get("role")
    if role in _MODEL_ROLES:
        return message
    if role == "bashExecution":
        return None if truthy(own.get("excludeFromContext")) else _told_by_user(own, command_text(own))
    if role == "custom":
        content = own.get("content")
        if isinstance(content, str):
            return _told_by_user(own, content)
        return {"role": "user"} | pick(own, "content", "timestamp")
    if role == "branchSummary":
        return _told_by_user(own, BRANCH_PREFIX + string_of(own, "summary") + BRANCH_SUFFIX)
    if role == "compactionSummary":
        return _told_by_user(own, COMPACTION_PREFIX + string_of(own, "summary") + COMPACTION_SUFFIX)
    return None


def _told_by_user(own: Any, text: str) -> Json:
    return {"role": "user", "content": [{"type": "text", "text": text}]} | pick(own, "timestamp")


def command_text(own: Any) -> str:
    """What a model reads of a command that the user ran: the command, its output, how it ended, where the rest is.
    (LLM-13 to LLM-18, LLM-20, LLM-21)"""
    text = f"Ran `{string_of(own, 'command')}`\n"
    text += f"```\n{string(own['output'])}\n```" if truthy(own.get("output")) else "(no output)"
    exit_code = own.get("exitCode")
    if truthy(own.get("cancelled")):
        text += "\n\n(command cancelled)"
    elif exit_code is not None and not (is_number(exit_code) and exit_code == 0):
        text += f"\n\nCommand exited with code {string(exit_code)}"
    if truthy(own.get("truncated")) and truthy(own.get("fullOutputPath")):
        text += f"\n\n[Output truncated. Full output: {string(own['fullOutputPath'])}]"
    return text
