"""Scenarios of `control/run` (`spec/scenarios.md`): small windows, short scripts, everything that can go wrong."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from compaction_conformance.strategies.errors import overflow_errors, passing_errors
from compaction_conformance.strategies.texts import plain_texts

Scenario = dict[str, Any]
MODEL = {"provider": "acme", "id": "m", "contextWindow": 1000, "maxTokens": 100}


@cache
def replies() -> SearchStrategy[dict[str, Any]]:
    """What the provider answers: a text, a call, an error, an answer that broke off."""
    usage = st.fixed_dictionaries({"input": st.sampled_from([10, 790, 801, 1200]), "output": st.integers(0, 100)})
    text = plain_texts(20)
    calls = st.integers(1, 9).map(lambda number: [{"id": f"t{number}", "name": "read", "arguments": {"path": "a"}}])
    return st.one_of(
        st.builds(lambda words, used: {"text": words, "usage": used}, text, usage),
        st.builds(lambda asked, used: {"calls": asked, "usage": used}, calls, usage),
        st.one_of(overflow_errors(), passing_errors(), st.just("no")).map(lambda error: {"error": error, "usage": {}}),
        st.builds(lambda words, used: {"text": words, "stopReason": "length", "usage": used}, text, usage),
        st.just({"text": "a", "during": [{"do": "abort"}]}),
    )


@cache
def actions() -> SearchStrategy[dict[str, Any]]:
    """What the user does: mostly prompts."""
    return st.one_of(
        plain_texts(20).map(lambda words: {"do": "prompt", "text": words}),
        st.just({"do": "compact"}),
        st.builds(
            lambda back, wanted: {"do": "navigate", "target": {"of": "user", "nth": back}, "summarize": wanted},
            st.sampled_from([1, -1]),
            st.booleans(),
        ),
        st.sampled_from([{"do": "reopen"}, {"do": "usage"}, {"do": "state"}, {"do": "abort"}]),
        st.booleans().map(lambda on: {"do": "setEnabled", "enabled": on}),
        st.just({"do": "append", "entry": {"type": "session_info", "name": "n"}}),
    )


@cache
def scenarios(max_steps: int = 5, max_replies: int = 8) -> SearchStrategy[Scenario]:
    """A model with a window of 1000 tokens and a threshold of 800, a script, and steps that begin with a prompt."""
    settings = st.builds(
        lambda enabled, keep, retries: {
            "compaction": {"enabled": enabled, "reserveTokens": 200, "keepRecentTokens": keep},
            "retry": {"enabled": retries > 0, "maxRetries": retries},
        },
        st.sampled_from([True, True, False]),
        st.sampled_from([2, 0, 20]),
        st.integers(0, 2),
    )
    summaries = st.lists(
        st.one_of(st.just({"text": "a"}), st.just({"error": "no"}), st.just({"error": "overloaded"})), max_size=6
    )
    prompt = plain_texts(20).map(lambda words: {"do": "prompt", "text": words})
    steps = st.builds(lambda first, rest: [first, *rest], prompt, st.lists(actions(), max_size=max_steps - 1))
    return st.builds(_scenario, settings, st.lists(replies(), max_size=max_replies), summaries, steps)


def _scenario(settings: Any, script: Sequence[Any], summaries: Sequence[Any], steps: Sequence[Any]) -> Scenario:
    """Summaries get a text each of their own; every call has a result."""
    told = [{**one, "text": f"summary {number}"} if "text" in one else one for number, one in enumerate(summaries, 1)]
    calls = sum("calls" in reply for reply in script)
    return {
        "models": [MODEL],
        "settings": settings,
        "tools": {"read": [{"text": f"result {number}"} for number in range(1, calls + 1)]},
        "replies": list(script),
        "summaries": told,
        "maxRequests": 40,
        "steps": list(steps),
    }
