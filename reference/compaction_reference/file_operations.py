"""Which files were read and changed (chapter FIL), from the tool calls in messages; summaries carry the lists on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .ecma import map_key, members, sort_key, string, truthy
from .types import Json, Message


@dataclass(slots=True)
class FileOperations:
    """What was read and what was written or edited. Each is keyed as a JavaScript Set tells its members apart."""

    read: dict[Any, Any] = field(default_factory=dict)
    modified: dict[Any, Any] = field(default_factory=dict)

    def add_details(self, details: Any) -> None:
        """Takes over the lists of an earlier compaction; what is no list is passed over, elements are not checked.
        (FIL-09, FIL-10, FIL-18)"""
        if truthy(details):
            own = members(details)
            _add_all(self.read, own.get("readFiles"))
            _add_all(self.modified, own.get("modifiedFiles"))

    def add_message(self, message: Message) -> None:
        """Takes the paths of `read`, `write` and `edit` calls in an assistant message, whatever came of the calls.
        (FIL-01 to FIL-06)"""
        own = members(message)
        content = own.get("content")
        if own.get("role") != "assistant" or not isinstance(content, list):
            return
        for block in content:
            if not isinstance(block, dict) or block.get("type") != "toolCall":
                continue
            arguments = block.get("arguments")
            path = members(arguments).get("path") if truthy(arguments) else None
            if not isinstance(path, str) or not path:
                continue
            if block.get("name") == "read":
                self.read[path] = path
            elif block.get("name") in ("write", "edit"):
                self.modified[path] = path

    def lists(self) -> Json:
        """`readFiles`: read and not modified; `modifiedFiles`. Both in the order of UTF-16 units."""
        only_read = [path for key, path in self.read.items() if key not in self.modified]
        return {
            "readFiles": sorted(only_read, key=sort_key),
            "modifiedFiles": sorted(self.modified.values(), key=sort_key),
        }


def _add_all(files: dict[Any, Any], paths: Any) -> None:
    if isinstance(paths, list):
        files.update((map_key(path), path) for path in paths)


def file_lists(messages: Sequence[Message], previous_details: Any = None) -> Json:
    """`readFiles` and `modifiedFiles` of the messages, joined with those that an earlier compaction noted."""
    operations = FileOperations()
    operations.add_details(previous_details)
    for message in messages:
        operations.add_message(message)
    return operations.lists()


def format_lists(read_files: Sequence[Any], modified_files: Sequence[Any]) -> str:
    """The lists as they follow a summary: a tag around each that is not empty, a path a line, nothing escaped.
    (FIL-11 to FIL-13)"""
    sections = [
        f"<{tag}>\n{chr(10).join('' if path is None else string(path) for path in paths)}\n</{tag}>"
        for tag, paths in (("read-files", read_files), ("modified-files", modified_files))
        if paths
    ]
    return "".join("\n\n" + section for section in sections)
