"""Faults of token accounting, settings and trigger (chapters TOK, SET, TRG)."""

from __future__ import annotations

from typing import Any

from compaction_conformance.faults.fault import Fault, edited, given, instead, value
from compaction_conformance.faults.sources import changelog, gh, pi


def _cached_twice(right: Any, usage: Any) -> Any:
    cached = usage.get("cacheRead") if isinstance(usage, dict) else None
    return right(usage) + (cached if isinstance(cached, (int, float)) else 0)


def _without_image(right: Any, own: Any) -> Any:
    if own.get("role") == "user" and isinstance(own.get("content"), list):
        blocks = [block for block in own["content"] if not (isinstance(block, dict) and block.get("type") == "image")]
        return right({**own, "content": blocks})
    return right(own)


def _no_total(right: Any, usage: Any) -> Any:
    if isinstance(usage, dict) and not usage.get("totalTokens"):
        return right({**usage, "cacheRead": 0, "cacheWrite": 0})
    return right(usage)


def _needs_usage(right: Any, messages: Any) -> Any:
    counted = right(messages)
    return counted if counted["lastUsageIndex"] is not None else {**counted, "tokens": 0, "trailingTokens": 0}


def _share(right: Any, tokens: Any, window: Any, settings: Any) -> Any:
    if isinstance(window, (int, float)) and isinstance(tokens, (int, float)) and window > 0:
        return bool(settings.get("enabled")) and tokens > window * 0.8
    return right(tokens, window, settings)


def _half_at_most(right: Any, tokens: Any, window: Any, settings: Any) -> Any:
    reserve = settings.get("reserveTokens") if isinstance(settings, dict) else None
    if isinstance(reserve, (int, float)) and isinstance(window, (int, float)):
        settings = {**settings, "reserveTokens": min(reserve, window / 2)}
    return right(tokens, window, settings)


def _whole_group(base: Any, over: Any) -> Any:
    return {**base, **over}


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


FAULTS = (
    Fault(
        "FLT-usage-cached-twice",
        ("TOK-01",),
        changelog(),
        "pi's providers before 0.12.10",
        "tokens from the cache count twice",
        {"tokens.from_usage": given(_cached_twice)},
        ("000-usage",),
    ),
    Fault(
        "FLT-usage-without-cache",
        ("TOK-02",),
        gh("anomalyco/opencode/pull/47832"),
        "opencode",
        "where no total is told, tokens from the cache do not count, so that the trigger is blind",
        {"tokens.from_usage": given(_no_total)},
        ("000-usage", "002-estimate"),
    ),
    Fault(
        "FLT-usage-total-ignored",
        ("TOK-01",),
        gh("letta-ai/letta/issues/3242"),
        "letta",
        "the parts are added although the provider tells a total",
        {"tokens.from_usage": edited('truthy(own.get("totalTokens"))', "False")},
    ),
    Fault(
        "FLT-usage-of-failed",
        ("TOK-23",),
        changelog(),
        "pi before 0.17.0",
        "the usage of an answer that failed is taken for the size of the context",
        {"tokens.usable_usage": edited('("aborted", "error")', '("aborted",)')},
        ("000-usage",),
    ),
    Fault(
        "FLT-usage-of-aborted",
        ("TOK-23",),
        gh("earendil-works/pi/pull/9337"),
        "pi",
        "the usage of an aborted answer is taken for the size of the context",
        {"tokens.usable_usage": edited('("aborted", "error")', '("error",)')},
    ),
    Fault(
        "FLT-usage-zero-anchor",
        ("TOK-23", "TOK-24"),
        gh("handochan/aelix-ai/issues/4"),
        "aelix",
        "a usage of nothing but zeros is an anchor, so that the context looks empty",
        {"tokens.usable_usage": edited("from_usage(usage) > 0", "from_usage(usage) >= 0")},
        ("002-estimate",),
    ),
    Fault(
        "FLT-usage-oldest-anchor",
        ("TOK-24",),
        pi(5526),
        "pi",
        "an old usage is the anchor and everything since is estimated",
        {"tokens.of_context": edited("range(len(messages) - 1, -1, -1)", "range(len(messages))")},
    ),
    Fault(
        "FLT-usage-without-trailing",
        ("TOK-27", "TOK-24"),
        pi(6879),
        "pi before 0.84.4",
        "what came after the last usage, large tool results among it, weighs nothing",
        {"tokens.of_context": edited("sum(map(of_message, messages[index + 1 :]))", "0")},
        ("000-usage", "002-estimate"),
    ),
    Fault(
        "FLT-usage-required",
        ("TOK-28",),
        pi(8328),
        "pi",
        "without a usage the context weighs nothing, so that no threshold is reached with a provider that tells none",
        {"tokens.of_context": given(_needs_usage)},
    ),
    Fault(
        "FLT-usage-before-edit",
        ("TOK-30",),
        changelog(),
        "pi before 0.87.0",
        "a usage from before an edit is trusted",
        {
            "tokens._usage_is_current": edited(
                'any(members(e.source).get("type") == "context_edit" for e in later)', "False"
            )
        },
        ("000-edits",),
    ),
    Fault(
        "FLT-usage-before-compaction",
        ("TOK-31",),
        pi(1860),
        "pi",
        "a usage from before the compaction is trusted, so that the next prompt compacts again",
        {"tokens._usage_is_current": edited("used_at >= projection.since", "True")},
        ("000-usage",),
    ),
    Fault(
        "FLT-usage-dropped-by-metadata",
        ("TOK-32",),
        gh("Dicklesworthstone/pi_agent_rust/pull/168"),
        "pi_agent_rust",
        "any entry after the answer makes its usage stale",
        {"tokens._usage_is_current": edited("used_at >= projection.since", "len(projection.entries) == used_at + 1")},
    ),
    Fault(
        "FLT-usage-percent-stale",
        ("TOK-41",),
        pi(1374, "pull"),
        "pi",
        "after a compaction the old percentage is shown",
        {"tokens.context_usage": edited("if is_compacted and", "if False and")},
        ("000-commit",),
    ),
    Fault(
        "FLT-usage-unknown-window",
        ("TOK-40",),
        pi(536),
        "pi",
        "a percentage is told although no window is known",
        {
            "tokens.context_usage": edited(
                "    if context_window is None or context_window <= 0:\n        return None\n",
                "    context_window = context_window or 200000\n",
            )
        },
    ),
    Fault(
        "FLT-estimate-user-images",
        ("TOK-08", "TOK-07"),
        pi(4983),
        "pi",
        "images of the user weigh nothing",
        {"tokens._units": given(_without_image)},
        ("000-usage",),
    ),
    Fault(
        "FLT-estimate-image-bytes",
        ("TOK-08",),
        gh("talesofai/cohub/pull/122"),
        "cohub",
        "an image weighs as much as its base64 text",
        {
            "tokens._content_block_units": edited(
                'return IMAGE_UNITS if block.get("type") == "image" else 0',
                'return length(block.get("data", "")) if block.get("type") == "image" else 0',
            )
        },
    ),
    Fault(
        "FLT-estimate-image-screenshots",
        ("TOK-08",),
        gh("anomalyco/opencode/issues/19863"),
        "opencode",
        "an image weighs ten times too much, so that a few screenshots compact the session",
        {"tokens.IMAGE_UNITS": value(48000)},
    ),
    Fault(
        "FLT-estimate-bytes",
        ("ECM-01", "TOK-06"),
        gh("headroomlabs-ai/headroom/pull/1093"),
        "headroom, ports of pi",
        "lengths are counted in bytes of UTF-8",
        {"ecma.utf16_length": instead(_bytes)},
        ("002-estimate",),
    ),
    Fault(
        "FLT-estimate-code-points",
        ("ECM-01", "TOK-06"),
        gh("handochan/aelix-ai/issues/4"),
        "ports of pi in Python",
        "lengths are counted in code points",
        {"ecma.utf16_length": instead(len)},
    ),
    Fault(
        "FLT-estimate-custom-weightless",
        ("TOK-07",),
        pi(6326),
        "pi",
        "messages of extensions weigh nothing",
        {"tokens._units": edited('("user", "custom", "toolResult")', '("user", "toolResult")')},
        ("000-prepare",),
    ),
    Fault(
        "FLT-estimate-calls-weightless",
        ("TOK-12",),
        gh("cline/cline/pull/14195"),
        "cline",
        "tool calls weigh nothing, so that dense work stays below the threshold for ever",
        {"tokens._assistant_block_units": edited('if kind == "toolCall":', 'if kind == "tool_call":')},
    ),
    Fault(
        "FLT-estimate-kinds-doubled",
        ("TOK-34",),
        gh("langchain-ai/deepagents/issues/1530"),
        "deepagents",
        "system messages are weighed one by one and not as the one that they add up to",
        {
            "tokens.of_projection": edited(
                "estimate = 0 if system is None else of_message(system)",
                'estimate = sum(of_message(each) for each in messages if members(each).get("role") == "system")',
            )
        },
    ),
    Fault(
        "FLT-settings-one-budget",
        ("SET-03",),
        pi(8133),
        "pi",
        "every model has the same budget",
        {"settings._token_setting": edited("if model is None:", "if True:")},
        ("000-criterion", "001-settings"),
    ),
    Fault(
        "FLT-settings-group-replaced",
        ("SET-12",),
        gh("openclaw/openclaw/pull/87102"),
        "openclaw",
        "a group of the project's settings replaces the whole group of the user's",
        {"settings.merge": instead(_whole_group)},
        ("001-settings",),
    ),
    Fault(
        "FLT-settings-unchecked",
        ("SET-08",),
        pi(9415),
        "pi",
        "any value is taken for a number of tokens",
        {"settings._checked": instead(lambda value, name: value)},
        ("001-settings",),
    ),
    Fault(
        "FLT-settings-zero-is-default",
        ("SET-02",),
        gh("anomalyco/opencode/issues/45368"),
        "opencode",
        "a value of 0 counts as none, and the default stands for it",
        {"settings._token_setting": edited("if field in compaction:", "if compaction.get(field):")},
    ),
    Fault(
        "FLT-trigger-off-ignored",
        ("TRG-03",),
        gh("anthropics/claude-code/issues/45977"),
        "claude-code",
        "a session is compacted although compaction is switched off",
        {"settings.should_compact": edited('not truthy(own.get("enabled"))', "False")},
        ("000-criterion",),
    ),
    Fault(
        "FLT-trigger-share",
        ("TRG-02", "TRG-01"),
        gh("aaif-goose/goose/issues/4635"),
        "goose, ports of pi",
        "compaction is due at a share of the window, whatever the reserve",
        {"settings.should_compact": given(_share)},
        ("000-criterion", "001-trigger", "002-trigger"),
    ),
    Fault(
        "FLT-trigger-half-reserve",
        ("TRG-04",),
        pi(9415),
        "pi",
        "a reserve of more than half of the window is cut down",
        {"settings.should_compact": given(_half_at_most)},
    ),
    Fault(
        "FLT-trigger-late",
        ("TRG-01",),
        gh("anomalyco/opencode/issues/50574"),
        "opencode",
        "compaction is due when the window itself is full",
        {"settings.should_compact": edited(' - number_of(own, "reserveTokens")', "")},
        ("001-trigger", "002-trigger"),
    ),
    Fault(
        "FLT-trigger-early",
        ("TRG-02",),
        gh("openpi-dev/openpi/issues/24"),
        "ports of pi",
        "what is kept is taken off the window too, so that compaction is due too early",
        {
            "settings.should_compact": edited(
                '- number_of(own, "reserveTokens")',
                '- number_of(own, "reserveTokens") - to_number(own.get("keepRecentTokens"))',
            )
        },
    ),
)
