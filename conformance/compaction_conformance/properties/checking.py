"""One property against one implementation, the same way every time: no clock, no database, no chance."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, Phase, given, settings

from compaction_conformance.properties.base import Ask, Property, Violation

_PHASES = (Phase.explicit, Phase.generate, Phase.shrink)


def fixed_settings(examples: int, **more: Any) -> settings:
    """Hypothesis' settings for a fixed choice of so many examples."""
    quiet = list(HealthCheck)
    fixed = {"derandomize": True, "database": None, "deadline": None, "suppress_health_check": quiet}
    return settings(max_examples=examples, phases=_PHASES, print_blob=False, **{**fixed, **more})


def checked(each: Property, ask: Ask, *, examples: int) -> str:
    """What is wrong and the smallest example that shows it, or an empty text."""

    def holds(example: Any) -> None:
        ask.exchanges.clear()
        each.examine(ask, example)
        last[:] = []

    last: list[Any] = []

    def noted(example: Any) -> None:
        try:
            holds(example)
        except Violation as violation:
            last[:] = [violation, example]
            raise

    noted.__name__ = noted.__qualname__ = each.id.replace("-", "_")  # the choice of examples depends on the name
    try:
        fixed_settings(examples)(given(each.given)(noted))()
    except Violation:
        return _told(*last)
    return ""


def _told(violation: Violation, example: Any) -> str:
    from compaction_conformance.schema_words import printable
    from compaction_conformance.terminal import place, shown_apart

    lines = [f"  {violation.operation}: {printable(violation.what)} ({violation.failure})"]
    if violation.difference is not None:
        found = violation.difference
        want, got = shown_apart(found.want, found.got)
        lines += [f"  at   {place(found)}", f"  want {want}", f"  got  {got}"]
    return "\n".join([*lines, f"  with {printable(repr(example))[:2000]}"])
