"""When a running session compacts, and how (chapter CTL): three check times, recovery, the user's wish."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import settings
from ..dates import milliseconds
from ..ecma import map_key, members, truthy
from ..overflow import is_overflow, is_recoverable_length
from ..preparation import prepare
from ..projection import Projection, newest_compaction
from ..summary import Options
from ..tokens import from_usage, of_context, of_message, of_projection
from ..types import LAST, Entry, Json, Message
from .summarizing import Asking, summarize
from .surroundings import Failure, Signal, ask, tell

if TYPE_CHECKING:
    from .controller import Controller


def settings_of(c: Controller) -> Json:
    model = None if c.model is None else {"provider": c.model.provider, "id": c.model.id}
    return settings.resolve(c.settings, {}, model)


# ---- the three check times -------------------------------------------------------------------------------------------


def check_before_prompt(c: Controller) -> None:
    """Before the user's message exists. Whatever comes of it, the prompt is sent."""
    for entry in reversed(c.session.projection().entries):
        for message in reversed(entry.messages):
            if message["role"] == "assistant":
                check(c, message, str(entry.source["id"]), skip_aborted=False, result_ids=[])
                return


def check_between_turns(c: Controller) -> None:
    """Before another turn of the same run: the threshold alone, over the whole projection."""
    if c.model is None or c.model.context_window <= 0:
        return
    tokens = of_projection(c.session.projection())["tokens"]
    if settings.should_compact(tokens, c.model.context_window, settings_of(c)):
        compact_automatically(c, "threshold", will_retry=False)


def check(c: Controller, message: Message, entry_id: str, *, skip_aborted: bool, result_ids: list[str]) -> bool:
    """After a run, for its last answer: whether the run goes on. `result_ids` are the tool results of its last turn."""
    resolved = settings_of(c)
    if not truthy(resolved["enabled"]) or (skip_aborted and message["stopReason"] == "aborted"):
        return False
    path = c.session.path()
    if _is_stale(message, path):
        return False
    projection = c.session.projection()
    recovery = _recovery(c, message, entry_id, projection, path)
    if recovery is not None:
        return _recover(c, message, [entry_id, *result_ids], recovery)
    window = c.model.context_window if c.model else 0
    tokens = _tokens_for_threshold(c, message, projection, path)
    if tokens is None or not settings.should_compact(tokens, window, resolved):
        return False
    return compact_automatically(c, "threshold", will_retry=False)


def _is_stale(message: Message, path: list[Entry]) -> bool:
    """Made before the newest compaction, or in its millisecond: usage and error tell of a context that is gone."""
    at = newest_compaction(path)
    return at is not None and message["timestamp"] <= milliseconds(path[at]["timestamp"])


def _recovery(c: Controller, message: Message, entry_id: str, projection: Projection, path: list[Entry]) -> str | None:
    """What the answer has to be recovered from: `overflow`, `length`, or nothing. Only an answer of the present model
    that the model still sees counts, and what was counted only if no edit came after it."""
    model = c.model
    if model is None or message.get("provider") != model.provider or message.get("model") != model.id:
        return None
    positions = [index for index, entry in enumerate(path) if map_key(entry["id"]) == map_key(entry_id)]
    after = path[positions[0] + 1 :] if positions else []
    shown = any(
        entry.source["id"] == entry_id and any(each["role"] == "assistant" for each in entry.messages)
        for entry in projection.entries
    )
    edits = [entry for entry in after if entry["type"] == "context_edit"]
    own_edits = [edit for edit in edits if edit["targetId"] == entry_id]
    omitted = bool(own_edits) and own_edits[-1]["replacement"] is None
    compacted = any(entry["type"] == "compaction" for entry in after)
    told = message["stopReason"] == "error" and is_overflow(message)
    if told and not compacted and not omitted:
        return "overflow"
    if shown and not edits and is_overflow(message, model.context_window):
        return "overflow"
    return "length" if shown and is_recoverable_length(message, model.max_tokens) else None


def _recover(c: Controller, message: Message, entry_ids: list[str], recovery: str) -> bool:
    """Overflow and cut-off answers: take the attempt out, compact, try once more. A complete answer stays."""
    if message["stopReason"] == "stop":
        return compact_automatically(c, "overflow", will_retry=False)
    if c.recovery_used:
        kind = "recovery_exhausted" if recovery == "overflow" else "length_recovery_exhausted"
        _failed(c, "overflow", Failure(kind), aborted=False, from_extension=False)
        return False
    c.recovery_used = True
    c.omit(entry_ids)
    return compact_automatically(c, "overflow", will_retry=True)


def _tokens_for_threshold(c: Controller, message: Message, projection: Projection, path: list[Entry]) -> float | None:
    """What is compared with the window: the answer's own usage where that can be trusted. None: nothing can be said,
    as all that was counted was counted before the newest compaction."""
    if any(entry.source["type"] == "context_edit" for entry in projection.entries):
        return float(of_projection(projection)["tokens"])
    own = from_usage(message["usage"]) if message.get("usage") else 0
    if message["stopReason"] != "error" and own != 0:
        return own
    messages = projection.messages
    estimate = of_context(messages)
    if estimate["lastUsageIndex"] is not None and _is_stale(messages[estimate["lastUsageIndex"]], path):
        return None
    return float(estimate["tokens"])


# ---- automatic -------------------------------------------------------------------------------------------------------


def compact_automatically(c: Controller, reason: str, *, will_retry: bool) -> bool:
    """Compacts, and says whether the run goes on. Where nothing can be prepared nothing happens, not even an event; a
    failure ends in events and never in an exception."""
    if c.model is None:
        return False
    preparation = prepare(c.session.entries, c.session.leaf.get("leafId", LAST), settings_of(c))
    if preparation is None:
        return False
    signal = c.compaction_signal = Signal()
    summarized = _summarizer(c, preparation, None, reason, signal)
    from_extension = False
    try:
        c.around.emit({"event": "compaction_start", "reason": reason})
        signal.check()
        made = _from_extension(c, preparation, reason, will_retry, None)
        from_extension = made is not None
        signal.check()
        if made is None:
            made = summarized()
        signal.check()
        result = _store(c, made, from_extension, reason, will_retry)
        c.around.emit(
            {"event": "compaction_end", "reason": reason, "aborted": False, "willRetry": will_retry, **result}
        )
        return will_retry or c.has_queued
    except Failure as failure:
        aborted = signal.aborted or failure.kind == "cancelled"
        _failed(c, reason, failure, aborted=aborted, from_extension=from_extension)
        return False
    finally:
        c.compaction_signal = None
        c.became_idle()


def _failed(c: Controller, reason: str, failure: Failure, *, aborted: bool, from_extension: bool) -> None:
    """Listeners hear of a failure before extensions; of a success after them."""
    told = {} if aborted else {"failure": failure.facts}
    end = {"reason": reason, "aborted": aborted, "willRetry": False, **told}
    c.around.emit({"event": "compaction_end", **end})
    tell(c.around, {"extension": "session_compact_failed", **end, "fromExtension": from_extension})


# ---- because the user wants it ---------------------------------------------------------------------------------------


def compact_now(c: Controller, custom_instructions: str | None) -> Json:
    """The result of a compaction that the user asked for, `{"result": …}`; enabled or not. Raises Failure."""
    signal = c.manual_signal = Signal()
    from_extension = False
    c.around.emit({"event": "compaction_start", "reason": "manual"})
    try:
        if c.model is None:
            raise Failure("no_model")
        signal.check()
        path = c.session.path()
        preparation = prepare(c.session.entries, c.session.leaf.get("leafId", LAST), settings_of(c))
        if preparation is None:
            ends_in_compaction = bool(path) and path[-1]["type"] == "compaction"
            raise Failure("already_compacted" if ends_in_compaction else "nothing_to_compact")
        summarized = _summarizer(c, preparation, custom_instructions, "manual", signal)
        made = _from_extension(c, preparation, "manual", False, custom_instructions)
        from_extension = made is not None
        if made is None:
            made = summarized()
        signal.check()
        result = _store(c, made, from_extension, "manual", False)
        c.manual_signal = None  # whoever hears of the end may send a prompt
        c.around.emit({"event": "compaction_end", "reason": "manual", "aborted": False, "willRetry": False, **result})
        return result
    except Failure as failure:
        aborted = signal.aborted or failure.kind == "cancelled"
        c.manual_signal = None
        _failed(c, "manual", failure, aborted=aborted, from_extension=from_extension)
        raise
    finally:
        c.manual_signal = None
        c.became_idle()


# ---- both ------------------------------------------------------------------------------------------------------------


def _from_extension(
    c: Controller, preparation: Json, reason: str, will_retry: bool, custom_instructions: str | None
) -> Json | None:
    """The compaction that an extension brings, taken as it is; None without one. Raises Failure when one cancels."""
    event: Json = {
        "extension": "session_before_compact",
        "reason": reason,
        "willRetry": will_retry,
        "customInstructions": custom_instructions,
        "branchEntries": c.session.path(),
        "preparation": preparation,
    }
    c.around.announce(event)
    answer = members(ask(c.around, "session_before_compact", event) or {})
    if answer.get("cancel"):
        raise Failure("cancelled")
    compaction: Json | None = answer.get("compaction")
    return compaction


def _summarizer(c: Controller, preparation: Json, focus: str | None, reason: str, signal: Signal) -> Callable[[], Json]:
    """Asks for the summary, later but with the model and the settings of now: an extension that is asked before may
    choose another model for what comes after. (CTL-52)"""
    model, resolved = c.model, settings_of(c)
    asking = Asking(c.around, c.settings, signal, {"source": "compaction", "reason": reason})

    def summarized() -> Json:
        assert model is not None
        return summarize(asking, preparation, model, resolved, Options(focus, c.thinking_level))

    return summarized


def _store(c: Controller, made: Any, from_extension: bool, reason: str, will_retry: bool) -> Json:
    """Appends the compaction and tells the extensions; no event tells of the entry itself."""
    names = ("summary", "firstKeptEntryId", "tokensBefore", "usage", "details")
    fields = {name: made[name] for name in names if name in made}
    c.session.append({"type": "compaction", **fields, "fromHook": from_extension})
    size_after = sum(map(of_message, c.messages()))
    first_alike = next(
        entry for entry in c.session.entries if entry["type"] == "compaction" and entry["summary"] == made["summary"]
    )
    tell(
        c.around,
        {
            "extension": "session_compact",
            "reason": reason,
            "willRetry": will_retry,
            "fromExtension": from_extension,
            "compactionEntry": first_alike,
        },
    )
    return {"result": {**fields, "estimatedTokensAfter": size_after}}
