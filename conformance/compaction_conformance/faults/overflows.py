"""Faults of overflow detection: the pattern table, silent overflows, cut-off answers (chapter OVF)."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from compaction_conformance.faults.fault import Fault, Patches, always, cached_then, edited, given
from compaction_conformance.faults.sources import changelog, gh, pi


def _without(part: str, *numbers: int) -> Patches:
    """The table without some rows, counted from 1."""

    def drop(table: Any) -> Any:
        rows = getattr(table, part)
        kept = tuple(row for number, row in enumerate(rows, 1) if number not in numbers)
        return dataclasses.replace(table, **{part: kept})

    return {"overflow.patterns": cached_then(drop)}


def _with(pattern: str) -> Patches:
    compiled = re.compile(pattern, re.IGNORECASE | re.ASCII)
    return {
        "overflow.patterns": cached_then(lambda table: dataclasses.replace(table, overflow=(*table.overflow, compiled)))
    }


def _misses(name: str, rule: int, rows: tuple[int, ...], url: str, seen: str, provider: str) -> Fault:
    return Fault(
        f"FLT-overflow-misses-{name}",
        (f"OVF-{rule}",),
        url,
        seen,
        f"the sentence of {provider} is not known, so that the request is made again and again",
        _without("overflow", *rows),
        ("000-patterns",),
    )


def _sum_for_all(right: Any, text: str, provider: Any = None) -> Any:
    return right(text, "cerebras")


def _rate_status(right: Any, message: Any, window: Any = None) -> Any:
    text = message.get("errorMessage") if isinstance(message, dict) else None
    return right(message, window) or (isinstance(text, str) and text.startswith("429"))


def _one_provider(right: Any, message: Any, window: Any = None) -> Any:
    told = isinstance(message, dict) and message.get("stopReason") == "error"
    zai = isinstance(message, dict) and message.get("provider") == "zai"
    return right(message, window if told or zai else None)


_MAINTAINER = pi(129)
_PI = "pi before the row was added"

FAULTS = (
    _misses("z-ai", 11, (1,), pi(9805), _PI, "z.ai and Anthropic"),
    _misses("request-type", 12, (2,), _MAINTAINER, _PI, "Anthropic for requests that are too large"),
    _misses("bedrock", 13, (3,), _MAINTAINER, _PI, "Amazon Bedrock"),
    _misses("openai", 14, (4,), gh("code-yeongyu/senpi/pull/1466"), "senpi", "OpenAI"),
    _misses("proxies", 15, (5,), pi(5677), _PI, "proxies that speak like OpenAI"),
    _misses("google", 16, (6,), _MAINTAINER, _PI, "Google"),
    _misses("xai", 17, (7,), _MAINTAINER, _PI, "xAI"),
    _misses("groq", 18, (8,), _MAINTAINER, _PI, "Groq"),
    _misses("openrouter", 19, (9,), _MAINTAINER, _PI, "OpenRouter"),
    _misses("poolside", 20, (10,), pi(4943), _PI, "Poolside"),
    _misses("together", 21, (11,), _MAINTAINER, _PI, "Together"),
    _misses("copilot", 22, (12,), _MAINTAINER, _PI, "GitHub Copilot"),
    _misses("llama-cpp", 23, (13,), gh("openclaw/openclaw/pull/64196"), "openclaw", "llama.cpp"),
    _misses("lm-studio", 24, (14,), _MAINTAINER, _PI, "LM Studio"),
    _misses("minimax", 25, (15,), _MAINTAINER, _PI, "MiniMax"),
    _misses("kimi", 26, (16,), _MAINTAINER, _PI, "Kimi"),
    _misses("mistral", 27, (17,), _MAINTAINER, _PI, "Mistral"),
    _misses("ds4", 28, (18,), pi(6262), _PI, "DS4"),
    _misses("stop-reason", 29, (19,), pi(1937), _PI, "z.ai in a stop reason"),
    _misses("ollama", 30, (1, 20), pi(2626), _PI, "Ollama"),
    _misses("dashscope", 31, (21,), _MAINTAINER, "ports of pi", "DashScope"),
    _misses("error-code", 32, (22,), changelog(), "pi before 0.38.0", "providers that name a code"),
    _misses("many-tokens", 33, (23,), _MAINTAINER, _PI, "providers that speak of too many tokens"),
    _misses("token-limit", 34, (24,), _MAINTAINER, _PI, "providers that speak of a token limit"),
    Fault(
        "FLT-overflow-throttled",
        ("OVF-35", "OVF-06"),
        pi(2699),
        "pi, ports",
        "Bedrock's throttling is taken for an overflow",
        _without("exclusions", 1),
        ("000-patterns",),
    ),
    Fault(
        "FLT-overflow-rate-limit",
        ("OVF-36",),
        gh("anomalyco/opencode/pull/39621"),
        "opencode, ports of pi",
        "a rate limit that speaks of tokens is taken for an overflow",
        _without("exclusions", 2),
        ("000-patterns",),
    ),
    Fault(
        "FLT-overflow-many-requests",
        ("OVF-37",),
        pi(1038),
        "pi",
        "too many requests are taken for an overflow",
        _without("exclusions", 3),
    ),
    Fault(
        "FLT-overflow-status-429",
        ("OVF-37", "OVF-36"),
        pi(1038),
        "pi",
        "every answer with the status 429 is taken for an overflow",
        {"overflow.is_overflow": given(_rate_status)},
    ),
    Fault(
        "FLT-overflow-loose-word",
        ("OVF-04",),
        gh("openclaw/openclaw/pull/10183"),
        "openclaw",
        "any error that speaks of a context is taken for an overflow",
        _with("context"),
    ),
    Fault(
        "FLT-overflow-no-body-anyone",
        ("OVF-40",),
        pi(9482),
        "pi",
        "an empty 400 or 413 is an overflow, whoever sent it",
        {"overflow.error_tells_of_overflow": given(_sum_for_all)},
        ("000-patterns",),
    ),
    Fault(
        "FLT-overflow-no-body-nobody",
        ("OVF-38",),
        gh("can1357/oh-my-pi/pull/1252"),
        "oh-my-pi",
        "an empty 413 of Cerebras is not seen as an overflow",
        _without("provider_rules", 1),
    ),
    Fault(
        "FLT-overflow-good-answers",
        ("OVF-02",),
        changelog(),
        "pi before 0.17.0",
        "an error text counts although the answer did not end in an error",
        {"overflow.is_overflow": edited('stop_reason == "error" and truthy', "truthy")},
    ),
    Fault(
        "FLT-overflow-silent-one-provider",
        ("OVF-41",),
        pi(5720),
        "ports of pi",
        "a silent overflow is only looked for with one provider",
        {"overflow.is_overflow": given(_one_provider)},
    ),
    Fault(
        "FLT-overflow-silent-no-cache",
        ("OVF-42",),
        gh("anomalyco/opencode/pull/47832"),
        "opencode",
        "input from the cache does not count for a silent overflow",
        {"overflow._input_tokens": edited(' + number_of(usage, "cacheRead")', "")},
    ),
    Fault(
        "FLT-overflow-tool-use",
        ("OVF-43",),
        gh("can1357/oh-my-pi/issues/8887"),
        "oh-my-pi",
        "an answer that calls tools can overflow silently",
        {"overflow.is_overflow": edited('if stop_reason == "stop":', 'if stop_reason in ("stop", "toolUse"):')},
    ),
    Fault(
        "FLT-overflow-length-exact",
        ("OVF-45",),
        pi(7540),
        "oh-my-pi, ports of pi",
        "an answer that stopped at once overflows only if the window is full to the last token",
        {"overflow.is_overflow": edited(" * FILLED_WINDOW", "")},
    ),
    Fault(
        "FLT-overflow-length-never",
        ("OVF-48", "OVF-50"),
        pi(7540),
        "pi",
        "an answer that was cut off ends the run, though a smaller context would help",
        {"overflow.is_recoverable_length": always(False)},
        ("000-recovery",),
    ),
    Fault(
        "FLT-overflow-length-always",
        ("OVF-50",),
        pi(8130),
        "pi",
        "an answer that reached the length that was asked for is recovered too",
        {"overflow.is_recoverable_length": edited(" < desired", " <= desired")},
    ),
)
