"""Did the request not fit into the model's context (chapter OVF)?

Providers say so in many words, some say nothing, and one stops at once. The words are in `overflow-patterns.json`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from .ecma import is_number, members, number_of, string, to_number, truthy
from .spec_table import read_table

_FILE = "overflow-patterns.json"
FILLED_WINDOW = 0.99


@dataclass(frozen=True, slots=True)
class Patterns:
    """Texts that tell of an overflow, texts that tell of something else and go first, and (provider, text) pairs."""

    overflow: tuple[re.Pattern[str], ...]
    exclusions: tuple[re.Pattern[str], ...]
    provider_rules: tuple[tuple[str, re.Pattern[str]], ...]


@cache
def patterns() -> Patterns:
    table = read_table(_FILE)
    return Patterns(
        tuple(_compiled(row) for row in table["patterns"]),
        tuple(_compiled(row) for row in table["exclusions"]),
        tuple((row["provider"], _compiled(row)) for row in table["providerRules"]),
    )


def _compiled(row: Any) -> re.Pattern[str]:
    return re.compile(row["regex"], re.IGNORECASE | re.ASCII)


def is_overflow(message: Any, context_window: Any = None) -> bool:
    """Whether an assistant message tells of an overflow: by its error text, or (only if the window is known) because
    more went in than fits, or because the input filled the window and nothing came out.
    (OVF-01 to OVF-04, OVF-09, OVF-41 to OVF-47, OVF-57 to OVF-59, OVF-61)"""
    own = members(message)
    stop_reason = own.get("stopReason")
    if stop_reason == "error" and truthy(own.get("errorMessage")):
        return error_tells_of_overflow(string(own["errorMessage"]), own.get("provider"))
    if not truthy(context_window):
        return False
    if stop_reason == "stop":
        return _input_tokens(own) > to_number(context_window)
    if stop_reason == "length":
        output = members(own.get("usage")).get("output")
        nothing_came_out = is_number(output) and output == 0
        return nothing_came_out and _input_tokens(own) >= to_number(context_window) * FILLED_WINDOW
    return False


def error_tells_of_overflow(text: str, provider: Any = None) -> bool:
    """Whether an error text is about the context size. Exclusions win over everything else.
    (OVF-05 to OVF-08, OVF-10 to OVF-40, OVF-53 to OVF-56)"""
    table = patterns()
    if any(pattern.search(text) for pattern in table.exclusions):
        return False
    if any(pattern.search(text) for pattern in table.overflow):
        return True
    return any(provider == name and pattern.search(text) for name, pattern in table.provider_rules)


def _input_tokens(own: Any) -> float:
    usage = members(own.get("usage"))
    return number_of(usage, "input") + number_of(usage, "cacheRead")


def is_recoverable_length(message: Any, desired_max_output: Any) -> bool:
    """Whether an answer was cut off before the length that was asked for, so that a smaller context can help.
    (OVF-48 to OVF-52)"""
    own, desired = members(message), to_number(desired_max_output)
    if own.get("stopReason") != "length" or not desired > 0:
        return False
    return number_of(members(own.get("usage")), "output") < desired
