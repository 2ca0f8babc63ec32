"""One property against one implementation, the same way every time: no clock, no database, no chance."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings

from compaction_conformance.paths import spec_dir
from compaction_conformance.properties.base import Ask, Property, Violation
from compaction_conformance.schema_words import brief, printable
from compaction_conformance.spec import load_spec
from compaction_conformance.terminal import place, shown_apart

_SHOWN = 2_000  # characters of an example
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
        return _told(each, *last)
    return ""


def _told(each: Property, violation: Violation, example: Any) -> str:
    rule = load_spec(spec_dir()).requirements[each.requirements[0]]
    rows = [("rule", f"{rule.id} {rule.sentence}"), ("asks", violation.operation)]
    if (found := violation.difference) is not None:
        want, got = shown_apart(found.want, found.got)
        rows += [("at", place(found)), ("want", want), ("got", got)]
    command = f"pytest --pyargs compaction_conformance.suite.test_properties --only {each.id}"
    rows += [("with", _as_json(example)), ("again", f"{command}, with the options of this run")]
    head = printable(f"  {violation.what} ({violation.failure})")
    return "\n".join([head, *(f"  {name:<6} {printable(text)}" for name, text in rows)])


def _as_json(example: Any) -> str:
    """The example as JSON, its parts by name; cut where it is long."""
    return brief(json.dumps(example, ensure_ascii=False, default=_members), _SHOWN)


def _members(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: getattr(value, one.name) for one in fields(value)}
    return sorted(value, key=repr) if isinstance(value, (set, frozenset)) else repr(value)
