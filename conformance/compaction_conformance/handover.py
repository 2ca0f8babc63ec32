"""Hand-over: one implementation compacts a session and writes the file, another one reads it and goes on.

The file is all that they share. A opens it, prepares and appends a compaction with a canned summary; B reads what A
wrote, goes on and compacts in its turn; A reads that. Both have to read each file alike, like a third implementation
that stands by, and appending must leave every byte that was there.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from compaction_conformance import schemas
from compaction_conformance.compare import OF_STATE, check_declared, read_session, reply_difference
from compaction_conformance.expectation import Broken, Error, NotRun, Reply, Result
from compaction_conformance.implementation import Implementation, Request, call
from compaction_conformance.judge import Difference

BUDGETS = (2000, 200, 20)
CONTEXT_WINDOW = 200000
NEEDED = ("session/parse", "session/write", "compaction/prepare", "projection/messages")
_USAGE = {
    "input": 900,
    "output": 100,
    "cacheRead": 0,
    "cacheWrite": 0,
    "totalTokens": 1000,
    "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0},
}


@dataclass(frozen=True)
class Finding:
    """Something that keeps a session from being handed over. `who` is to blame, as far as can be told; `sides` says
    whose the two values of the difference are."""

    file: Path
    step: str
    who: str
    operation: str
    difference: Difference
    sides: tuple[str, str] = ("want", "got")

    @property
    def session(self) -> str:
        return self.file.stem


@dataclass
class HandOver:
    """What came of handing sessions over. `kept_bytes` counts the bytes that stood in a file before an append."""

    sessions: int = 0
    compactions: int = 0
    answers: int = 0
    kept_bytes: int = 0
    rewritten: int = 0
    refused: int = 0
    findings: list[Finding] = field(default_factory=list)
    incomplete: str = ""


class _Stopped(Exception):
    """The session cannot be handed on."""


@dataclass(frozen=True)
class Party:
    """An implementation with the name it was given."""

    name: str
    side: Implementation

    def ask(self, operation: str, params: Any) -> Reply:
        return call(self.side, Request(operation, json.dumps(params, separators=(",", ":"))))


def hand_over(
    first: Party,
    second: Party,
    witness: Party,
    files: Sequence[Path],
    on_session: Callable[[int, int], None] = lambda _done, _all: None,
) -> HandOver:
    """Every file from the first to the second and back. The `witness` reads along, and tells who of two is wrong.

    Raises `InvalidInput` when one of them does not declare what a hand-over takes."""
    check_declared({party.name: party.side for party in (first, second, witness)}, NEEDED)
    for file in files:
        read_session(file)  # what is none ends it before anything is found
    result = HandOver()
    for number, file in enumerate(files, 1):
        exchange = _Exchange(file, (first, second), witness, result)
        with suppress(_Stopped):
            exchange.run(read_session(file))
        result.sessions += 1
        on_session(number, len(files))
        if result.incomplete:
            break
    if result.refused == len(files):
        result.incomplete = "both refuse every file as no session, and nothing was handed over"
    return result


class _Exchange:
    """One session on its way from the first party to the second and back."""

    def __init__(self, file: Path, parties: tuple[Party, Party], witness: Party, result: HandOver) -> None:
        self._file, self._parties, self._witness, self._result = file, parties, witness, result

    def run(self, content: bytes) -> None:
        first, second = self._parties
        text = self._opened(first, content)
        if text is None:
            return
        for step, (writer, reader) in enumerate(((first, second), (second, first)), 1):
            text = self._continued(writer, text, step)
            self._read_by_all(writer, reader, text, step)

    # ---- writing

    def _opened(self, party: Party, content: bytes) -> str | None:
        """The file after opening; None when both refuse it. Old versions are rewritten, which happens here once."""
        params = {"contentBase64": base64.b64encode(content).decode("ascii"), "drafts": []}
        replies = [each.ask("session/write", params) for each in self._parties]
        if all(isinstance(reply, Error) and reply.kind == "not_a_session" for reply in replies):
            self._result.refused += 1
            return None
        text = self._text(party, "open", replies[0])
        before = content.decode("utf-8", "replace")
        if _is_old(before):
            self._result.rewritten += 1
        else:
            self._check_kept(party, "open", before, text)
        return text

    def _continued(self, party: Party, text: str, step: int) -> str:
        """The file after the party went on for a turn, compacted it where there is something to compact, and was asked
        once more. Every append is checked by itself."""
        label = f"step {step}: {party.name} writes"
        text = self._appended(party, label, text, _turn(step))
        draft = self._compaction(party, label, text)
        if draft is not None:
            self._result.compactions += 1
            text = self._appended(party, label, text, [draft])
        return self._appended(party, label, text, [_said(f"What is next after part {step}?")])

    def _appended(self, party: Party, label: str, text: str, drafts: Sequence[Any]) -> str:
        after = self._text(party, label, party.ask("session/write", {"content": text, "drafts": drafts}))
        self._check_kept(party, label, text, after)
        return after

    def _compaction(self, party: Party, label: str, text: str) -> Any:
        parsed = self._value(party, label, "session/parse", party.ask("session/parse", {"content": text}))
        for budget in BUDGETS:
            settings = {"enabled": True, "reserveTokens": 16384, "keepRecentTokens": budget}
            params = {"entries": parsed["entries"], "leafId": parsed["leafId"], "settings": settings}
            answer = self._value(party, label, "compaction/prepare", party.ask("compaction/prepare", params))
            if preparation := answer["preparation"]:
                return {
                    "type": "compaction",
                    "summary": f"## Goal\nHand the session over 🤝\n\n## Done\n- [x] compacted to {budget}",
                    "firstKeptEntryId": preparation["firstKeptEntryId"],
                    "tokensBefore": preparation["tokensBefore"],
                    "details": preparation["fileOperations"],
                }
        return None

    def _check_kept(self, party: Party, label: str, before: str, after: str) -> None:
        """What was there is there still; only a missing last line feed may be added between."""
        if not after.startswith(before):
            at = next(
                (index for index, (old, new) in enumerate(zip(before, after, strict=False)) if old != new), len(after)
            )
            difference = Difference(
                "/content", before[at : at + 80], after[at : at + 80], f"character {at} of the file changed"
            )
            self._found(label, party.name, "session/write", difference, ("before", "after"))
        rest = after[len(before) :]
        if before and not before.endswith("\n") and rest and not rest.startswith("\n"):
            self._found(
                label, party.name, "session/write", Difference("/content", "\n", rest[:80], "glued to the last line")
            )
        self._result.kept_bytes += len(before.encode("utf-8", "surrogatepass"))

    # ---- reading

    def _read_by_all(self, writer: Party, reader: Party, text: str, step: int) -> None:
        label = f"step {step}: {reader.name} reads what {writer.name} wrote"
        views = [_reading(party, text) for party in (writer, reader, self._witness)]
        for (operation, mine), (_, theirs), (_, seen) in zip(*views, strict=True):
            self._result.answers += 1
            for reply in (mine, theirs):
                if isinstance(reply, NotRun):
                    self._result.incomplete = reply.reason
                    raise _Stopped
            if mine is None or theirs is None:  # one of them does not declare the operation
                continue
            both = f"{writer.name} and {reader.name}"
            if difference := reply_difference(mine, theirs):
                blamed = _blamed(writer, reader, mine, theirs, seen)
                self._found(label, blamed, operation, difference, (writer.name, reader.name))
            elif seen is not None and (difference := reply_difference(seen, mine)):
                self._found(label, both, operation, difference, (self._witness.name, both))

    # ---- replies

    def _text(self, party: Party, label: str, reply: Reply) -> str:
        value = self._value(party, label, "session/write", reply)
        text = value["content"]
        if isinstance(text, str):
            return text
        return self._found(label, party.name, "session/write", Difference("/content", "the text of the file", text))

    def _value(self, party: Party, label: str, operation: str, reply: Reply) -> Any:
        """The value of a result that keeps to the operation's schema."""
        if isinstance(reply, Result):
            if error := schemas.first_error(schemas.result_schema(operation), reply.value):
                self._found(label, party.name, operation, Difference(error.pointer, error.message, reply.value))
            return reply.value
        if isinstance(reply, NotRun):
            self._result.incomplete = reply.reason
            raise _Stopped
        note = reply.detail if isinstance(reply, Broken) else ""
        return self._found(label, party.name, operation, Difference("", "an answer", reply.shown(), note))

    def _found(
        self,
        label: str,
        who: str,
        operation: str,
        difference: Difference,
        sides: tuple[str, str] = ("want", "got"),
    ) -> NoReturn:
        self._result.findings.append(Finding(self._file, label, who, operation, difference, sides))
        raise _Stopped


def _reading(party: Party, text: str) -> list[tuple[str, Reply | None]]:
    """How a party reads a file: every answer about its last leaf. None stands for an operation that is not declared."""
    return list(_answers(party, text))


def _answers(party: Party, text: str) -> Iterator[tuple[str, Reply | None]]:
    declared = party.side.description.operations

    def ask(operation: str, params: Any) -> tuple[str, Reply | None]:
        return operation, party.ask(operation, params) if operation in declared else None

    _, parsed = ask("session/parse", {"content": text})
    yield "session/parse", parsed
    value = parsed.value if isinstance(parsed, Result) and isinstance(parsed.value, dict) else {}
    state = {"entries": value.get("entries", []), "leafId": value.get("leafId")}
    messages: Any = []
    for operation in OF_STATE:
        _, reply = ask(operation, state)
        if operation == "projection/messages" and isinstance(reply, Result) and isinstance(reply.value, dict):
            messages = reply.value.get("messages", [])
        yield operation, reply
    yield ask("tokens/context_usage", {**state, "contextWindow": CONTEXT_WINDOW})
    yield ask("messages/to_llm", {"messages": messages})
    yield ask(
        "compaction/prepare", {**state, "settings": {"enabled": True, "reserveTokens": 0, "keepRecentTokens": 20}}
    )


def _blamed(writer: Party, reader: Party, mine: Reply, theirs: Reply, seen: Reply | None) -> str:
    if seen is None:
        return f"{writer.name} or {reader.name}"
    right = [party.name for party, reply in ((writer, mine), (reader, theirs)) if reply_difference(seen, reply) is None]
    if len(right) == 1:
        return reader.name if right[0] == writer.name else writer.name
    return f"{writer.name} and {reader.name}"


def _is_old(text: str) -> bool:
    """Whether the header's version is below 3, so that opening rewrites the file."""
    for line in text.split("\n"):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and value.get("type") == "session":
            version = value.get("version", 1)
            return not isinstance(version, (int, float)) or version < 3
    return False


def _said(text: str) -> Any:
    return {"type": "message", "message": {"role": "user", "content": text, "timestamp": 1775000000000}}


def _turn(step: int) -> list[Any]:
    """A request, a call, its result and an answer."""
    call_id = f"handover_{step}"
    reply = {
        "role": "assistant",
        "api": "anthropic-messages",
        "provider": "northwind",
        "model": "nw-large-2",
        "usage": _USAGE,
    }
    tool = {"type": "toolCall", "id": call_id, "name": "read", "arguments": {"path": f"handover/{step}.txt"}}
    messages: list[Any] = [
        {"role": "user", "content": f"Part {step}: read the note.", "timestamp": 1775000000000},
        {**reply, "content": [tool], "stopReason": "toolUse", "timestamp": 1775000001000},
        {
            "role": "toolResult",
            "toolCallId": call_id,
            "toolName": "read",
            "content": [{"type": "text", "text": "The note of the other side. " * 8}],
            "isError": False,
            "timestamp": 1775000002000,
        },
        {**reply, "content": [{"type": "text", "text": "Read."}], "stopReason": "stop", "timestamp": 1775000003000},
    ]
    return [{"type": "message", "message": message} for message in messages]
