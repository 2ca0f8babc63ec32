"""System state (chapter SYS): every system message of a transcript replayed into one, and the prompt it stands for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .ecma import iterate, length, map_key, members, own_entries, string
from .errors import malformed
from .types import Json, Message


def current_system_message(messages: Sequence[Message]) -> Json | None:
    """All system messages as one. Texts are joined by a blank line, sections and tools are patched by name; the time
    is that of the first message that has one, else 0. `None` where there is no system message, and also (an accident)
    where none has a time and no tool is left. (SYS-01, SYS-02, SYS-12 to SYS-14, SYS-16 to SYS-18)"""
    system = [own for own in map(members, messages) if own.get("role") == "system"]
    texts = [content_text(own.get("content")) for own in system]
    times = [own["timestamp"] for own in system if own.get("timestamp") is not None]
    sections = _replayed_sections(system)
    tools = _replayed_tools(system)
    timeless = not times and (not system or "timestamp" not in system[-1])
    if timeless and not tools:
        return None
    message: Json = {"role": "system", "content": "\n\n".join(text for text in texts if text)}
    if sections:
        message["sections"] = sections
    if tools:
        message["toolsAdded"] = tools
    message["timestamp"] = times[0] if times else 0
    return message


def _replayed_sections(system: Sequence[Any]) -> Json:
    """Sections by name in the order of their first appearance. `None` removes one; it may come back, at the end.
    (SYS-04, SYS-05)"""
    sections: Json = {}
    for own in system:
        for name, value in own_entries(_given(own.get("sections"))):
            if value is None:
                sections.pop(name, None)
            else:
                sections[name] = value
    return sections


def _replayed_tools(system: Sequence[Any]) -> list[Any]:
    """Tools by name in the order of their first appearance. A message removes before it adds. (SYS-08 to SYS-11)"""
    tools: dict[Any, Any] = {}
    for own in system:
        for tool in iterate(_given(own.get("toolsRemoved"))):
            tools.pop(map_key(members(tool).get("name")), None)
        for tool in iterate(_given(own.get("toolsAdded"))):
            tools[map_key(members(tool).get("name"))] = tool
    return list(tools.values())


def _given(value: Any) -> Any:
    return [] if value is None else value


def current_prompt(messages: Sequence[Message]) -> str:
    """The prompt: the text, then the sections, joined by blank lines; `""` without system state.
    (SYS-06, SYS-07, SYS-15)"""
    message = current_system_message(messages)
    if message is None:
        return ""
    sections = [value for _, value in own_entries(message.get("sections", {}))]
    return "\n\n".join(string(part) for part in (message["content"], *sections) if length(part) > 0)


def content_text(content: Any, separator: str = "\n") -> str:
    """The text of a message's content: text itself, or its text blocks joined. Refuses content of any other kind.
    (SYS-03)"""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise malformed("content that is neither text nor blocks")
    texts = [block.get("text") for block in map(members, content) if block.get("type") == "text"]
    return separator.join("" if text is None else string(text) for text in texts)
