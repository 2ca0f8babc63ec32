"""Properties of settings and of the trigger."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from compaction_conformance.properties.base import Ask, equal, holds, prop
from compaction_conformance.strategies import compaction_settings, invalid_token_counts, settings_files, token_counts
from compaction_conformance.strategies.settings import MODEL, OTHER_MODEL, TOKEN_FIELDS

_RESOLVE, _DUE = "settings/resolve", "trigger/should_compact"
_FILES = st.tuples(settings_files(), settings_files())
_MODELS = st.sampled_from([MODEL, OTHER_MODEL, None])
_DEFAULTS = {"enabled": True, "reserveTokens": 16384, "keepRecentTokens": 20000}


@prop("SET-layers", rules="SET-03 SET-01 SET-02 SET-12 SET-14", asks=_RESOLVE, given=st.tuples(_FILES, _MODELS))
def every_value_falls_back_by_itself(ask: Ask, example: tuple[tuple[Any, Any], Any]) -> None:
    """Each token value is that of the model's override, else of the group, else the default; the project goes first."""
    (user, project), model = example
    groups = [file.get("compaction", {}) for file in (project, user)]
    key = f"{model['provider']}/{model['id']}" if model else ""
    overrides = [group.get("modelOverrides", {}).get(key, {}) for group in groups]
    want = {"enabled": _first("enabled", groups)}
    for name in TOKEN_FIELDS:
        want[name] = _first(name, [*overrides, *groups])
    equal(_RESOLVE, want, ask(_RESOLVE, {"global": user, "project": project, "model": model}))


def _first(name: str, layers: list[Any]) -> Any:
    return next((layer[name] for layer in layers if name in layer), _DEFAULTS[name])


@prop("SET-project-alone", rules="SET-12", asks=_RESOLVE, given=st.tuples(_FILES, _MODELS))
def a_file_merged_with_itself_is_itself(ask: Ask, example: tuple[tuple[Any, Any], Any]) -> None:
    """A file counts the same as the user's, as the project's, and as both at once."""
    (file, _), model = example
    expected = ask(_RESOLVE, {"global": file, "project": {}, "model": model})
    equal(_RESOLVE, expected, ask(_RESOLVE, {"global": {}, "project": file, "model": model}))
    equal(_RESOLVE, expected, ask(_RESOLVE, {"global": file, "project": file, "model": model}))


@prop(
    "SET-other-models", rules="SET-11 SET-04", asks=_RESOLVE, given=st.tuples(settings_files(), invalid_token_counts())
)
def overrides_of_other_models_never_matter(ask: Ask, example: tuple[Any, Any]) -> None:
    """Overrides of other models change nothing, not even invalid ones."""
    file, value = example
    group = file.get("compaction", {})
    overrides = {**group.get("modelOverrides", {}), "acme/M": {"reserveTokens": value}, "m": value}
    other = {**file, "compaction": {**group, "modelOverrides": overrides}}
    ask.same(
        _RESOLVE, {"global": file, "project": {}, "model": MODEL}, {"global": other, "project": {}, "model": MODEL}
    )


@prop(
    "SET-invalid",
    rules="SET-08 SET-10",
    asks=_RESOLVE,
    given=st.tuples(settings_files(), st.sampled_from(TOKEN_FIELDS), invalid_token_counts()),
)
def invalid_values_are_refused(ask: Ask, example: tuple[Any, str, Any]) -> None:
    """A token value that is no safe integer of zero or more is refused, used or not."""
    file, name, value = example
    broken = {**file, "compaction": {**file.get("compaction", {}), name: value}}
    params = {"global": {}, "project": broken, "model": MODEL}
    equal(_RESOLVE, "invalid_setting", ask.refusal(_RESOLVE, params), at="/error/kind")


@prop("SET-sections", rules="BRS-43 BRS-44", asks="branch/settings", given=_FILES)
def branch_settings_are_their_own(ask: Ask, two: tuple[Any, Any]) -> None:
    """The settings of branch summaries come from their own section, the project's members first."""
    user, project = (file.get("branchSummary", {}) for file in two)
    want = {"reserveTokens": 16384, "skipPrompt": False, **user, **project}
    equal("branch/settings", want, ask("branch/settings", {"global": two[0], "project": two[1]}))


@prop("SET-retry", rules="SUM-73", asks="retry/settings", given=_FILES)
def retry_settings_have_defaults(ask: Ask, two: tuple[Any, Any]) -> None:
    """The retry policy comes from its section, the project's members first, with a default for each."""
    user, project = (file.get("retry", {}) for file in two)
    want = {"enabled": True, "maxRetries": 3, "baseDelayMs": 2000, "maxAgentDelayMs": 60000, **user, **project}
    equal("retry/settings", want, ask("retry/settings", {"global": two[0], "project": two[1]}))


_TRIGGER = st.tuples(st.integers(1, 400), st.integers(1, 400), compaction_settings(400))


def _due(ask: Ask, tokens: int, window: int, settings: Any) -> bool:
    return bool(ask(_DUE, {"contextTokens": tokens, "contextWindow": window, "settings": settings})["compact"])


@prop("TRG-line", rules="TRG-01 TRG-02 TRG-03 TRG-04", asks=_DUE, given=_TRIGGER)
def compaction_is_due_above_the_line(ask: Ask, example: tuple[int, int, Any]) -> None:
    """Compaction is due when it is on and the size is strictly above the window without the reserve."""
    tokens, window, settings = example
    want = settings["enabled"] and tokens > window - settings["reserveTokens"]
    equal(_DUE, want, _due(ask, tokens, window, settings), at="/compact")


@prop("TRG-edge", rules="TRG-01", asks=_DUE, given=st.tuples(st.integers(2, 10**9), token_counts()))
def the_line_itself_is_not_above_it(ask: Ask, example: tuple[int, int]) -> None:
    """A size on the line is not due, and one token more is."""
    window, wanted = example
    settings = {"enabled": True, "reserveTokens": min(wanted, window - 1), "keepRecentTokens": 0}
    line = window - settings["reserveTokens"]
    equal(_DUE, [False, True], [_due(ask, line + more, window, settings) for more in (0, 1)], at="/compact")


@prop("TRG-monotone", rules="TRG-01", asks=_DUE, given=st.tuples(_TRIGGER, st.integers(0, 99)))
def the_trigger_is_monotone(ask: Ask, example: tuple[tuple[int, int, Any], int]) -> None:
    """What is due stays due with more tokens, with a smaller window, and with a larger reserve."""
    (tokens, window, settings), more = example
    if _due(ask, tokens, window, settings):
        reserved = {**settings, "reserveTokens": settings["reserveTokens"] + more}
        tighter = (
            (tokens + more, window, settings),
            (tokens, max(window - more, 1), settings),
            (tokens, window, reserved),
        )
        for one in tighter:
            holds(_due(ask, *one), _DUE, "it is not due any more", "/compact")


@prop("TRG-keep", rules="TRG-02", asks=_DUE, given=st.tuples(_TRIGGER, st.integers(0, 400)))
def what_is_kept_has_no_part_in_the_trigger(ask: Ask, example: tuple[tuple[int, int, Any], int]) -> None:
    """How much a compaction keeps does not decide when it is due."""
    (tokens, window, settings), keep = example
    other = {**settings, "keepRecentTokens": keep}
    equal(_DUE, _due(ask, tokens, window, settings), _due(ask, tokens, window, other), at="/compact")
