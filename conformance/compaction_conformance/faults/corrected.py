"""Advice that the reference does not follow, followed: one correction a rule.

The reference does what Pi does. With all corrections together it follows every SHOULD of the coding agent and still
every MUST, which shows that safety costs no conformance. Each rule also gives a fault: all corrections but its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from compaction_conformance.faults.fault import Patched, Patches, edited, given


def _members(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _blocks(message: Any) -> list[Any]:
    content = _members(message).get("content")
    return content if isinstance(content, list) else []


def _calls(message: Any) -> set[Any]:
    blocks = _blocks(message) if _members(message).get("role") == "assistant" else []
    return {block.get("id") for block in map(_members, blocks) if block.get("type") == "toolCall"}


def _known(value: Any) -> bool:
    return isinstance(value, (str, int, float))


# ---- messages and tokens ---------------------------------------------------------------------------------------------


def _without_orphans(right: Any, params: Any) -> Any:
    """`messages/to_llm`: results of calls that do not stand before them are left out."""
    called: set[Any] = set()
    sent = []
    for message in right(params)["messages"]:
        called |= {each for each in _calls(message) if _known(each)}
        own = _members(message)
        answers = own.get("toolCallId")
        if own.get("role") != "toolResult" or (_known(answers) and answers in called):
            sent.append(message)
    return {"messages": sent}


def _seen_weight(right: Any, message: Any) -> Any:
    from compaction_reference.ecma import truthy

    own = _members(message)
    if own.get("role") == "bashExecution" and truthy(own.get("excludeFromContext")):
        return 0
    return right(message)


def _weighed_repaired(right: Any, messages: Any) -> Any:
    """What lacks its text is weightless, and what is left is weighed. One message by itself is refused as ever."""
    return right([_repaired(message) for message in messages])


def _repaired(message: Any) -> Any:
    if not isinstance(message, dict):
        return {}
    texts = {name: message[name] for name in ("command", "output", "summary") if isinstance(message.get(name), str)}
    whole = {"command": "", "output": "", "summary": "", **texts}
    content = message.get("content")
    kept = content if isinstance(content, str) else [block for block in map(_whole_block, _blocks(message)) if block]
    return {**message, **whole, "content": kept}


def _whole_block(block: Any) -> Any:
    own = _members(block)
    kind = own.get("type")
    if kind in ("text", "thinking"):
        return own if isinstance(own.get(kind), str) else None
    if kind == "toolCall" and "arguments" not in own:  # its name is what is left of it
        return {"type": "text", "text": own["name"]} if isinstance(own.get("name"), str) else None
    return own or None


# ---- trigger and overflow --------------------------------------------------------------------------------------------


def _has_window(right: Any, tokens: Any, window: Any, settings: Any) -> Any:
    from compaction_reference.ecma import to_number

    return right(tokens, window, settings) and to_number(window) > 0


def _has_tokens(right: Any, tokens: Any, window: Any, settings: Any) -> Any:
    from compaction_reference.ecma import to_number

    return right(tokens, window, settings) and to_number(tokens) != 0


def _unless(*decisions: str) -> Any:
    """The verdict on an error text, unless the recommended classifier has one of these reasons against it."""

    def change(right: Any, text: str, provider: Any = None) -> Any:
        from compaction_reference.recommended_overflow import classify_text

        plain = re.sub("(?i)throttling error|service unavailable", "", text)  # where they count, an exclusion says so
        return right(text, provider) and classify_text({"errorMessage": plain})["because"] not in decisions

    return change


_QUOTA = ("OVD-12", "OVD-13", "OVD-14", "OVD-15", "OVD-19")
_SMALL = ("OVD-01", "OVD-16")


# ---- cuts ------------------------------------------------------------------------------------------------------------


def _parted(right: Any, entries: Any, budget: Any, **more: Any) -> Any:
    """Cut points between a call and its result are taken away before the cut is looked for."""
    from compaction_reference import cut_point

    between = _between(entries)
    may_cut = cut_point._may_cut_at
    places = {id(entry): place for place, entry in enumerate(entries)}
    cut_point._may_cut_at = lambda entry: places.get(id(entry)) not in between and may_cut(entry)
    try:
        return right(entries, budget, **more)
    finally:
        cut_point._may_cut_at = may_cut


def _between(entries: Any) -> set[int]:
    """Places at which the kept part would hold a result without its call."""
    called_at: dict[Any, int] = {}
    between: set[int] = set()
    for place, entry in enumerate(entries):
        for message in entry.messages:
            answers = _members(message).get("toolCallId") if _members(message).get("role") == "toolResult" else None
            if _known(answers) and answers in called_at:
                between |= set(range(called_at[answers] + 1, place + 1))
            called_at |= {each: place for each in _calls(message) if _known(each)}
    return between


def _clean(right: Any, entries: Any, budget: Any, **more: Any) -> Any:
    """Entries without messages that were kept with a turn's start do not make the turn before it look split."""
    from compaction_reference import cut_point

    cut = right(entries, budget, **more)
    shown = next((entry for entry in entries[cut.first_kept :] if entry.messages), None)
    if cut.splits_turn and shown is not None and cut_point._starts_turn(shown):
        return type(cut)(cut.first_kept)
    return cut


# ---- summaries -------------------------------------------------------------------------------------------------------


def _with_text(right: Any, reply: Any, what: str) -> Any:
    from compaction_reference.ecma import trim
    from compaction_reference.summary import SummaryFailed

    part = right(reply, what)
    if _members(reply).get("stopReason") != "aborted" and not trim(part.text):
        raise SummaryFailed("empty", f"{what} has no text")  # type: ignore[arg-type]
    return part


class _Aborted(Exception):
    """A reply that the user stopped is no summary."""


def _not_aborted(right: Any, self: Any, request: Any) -> Any:
    reply = right(self, request)
    if _members(reply).get("stopReason") == "aborted":
        raise _Aborted
    return reply


def _told_as_aborted(right: Any, model: Any, outcome: Any) -> Any:
    def reached() -> Any:
        try:
            return outcome()
        except _Aborted:
            return {"aborted": True}

    return right(model, reached)


def _focus_on_prefix(right: Any, preparation: Any, model: Any, settings: Any, options: Any) -> Any:
    import dataclasses

    from compaction_reference import prompts

    requests = right(preparation, model, settings, options)
    if requests.history is not None or requests.turn_prefix is None:
        return requests
    prompt = prompts.focused(requests.turn_prefix.prompt, options.custom_instructions)
    return dataclasses.replace(requests, turn_prefix=dataclasses.replace(requests.turn_prefix, prompt=prompt))


def _no_overflow(right: Any, message: Any) -> Any:
    from compaction_reference.overflow import is_overflow

    return right(message) and not is_overflow(message)


# ---- control ---------------------------------------------------------------------------------------------------------


def _noted(right: Any, c: Any, reason: str, failure: Any, **more: Any) -> None:
    right(c, reason, failure, **more)
    if reason == "threshold":
        c.failed_in = c.run_signal


def _once_a_run(right: Any, c: Any) -> None:
    """Between two turns nothing is compacted any more once that has failed in this run."""
    if c.run_signal is None or vars(c).get("failed_in") is not c.run_signal:
        right(c)


_RECOVERY = """    c.omit(entry_ids)
    if prepare(c.session.entries, c.session.leaf.get("leafId", LAST), settings_of(c)) is None:
        _failed(c, "overflow", Failure("nothing_to_prepare"), aborted=False, from_extension=False)
"""

CORRECTIONS: dict[str, Patches] = {
    "LLM-25": {"messages/to_llm": given(_without_orphans)},
    "TOK-45": {"tokens.of_message": given(_seen_weight)},
    "TOK-46": {"tokens.of_context": given(_weighed_repaired)},
    "TRG-08": {"settings.should_compact": given(_has_window)},
    "TRG-09": {"settings.should_compact": given(_has_tokens)},
    "OVF-62": {"overflow.error_tells_of_overflow": given(_unless(*_QUOTA))},
    "OVF-63": {"overflow.error_tells_of_overflow": given(_unless(*_SMALL))},
    "CUT-29": {"cut_point.find_projected": given(_parted)},
    "PRE-35": {"preparation.find_projected": given(_clean)},
    "SUM-68": {"summary.accepted": given(_with_text)},
    "SUM-69": {"scripted.ScriptedModel.ask": given(_not_aborted), "scripted.answer": given(_told_as_aborted)},
    "SUM-70": {"summary.requests_for": given(_focus_on_prefix)},
    "SUM-71": {"retry.is_retryable": given(_no_overflow)},
    "CTL-95": {"control.summarizing._KINDS": lambda right: right | {"empty": "summary_empty"}},
    "CTL-96": {"control.compacting._recover": edited("    c.omit(entry_ids)\n", _RECOVERY)},
    "CTL-97": {
        "control.compacting._failed": given(_noted),
        "control.compacting.check_between_turns": given(_once_a_run),
    },
}


def corrected(*left_out: str) -> Patched:
    """The reference with every correction but those of some rules."""
    return Patched("corrected", merged(*left_out))


def merged(*left_out: str) -> Patches:
    """The corrections of all rules but some as one set of patches; those of one function are made one on the other."""
    together: dict[str, Any] = {}
    for rule, patches in CORRECTIONS.items():
        if rule in left_out:
            continue
        for place, make in patches.items():
            before = together.get(place)
            together[place] = make if before is None else _after(before, make)
    return together


def _after(first: Any, second: Any) -> Any:
    return lambda right: second(first(right))
