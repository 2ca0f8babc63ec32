"""Compaction settings (chapter SET) and the question that they answer: is it time to compact (chapter TRG)?"""

from __future__ import annotations

from typing import Any

from .ecma import is_safe_integer, members, number_of, string_of, to_number, truthy
from .errors import Refusal
from .types import CompactionSettings, Json

DEFAULTS: CompactionSettings = {"enabled": True, "reserveTokens": 16384, "keepRecentTokens": 20000}


def resolve(global_settings: Any, project_settings: Any, model: Any | None) -> Json:
    """The settings in force for a model (`provider`, `id`): project over global, field by field; then for each token
    setting the override for exactly this model, the ordinary value, the default. Refuses (`invalid_setting`) a value
    in use that is no non-negative safe integer; overrides for other models are not looked at.
    (SET-01 to SET-11, SET-15)"""
    compaction = _object(merge(_object(global_settings), _object(project_settings)).get("compaction"))
    enabled = compaction.get("enabled")
    overrides = _object(compaction.get("modelOverrides"))
    return {
        "enabled": DEFAULTS["enabled"] if enabled is None else enabled,
        "reserveTokens": _token_setting("reserveTokens", compaction, overrides, model),
        "keepRecentTokens": _token_setting("keepRecentTokens", compaction, overrides, model),
    }


def merge(base: Json, over: Json) -> Json:
    """Objects are merged field by field and at every depth; of anything else the later value stands.
    (SET-12 to SET-14)"""
    merged = dict(base)
    for name, value in over.items():
        below = base.get(name)
        merged[name] = merge(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged


def _token_setting(field: str, compaction: Json, overrides: Json, model: Any | None) -> Any:
    value: Any = DEFAULTS[field]  # type: ignore[literal-required]
    if field in compaction:
        value = _checked(compaction[field], field)
    if model is None:
        return value
    key = f"{string_of(members(model), 'provider')}/{string_of(members(model), 'id')}"
    if key not in overrides:
        return value
    override = overrides[key]
    if not isinstance(override, dict):
        raise Refusal("invalid_setting", f"the override for {key} is no object")
    return _checked(override[field], f"{field} for {key}") if field in override else value


def _checked(value: Any, name: str) -> Any:
    if not is_safe_integer(value) or value < 0:
        raise Refusal("invalid_setting", f"{name} is no non-negative safe integer: {value!r}")
    return value


def _object(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def should_compact(context_tokens: Any, context_window: Any, settings: Any) -> bool:
    """Whether more tokens are used than the window holds without the reserve. A window of 0 is no special case.
    (TRG-01 to TRG-07)"""
    own = members(settings)
    if not truthy(own.get("enabled")):
        return False
    return to_number(context_tokens) > to_number(context_window) - number_of(own, "reserveTokens")
