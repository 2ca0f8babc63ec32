"""A whole session, driven step by step against a small model: prompts, tools, branches, edits, compactions, overflows,
aborts, reopening.

The model knows parents, the leaf and what each entry says; all else is asked of the implementation. Appends go through
`session/append` where it is declared, otherwise the suite's own model appends, so that what reads a session is judged
all the same.
"""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from compaction_conformance.implementation import Implementation
from compaction_conformance.properties.base import Ask, equal, holds, ids_of
from compaction_conformance.properties.facts import folded, from_usage, is_usable, shown_by
from compaction_conformance.strategies import Session, overflow_errors, plain_texts, texts, usages
from compaction_conformance.strategies.building import is_editable
from compaction_conformance.strategies.messages import (
    START_MS,
    assistant_message,
    text_block,
    tool_call,
    tool_result_message,
)
from compaction_conformance.strategies.sessions import HEADER, content_of

NEEDED = "projection/sources"
REQUIREMENTS = ("PRJ-06", "PRE-16", "APP-01")
SENTENCE = "A session that is driven step by step shows at every step what its entries say."


def machine_for(implementation: Implementation, time_limit: float | None = None) -> type[SessionMachine]:
    """A machine that drives this implementation."""

    class Driven(SessionMachine):
        ask = Ask(implementation, time_limit)

    Driven.__name__ = Driven.__qualname__ = "SessionMachine"
    return Driven


class SessionMachine(RuleBasedStateMachine):
    """Every rule is something that happens in a session; every invariant asks one operation, where it is declared."""

    ask: Ask

    def __init__(self) -> None:
        super().__init__()
        self.ask.exchanges.clear()
        self.session = Session((), None)
        self.calls = 0

    # ---- what happens ------------------------------------------------------------------------------------------------

    @rule(text=texts(20))
    def prompt(self, text: str) -> None:
        self._say({"role": "user", "content": text})

    @rule(text=texts(20), usage=usages())
    def answer(self, text: str, usage: Any) -> None:
        self._say(assistant_message([text_block(text)], "stop", usage))

    @rule(count=st.integers(1, 3), text=plain_texts(20), path=st.sampled_from("ab"))
    def use_tools(self, count: int, text: str, path: str) -> None:
        """Parallel calls, with their results right behind."""
        ids = [f"t{self.calls + number}" for number in range(1, count + 1)]
        self.calls += count
        self._say(assistant_message([tool_call(one, "read", {"path": path}) for one in ids], "toolUse"))
        for one in ids:
            self._say(tool_result_message(one, "read", [text_block(text)]))

    @rule(content=texts(8))
    def change_system_prompt(self, content: str) -> None:
        self._say({"role": "system", "content": content})

    @rule(usage=usages())
    def abort(self, usage: Any) -> None:
        self._say(assistant_message([], "aborted", usage, errorMessage="aborted"))

    @rule(error=overflow_errors())
    def overflow(self, error: str) -> None:
        """The answer is an overflow; it is left out of the context, as before a recovery."""
        failed = assistant_message([], "error", errorMessage=error)
        self._say(failed)
        if self.ask.serves("overflow/is_overflow"):
            found = self.ask("overflow/is_overflow", {"message": failed})["overflow"]
            equal("overflow/is_overflow", True, found, at="/overflow")
        self._append({"type": "context_edit", "targetId": self.session.leaf_id, "replacement": None})

    @precondition(lambda self: any(map(is_editable, self.session.path)))
    @rule(far=st.integers(0, 9), content=st.none() | texts(8))
    def edit(self, far: int, content: str | None) -> None:
        targets = [entry for entry in self.session.path if is_editable(entry)]
        target = targets[max(-1 - far, -len(targets))]
        replacement = None if content is None else {"content": [text_block(content)]}
        self._append({"type": "context_edit", "targetId": target["id"], "replacement": replacement})

    @rule(kind=st.sampled_from(["label", "session_info", "custom"]))
    def note(self, kind: str) -> None:
        own: dict[str, Any] = {"customType": "x"}
        if kind == "label":
            own = {"targetId": self.session.leaf_id, "label": "a"}
        elif kind == "session_info":
            own = {"name": "n"}
        if kind != "label" or self.session.leaf_id:
            self._append({"type": kind, **own})

    @precondition(lambda self: bool(self.session.entries))
    @rule(place=st.integers(0, 30))
    def branch(self, place: int) -> None:
        self.session = self.session.at(self.session.entries[place % len(self.session.entries)]["id"])

    @precondition(lambda self: self.ask.serves("compaction/prepare"))
    @rule(budget=st.integers(0, 40))
    def compact(self, budget: int) -> None:
        """As a session does it: prepared, summarised, stored, and then there is nothing to compact."""
        settings = {"enabled": True, "reserveTokens": 0, "keepRecentTokens": budget}
        prepared = self.ask("compaction/prepare", {**self.session.state, "settings": settings})["preparation"]
        if prepared is None:
            return
        first = prepared["firstKeptEntryId"]
        holds(first in self.session.path_ids, "compaction/prepare", "not on the path", "/preparation/firstKeptEntryId")
        self._append({"type": "compaction", "summary": f"s{budget}", "firstKeptEntryId": first, "tokensBefore": 1})
        again = self.ask("compaction/prepare", {**self.session.state, "settings": settings})["preparation"]
        equal("compaction/prepare", None, again, "it would be compacted again at once", "/preparation")

    @rule()
    def reopen(self) -> None:
        """The session is read from its file; the leaf is the last entry of it."""
        if self.ask.serves("session/parse"):
            found = self.ask("session/parse", {"content": content_of(self.session.entries)})
            equal("session/parse", [HEADER, *self.session.entries], [found["header"], *found["entries"]], at="/entries")
        self.session = self.session.at(self.session.entries[-1]["id"] if self.session.entries else None)

    # ---- what holds after every step ---------------------------------------------------------------------------------

    @invariant()
    def the_path_is_that_of_the_leaf(self) -> None:
        if self.ask.serves("session/path"):
            found = self.ask("session/path", self.session.state)["entries"]
            equal("session/path", self.session.path, found, at="/entries")

    @invariant()
    def the_fold_is_that_of_the_path(self) -> None:
        if self.ask.serves("projection/sources"):
            found = self.ask("projection/sources", self.session.state)["sources"]
            left = folded(self.session.path)
            equal("projection/sources", ids_of(left), ids_of(found), at="/sources")
            omitted = self._edits(left)
            for place, (entry, source) in enumerate(zip(left, found, strict=True)):
                older = place > 0 and entry["type"] == "compaction"
                gone = older or omitted.get(entry["id"], ...) is None
                shown = shown_by(entry) + ([0] if "systemMessage" in entry else [])
                want = 0 if gone else len(shown)
                equal("projection/sources", want, source["messages"], at=f"/sources/{place}/messages")

    @invariant()
    def the_size_rests_on_the_newest_usage(self) -> None:
        if self.ask.serves("tokens/of_projection"):
            since = [place for place, e in enumerate(self.session.path) if e["type"] in ("context_edit", "compaction")]
            later = self.session.path[since[-1] + 1 :] if since else self.session.path
            used = [
                from_usage(e["message"]["usage"]) for e in later if e["type"] == "message" and is_usable(e["message"])
            ]
            found = self.ask("tokens/of_projection", self.session.state)
            equal("tokens/of_projection", used[-1] if used else 0, found["usageTokens"], at="/usageTokens")

    def _edits(self, left: list[Any]) -> dict[str, Any]:
        return {entry["targetId"]: entry["replacement"] for entry in left if entry["type"] == "context_edit"}

    def _say(self, message: dict[str, Any]) -> None:
        time = START_MS + 1000 * len(self.session.entries)
        self._append({"type": "message", "message": {**message, "timestamp": time}})

    def _append(self, draft: dict[str, Any]) -> None:
        """Appends here, and asks the implementation for the same: only the id and the time may be others."""
        params = {**self.session.state, "draft": draft}
        longer = self.session.with_draft(draft)
        if self.ask.serves("session/append"):
            found = self.ask("session/append", params)["entry"]
            own = longer.entries[-1]
            made = {"id": own["id"], "timestamp": own["timestamp"]}
            snapshot = {"systemMessage": found["systemMessage"]} if "systemMessage" in found else {}
            expected = {**own, **snapshot}
            equal("session/append", expected, json.loads(json.dumps({**found, **made})), at="/entry")
            longer = Session((*longer.entries[:-1], expected), longer.leaf_id)
        self.session = longer
