"""Settings files, settings as they apply to a model, and models."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

TOKEN_FIELDS = ("reserveTokens", "keepRecentTokens")
MODEL = {"provider": "acme", "id": "m"}
OTHER_MODEL = {"provider": "acme", "id": "n"}
_LARGEST = 2**53 - 1


def token_counts(max_tokens: int = 100) -> SearchStrategy[int]:
    """What a token setting may be: mostly small numbers, at times the largest one."""
    return st.one_of(st.integers(0, max_tokens), st.just(_LARGEST))


def invalid_token_counts() -> SearchStrategy[Any]:
    """What a token setting may not be."""
    return st.sampled_from([-1, 0.5, _LARGEST + 1, None, True, "1", [], {}])


@cache
def compaction_settings(max_tokens: int = 100) -> SearchStrategy[dict[str, Any]]:
    """Settings as `compaction/prepare` and `trigger/should_compact` take them."""
    tokens = st.integers(0, max_tokens)
    return st.builds(
        lambda keep, reserve, enabled: {"enabled": enabled, "reserveTokens": reserve, "keepRecentTokens": keep},
        tokens,
        tokens,
        st.sampled_from([True, True, True, False]),
    )


@cache
def settings_files() -> SearchStrategy[dict[str, Any]]:
    """One settings file, user's or project's: any part may be missing, all that is there is valid."""
    fields: dict[str, SearchStrategy[Any]] = {name: token_counts() for name in TOKEN_FIELDS}
    override = st.fixed_dictionaries({}, optional=dict(fields))
    overrides = st.dictionaries(st.sampled_from(["acme/m", "acme/n", "ACME/m"]), override, max_size=2)
    group = st.fixed_dictionaries({}, optional={**fields, "enabled": st.booleans(), "modelOverrides": overrides})
    branch = st.fixed_dictionaries({}, optional={"reserveTokens": token_counts(), "skipPrompt": st.booleans()})
    retry = st.fixed_dictionaries(
        {},
        optional={"enabled": st.booleans(), "maxRetries": st.integers(0, 5), "baseDelayMs": st.integers(0, 9000)},
    )
    return st.fixed_dictionaries({"compaction": group}, optional={"branchSummary": branch, "retry": retry})


@cache
def models() -> SearchStrategy[dict[str, Any]]:
    """Models as summaries are asked of: a known window, a limit that is known or (0) not."""
    return st.builds(
        lambda window, limit, reasoning: {**MODEL, "contextWindow": window, "maxTokens": limit, "reasoning": reasoning},
        st.integers(20_000, 200_000),
        st.sampled_from([0, 100, 8192, 64_000]),
        st.booleans(),
    )
