"""Where extensions may add entries and ask for another turn (chapter CTL): when a turn ends, before a run settles.

A handler answers with drafts and a wish to go on. Drafts are tried on a copy of the session first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import Refusal
from ..messages import to_llm
from ..session import Session
from ..tokens import of_projection
from ..types import Entry, Json, Message
from .surroundings import ExtensionError, Signal

if TYPE_CHECKING:
    from .controller import Controller

_DRAFTS = ("custom", "custom_message", "context_edit", "compaction")
_OUTCOMES = {"aborted": "aborted", "error": "error"}


def turn_end(c: Controller, answer: Message, result_ids: list[str]) -> bool:
    """Whether an extension wants another turn, and there is something to answer in it."""
    c.outcome = _OUTCOMES.get(answer["stopReason"], "completed")
    if not c.around.handlers("turn_end"):
        return False
    assert c.last_answer is not None
    ids = {"messageId": c.last_answer[1], "toolResultIds": result_ids}
    event: Json = {
        "extension": "turn_end",
        "outcome": c.outcome,
        **ids,
        "canContinue": _can_continue(c, c.session, True),
    }
    go_on = _gather(c, event, at_turn_end=True)
    if go_on and not _can_continue(c, c.session, True):
        c.around.report({"extensionError": "turn_end", "kind": "not_runnable"})
        return False
    return go_on


def before_settle(c: Controller) -> bool:
    """Whether the run goes on instead of settling: an extension wants it, or messages were queued."""
    if not c.around.handlers("agent_before_settle"):
        return c.has_queued
    c.boundary_signal = Signal()
    can_continue = _can_continue(c, c.session, False)
    event: Json = {"extension": "agent_before_settle", "outcome": c.outcome, "canContinue": can_continue}
    wanted = _gather(c, event, at_turn_end=False)
    c.flush_notes()
    aborted, c.boundary_signal = c.boundary_signal.aborted, None
    if aborted or not (wanted or c.has_queued):
        return False
    if not _can_continue(c, c.session, False):
        if wanted:
            c.around.report({"extensionError": "agent_before_settle", "kind": "not_runnable"})
        return False
    return True


def _gather(c: Controller, event: Json, *, at_turn_end: bool) -> bool:
    """Asks every handler in turn, each seeing what the ones before it left; what a handler gives replaces that. Appends
    the drafts that stand at the end, if they are valid, and returns the wish to go on."""
    name = event["extension"]
    drafts: list[Json] = []
    wanted, valid = False, True
    c.around.announce(event)
    for handler in c.around.handlers(name):
        try:
            answer = handler(event | {"entries": drafts, "continue": wanted}) or {}
            drafts = answer.get("entries", drafts)
            wanted = answer.get("continue", wanted)
        except ExtensionError:
            c.around.report({"extensionError": name, "kind": "thrown"})
        try:
            _append(Session(c.session.path()), drafts)
            valid = True
        except Refusal as refusal:
            valid = False
            c.around.report({"extensionError": name, "kind": "invalid_drafts", "cause": refusal.kind})
    if not valid:
        return False
    for entry in _append(c.session, drafts):
        c.around.emit({"event": "entry_appended", "id": entry["id"]})
    return wanted


def _append(session: Session, drafts: Sequence[Any]) -> list[Entry]:
    """Appends drafts in order, and passes over those of other types. That of a compaction is stored without any of the
    events of a compaction. (CTL-72)"""
    return [session.append(_completed(session, draft)) for draft in drafts if draft["type"] in _DRAFTS]


def _completed(session: Session, draft: Any) -> Any:
    if draft["type"] != "compaction":
        return draft
    return {**draft, "tokensBefore": of_projection(session.projection())["tokens"], "fromHook": True}


def _can_continue(c: Controller, session: Session, at_turn_end: bool) -> bool:
    """Whether the model could be asked: the context ends in something to answer, or a message is waiting."""
    roles = [message["role"] for message in to_llm(session.projection().messages)]
    ends_in_answer = bool(roles) and roles[-1] == "assistant"
    has_talk = any(role != "system" for role in roles)
    queue_counts = c.has_queued and (at_turn_end or ends_in_answer)
    return (has_talk and not ends_in_answer) or bool(c.waiting_notes) or queue_counts
