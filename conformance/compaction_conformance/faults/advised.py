"""Faults against advice (every SHOULD). What the reference itself does not follow is taken from `corrected`."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from compaction_conformance.faults.corrected import merged
from compaction_conformance.faults.fault import Fault, Make, Patches, cached_then, edited, given, instead, value
from compaction_conformance.faults.sources import gh, pi


def _own(
    rule: str, name: str, url: str, seen: str, wrong: str, *left_out: str, chapters: tuple[str, ...] = ()
) -> Fault:
    """What the reference does, where it does not follow advice; `left_out` are the corrections that go, if others."""
    return Fault(f"FLT-{name}", (rule,), url, seen, wrong, merged(*(left_out or (rule,))), chapters)


def _live_prefix(right: Any, messages: Any, model: Any, reserve: Any, options: Any) -> Any:
    request = right(messages, model, reserve, options)
    if options.source is None:
        return request
    return dataclasses.replace(request, system=None, context=options.source.messages)


# ---- the recommended classifier --------------------------------------------------------------------------------------


def _table(change: Any) -> Patches:
    """The classifier with a table that was changed."""
    return {"recommended_overflow.table": cached_then(change)}


def _without_decisions(*numbers: int) -> Patches:
    ids = {f"OVD-{number:02}" for number in numbers}
    return _table(
        lambda table: dataclasses.replace(table, decisions=tuple(d for d in table.decisions if d.id not in ids))
    )


def _without_words(*words: str) -> Patches:
    return _table(
        lambda table: dataclasses.replace(table, words=tuple(row for row in table.words if row[0] not in words))
    )


def _ascii_words(table: Any) -> Any:
    return dataclasses.replace(table, words=tuple(row for row in table.words if row[1].pattern.isascii()))


def _rate_first(table: Any) -> Any:
    rate = [decision for decision in table.decisions if decision.id in ("OVD-13", "OVD-14", "OVD-15")]
    return dataclasses.replace(table, decisions=(*rate, *table.decisions))


def _time_ignored(table: Any) -> Any:
    decisions = tuple(
        dataclasses.replace(one, sentence_lacks=one.sentence_lacks - {"time"}, text_lacks=one.text_lacks - {"time"})
        for one in table.decisions
        if one.id != "OVD-12"
    )
    return dataclasses.replace(table, decisions=decisions)


def _says_yes(table: Any) -> Any:
    last = dataclasses.replace(table.decisions[-1], overflow=True)
    return dataclasses.replace(table, decisions=(*table.decisions[:-1], last))


def _small_status(right: Any, params: Any) -> Any:
    answer = right(params)
    status = params.get("status")
    server = isinstance(status, (int, float)) and status >= 500
    return {**answer, "overflow": answer["overflow"] and not server and status is not None}


def _whole_text_only(right: Any, params: Any) -> Any:
    """A gateway's words around a text count as the text's own."""
    text = params.get("errorMessage")
    if isinstance(text, str) and re.search(r"(?i)litellm|exception|error:", text):
        return {**right(params), "overflow": False}
    return right(params)


def _reading(name: str, rule: int, url: str, wrong: str, patches: Patches, seen: str = "gateways and agents") -> Fault:
    return Fault(f"FLT-classifier-{name}", (f"OVR-{rule:02}",), url, seen, wrong, patches, ("000-patterns",))


_NOTHING: Make = value(re.compile(r"(?!)()"))

FAULTS = (
    _own("LLM-25", "llm-orphans-sent", pi(11227), "pi", "a tool result is sent without the call that it answers"),
    _own("TOK-45", "estimate-excluded-bash", pi(6451), "pi", "commands that the model never sees weigh"),
    _own(
        "TOK-46",
        "estimate-damaged",
        gh("OpenHands/software-agent-sdk/issues/4591"),
        "pi, openhands",
        "one damaged message stops the estimate, and with it every compaction",
    ),
    _own(
        "TRG-08",
        "trigger-no-window",
        gh("anomalyco/opencode/issues/45368"),
        "opencode, pi",
        "a model without a known window is compacted again and again",
    ),
    _own(
        "TRG-09",
        "trigger-nothing-there",
        gh("MoonshotAI/kimi-code/pull/2498"),
        "kimi-code",
        "an empty conversation is due when the reserve is larger than the window",
    ),
    _own(
        "OVF-62",
        "overflow-quota",
        gh("code-yeongyu/senpi/pull/1466"),
        "senpi, pi",
        "a quota of tokens a minute is taken for an overflow",
    ),
    _own(
        "OVF-63", "overflow-reservation", pi(10497), "pi", "an output limit that is too high is taken for an overflow"
    ),
    _own(
        "CUT-29",
        "cut-between-pair",
        gh("langchain-ai/langchain/issues/34282"),
        "pi, langchain",
        "the cut falls between a call and its result where another message stands there",
    ),
    _own(
        "PRE-34",
        "prepare-between-pair",
        pi(6832),
        "pi",
        "a result is kept whose call was summarised",
        "CUT-29",
    ),
    _own("PRE-35", "prepare-clean-split", pi(9348), "pi", "a cut at a clean boundary counts as a split turn"),
    _own(
        "SUM-68",
        "summary-empty-stored",
        gh("skorokithakis/stavrobot/issues/28"),
        "stavrobot, pi",
        "a summary without a word is stored, and the session forgets everything",
        "SUM-68",
        "CTL-95",
    ),
    _own(
        "SUM-69",
        "summary-aborted-stored",
        pi(9340),
        "pi",
        "half a summary that the user stopped is stored",
    ),
    _own(
        "SUM-70",
        "summary-focus-lost",
        pi(11058),
        "pi",
        "the user's instructions go nowhere when a turn is split",
        chapters=("000-manual",),
    ),
    _own("SUM-71", "summary-overflow-repeated", pi(4943), "pi", "a request that does not fit is made again as it is"),
    _own(
        "BRS-40",
        "branch-empty-stored",
        gh("open-webui/open-webui/issues/29308"),
        "open-webui, pi",
        "a branch summary without a word is stored",
        "SUM-68",
        "CTL-95",
    ),
    _own(
        "CTL-95",
        "control-empty-stored",
        gh("open-gsd/gsd-pi/pull/118"),
        "gsd-pi, pi",
        "an empty summary replaces the history of a running session",
        "SUM-68",
        "CTL-95",
    ),
    _own(
        "CTL-96",
        "control-recovery-silent",
        gh("itayinbarr/little-coder/issues/68"),
        "little-coder, pi",
        "a recovery that cannot prepare anything ends the run without a word",
    ),
    _own(
        "CTL-97",
        "control-threshold-again",
        gh("anomalyco/opencode/pull/38102"),
        "opencode, pi",
        "a compaction that fails is tried again before every turn",
    ),
    Fault(
        "FLT-summary-unknown-window",
        ("SUM-79",),
        gh("zed-industries/zed/issues/61373"),
        "zed",
        "a window that is not known counts as endless",
        {"summary.fits": edited("return window > 0 and", "return not window > 0 or")},
        ("002-cache",),
    ),
    Fault(
        "FLT-summary-live-prefix",
        ("SUM-81",),
        pi(9908),
        "pi",
        "the first part of a split turn is asked about in the live context, which holds the rest of the turn too",
        {"summary.turn_prefix_request": given(_live_prefix)},
        ("002-cache",),
    ),
    _reading(
        "case",
        1,
        gh("RooCodeInc/Roo-Code/issues/1767"),
        "a text in capital letters is not read",
        {"overflow_reading._unwrapped": edited("text.lower()", "text", ").lower())", "))")},
    ),
    _reading(
        "json",
        2,
        gh("openclaw/openclaw/pull/64196"),
        "a text inside JSON inside JSON is not read",
        {"overflow_reading._unescaped": instead(lambda match: match[0])},
    ),
    _reading(
        "space",
        3,
        gh("evalstate/fast-agent/issues/621"),
        "a line break inside a sentence hides it",
        {"overflow_reading._unwrapped": edited('" ".join(text.split())', 'text.replace("\\n", " . ")')},
    ),
    _reading(
        "gateway",
        4,
        gh("BerriAI/litellm/issues/15968"),
        "what a gateway puts in front hides the text",
        {"overflow/classify_text": given(_whole_text_only)},
    ),
    _reading(
        "markup",
        5,
        gh("openclaw/openclaw/pull/10183"),
        "tags, entities and addresses count as words",
        {
            "overflow_reading._TAG": _NOTHING,
            "overflow_reading._ENTITY": _NOTHING,
            "overflow_reading._ADDRESS": _NOTHING,
        },
    ),
    _reading(
        "numbers",
        6,
        gh("anomalyco/opencode/issues/13015"),
        "a number with commas is several numbers",
        {"overflow_reading._numbers": edited('re.split("[,_]", token)', 're.split("[ ]", token.replace(",", " , "))')},
    ),
    _reading(
        "long",
        7,
        gh("can1357/oh-my-pi/pull/1252"),
        "only the start of a long text is read",
        {"overflow_reading.sentences": edited('text = f"{text[:HEAD]} {text[-TAIL:]}"', "text = text[:HEAD]")},
    ),
    _reading(
        "no-body",
        8,
        pi(9482),
        "an empty answer of any provider is an overflow",
        _table(
            lambda table: dataclasses.replace(
                table, decisions=tuple(dataclasses.replace(one, provider=frozenset()) for one in table.decisions)
            )
        ),
    ),
    _reading(
        "window",
        9,
        gh("code-yeongyu/senpi/pull/1466"),
        "a window that is exceeded in new words is missed",
        _without_decisions(6, 7),
        "senpi",
    ),
    _reading(
        "input",
        10,
        gh("BerriAI/litellm/pull/21647"),
        "a prompt that is called too long is missed",
        _without_decisions(9),
    ),
    _reading(
        "limit",
        11,
        gh("anomalyco/opencode/issues/27519"),
        "a limit on tokens that names no context is missed",
        _without_decisions(21, 22, 23, 24),
        "opencode",
    ),
    _reading(
        "code",
        12,
        gh("anomalyco/opencode/pull/17748"),
        "the name of an error says nothing",
        _without_decisions(3, 10),
        "opencode",
    ),
    _reading(
        "stated", 13, pi(129), "an error that only states the largest input is missed", _without_decisions(11), "pi"
    ),
    _reading("figures", 14, pi(5677), "figures above their limit say nothing", _without_decisions(8), "pi"),
    _reading(
        "sum",
        15,
        gh("anthropics/claude-code/issues/476"),
        "input and output that are too long together are missed",
        _without_decisions(5),
        "claude-code",
    ),
    _reading(
        "advice",
        16,
        gh("letta-ai/letta/issues/1963"),
        "advice to shorten the input is missed",
        _without_decisions(25),
        "letta",
    ),
    _reading(
        "languages",
        17,
        gh("egoist/chatwise-releases/issues/917"),
        "only English is read",
        _table(_ascii_words),
        "chatwise",
    ),
    _reading(
        "server-error",
        18,
        gh("abetlen/llama-cpp-python/issues/416"),
        "an overflow with the status of a server error is missed",
        {"overflow/classify_text": given(_small_status)},
    ),
    _reading(
        "rate-first",
        19,
        gh("OpenHands/OpenHands/issues/5350"),
        "a sentence about a rate hides the overflow beside it",
        _table(_rate_first),
        "openhands",
    ),
    _reading(
        "span",
        20,
        gh("anthropics/claude-code/issues/60967"),
        "tokens a minute are an overflow",
        _table(_time_ignored),
        "claude-code",
    ),
    _reading("rate", 21, pi(2699), "throttling is an overflow", _without_words("rate", "overload"), "pi"),
    _reading(
        "quota",
        22,
        gh("continuedev/continue/issues/9800"),
        "a used up plan is an overflow",
        _without_words("quota", "allowance"),
        "continue",
    ),
    _reading(
        "setting",
        23,
        gh("danny-avila/LibreChat/issues/6494"),
        "an output limit that is refused is an overflow",
        _without_words("setting"),
        "LibreChat",
    ),
    _reading(
        "reservation",
        24,
        gh("ChatGPTNextWeb/NextChat/issues/3195"),
        "a small input with a large reservation is an overflow",
        _without_decisions(1),
        "NextChat",
    ),
    _reading(
        "things",
        25,
        gh("openclaw/openclaw/pull/10183"),
        "an image that is too large is an overflow",
        _without_words("thing"),
        "openclaw",
    ),
    _reading("bytes", 26, pi(2734), "a limit in bytes is an overflow", _without_words("bytes"), "pi"),
    _reading(
        "filtered",
        27,
        gh("openclaw/openclaw/pull/10183"),
        "a filter that quotes an overflow is one",
        _without_decisions(2),
        "openclaw",
    ),
    _reading(
        "others",
        28,
        gh("guanyilun/agent-sh/pull/66"),
        "whatever is not known is an overflow",
        _table(_says_yes),
        "agent-sh",
    ),
    _reading("status", 29, pi(1038), "the status says nothing about a text", _without_decisions(19), "pi"),
)
