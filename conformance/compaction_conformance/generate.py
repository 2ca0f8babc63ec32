"""Large sessions of real shape for measuring: turns with tool calls, branches, compactions, context edits, metadata."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

_START_MS = 1_735_689_600_000


def session_entries(count: int, *, compactions: int = 30, seed: int = 1) -> list[dict[str, Any]]:
    """`count` entries of version 3. The leaf is the last one; its path holds most of them and all compactions."""
    return list(_Writer(Random(seed), count, compactions).entries())


def write_session(path: Path, entries: list[dict[str, Any]]) -> None:
    header = {"type": "session", "version": 3, "id": "generated", "timestamp": "2025-01-01T00:00:00.000Z", "cwd": "/w"}
    with path.open("w", encoding="utf-8") as file:
        for value in (header, *entries):
            file.write(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n")


class _Writer:
    def __init__(self, random: Random, count: int, compactions: int) -> None:
        self._random, self._count = random, count
        every = count // (compactions + 1) or 1
        self._due = [every * number for number in range(compactions, 0, -1)]
        self._path: list[dict[str, Any]] = []
        self._made = 0

    def entries(self) -> Iterator[dict[str, Any]]:
        while self._made < self._count:
            for entry in self._turn():
                yield entry
                if self._made == self._count:
                    return

    def _turn(self) -> Iterator[dict[str, Any]]:
        """A prompt, some tool calls with results, an answer; now and then an edit, a side branch, a compaction."""
        yield self._message("user", content=[_text(self._words(20))])
        for _ in range(self._random.randrange(1, 4)):
            call: dict[str, Any] = {
                "type": "toolCall",
                "id": f"t{self._made}",
                "name": "read",
                "arguments": {"path": self._file()},
            }
            yield self._assistant([_text(self._words(8)), call], "toolUse")
            about = {"toolCallId": call["id"], "toolName": "read", "isError": False}
            yield self._message("toolResult", **about, content=[_text(self._words(60))])
        yield self._assistant([_text(self._words(40))], "stop")
        if self._random.random() < 0.05:
            target = self._path[-1 - self._random.randrange(min(len(self._path), 4))]
            yield self._entry("context_edit", targetId=target["id"], replacement=None)
        if self._random.random() < 0.02:
            yield self._entry("model_change", provider="example", modelId="example-1")
        if self._random.random() < 0.02:
            yield from self._side_branch()
        if self._due and self._made >= self._due[-1]:
            self._due.pop()
            first_kept = self._path[-min(len(self._path), 40)]["id"]
            yield self._entry("compaction", summary=self._words(200), firstKeptEntryId=first_kept, tokensBefore=180_000)

    def _side_branch(self) -> Iterator[dict[str, Any]]:
        """A few entries that are left behind, and the summary of them where the path goes on."""
        base = len(self._path)
        yield self._message("user", content=[_text(self._words(10))])
        yield self._assistant([_text(self._words(30))], "stop")
        left = self._path[-1]["id"]
        del self._path[base:]
        yield self._entry("branch_summary", fromId=left, summary=self._words(30))

    def _assistant(self, content: list[dict[str, Any]], stop: str) -> dict[str, Any]:
        cost = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}
        usage = {
            "input": 1000,
            "output": 100,
            "cacheRead": 50_000,
            "cacheWrite": 0,
            "totalTokens": 51_100,
            "cost": cost,
        }
        about = {"api": "example", "provider": "example", "model": "example-1", "usage": usage, "stopReason": stop}
        return self._message("assistant", content=content, **about)

    def _message(self, role: str, **members: Any) -> dict[str, Any]:
        return self._entry("message", message={"role": role, **members, "timestamp": _START_MS + self._made * 1000})

    def _entry(self, kind: str, **members: Any) -> dict[str, Any]:
        self._made += 1
        parent = self._path[-1]["id"] if self._path else None
        entry = {"type": kind, "id": f"{self._made:08x}", "parentId": parent, "timestamp": self._time(), **members}
        self._path.append(entry)
        return entry

    def _time(self) -> str:
        seconds = self._made % 86_400
        return f"2025-01-01T{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.000Z"

    def _file(self) -> str:
        return f"src/module_{self._random.randrange(200)}.py"

    def _words(self, count: int) -> str:
        return " ".join(f"word{self._random.randrange(1000)}" for _ in range(count))


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
