"""Properties: what holds of every right implementation, whatever the session.

`all_properties()` gives them by id. `conformance/PROPERTIES.md` lists them.
"""

from __future__ import annotations

import importlib
import pkgutil

from compaction_conformance.properties.base import REGISTRY, Ask, Exchange, OutOfReach, Property, Violation

__all__ = ["Ask", "Exchange", "OutOfReach", "Property", "Violation", "all_properties"]

_HELPERS = ("base", "checking", "facts", "machine")


def all_properties() -> tuple[Property, ...]:
    """Every property, by theme and in the order of the modules' text."""
    for module in sorted(module.name for module in pkgutil.iter_modules(__path__)):
        if module not in _HELPERS:
            importlib.import_module(f"{__name__}.{module}")
    themes: dict[str, list[Property]] = {}
    for each in REGISTRY.values():
        themes.setdefault(each.theme, []).append(each)
    return tuple(each for _, group in sorted(themes.items()) for each in group)
