"""Faults of summaries of compactions and branches (chapters SUM, BRS)."""

from __future__ import annotations

import dataclasses
from typing import Any

from compaction_conformance.faults.fault import Fault, always, edited, given, instead, then, value
from compaction_conformance.faults.sources import changelog, gh, pi


def _prefix_first(requests: Any) -> Any:
    if requests.history is None or requests.turn_prefix is None:
        return requests
    return type(requests)(requests.turn_prefix, requests.history)


def _only_history(right: Any, preparation: Any, history: Any, turn_prefix: Any) -> Any:
    return right(preparation, history, turn_prefix) if history is None else history


def _glued(right: Any, preparation: Any, history: Any, turn_prefix: Any) -> Any:
    part = right(preparation, history, turn_prefix)
    return dataclasses.replace(part, text=part.text.replace("\n\n---\n\n**Turn Context (split turn):**\n\n", "\n\n"))


def _error_as_text(right: Any, reply: Any, what: str) -> Any:
    try:
        return right(reply, what)
    except Exception as error:
        from compaction_reference.summary import Part

        if getattr(error, "kind", "") != "failed":
            raise
        return Part(f"Error generating summary: {error}", reply.get("usage"))


def _thinking_too(right: Any, reply: Any, what: str) -> Any:
    part = right(reply, what)
    content = reply.get("content")
    blocks = content if isinstance(content, list) else []
    thoughts = [block.get("thinking", "") for block in blocks if isinstance(block, dict)]
    return dataclasses.replace(part, text="".join(text for text in thoughts if isinstance(text, str)) + part.text)


def _without_usage(right: Any, *args: Any) -> Any:
    made = right(*args)
    return {name: value for name, value in made.items() if name != "usage"}


def _offered(answer: Any) -> Any:
    return {**answer, "requests": [{**request, "tools": ["_noop"]} for request in answer["requests"]]}


def _with_routing(right: Any, params: Any) -> Any:
    answer = right(params)
    routing = params.get("sessionId") or "session"
    return {**answer, "requests": [{**request, "routingId": routing} for request in answer["requests"]]}


def _quota_too(right: Any, message: Any) -> Any:
    failed = isinstance(message, dict) and message.get("stopReason") == "error"
    return right(message) or (failed and "quota" in str(message.get("errorMessage")).lower())


def _is_result(entry: Any) -> bool:
    return isinstance(entry, dict) and entry.get("type") == "compaction"


def _from_oldest(right: Any, entries: Any, budget: Any = 0) -> Any:
    prepared = right(list(reversed(entries)), budget)
    return dataclasses.replace(prepared, messages=list(prepared.messages)[::-1])


FAULTS = (
    Fault(
        "FLT-summary-parts-swapped",
        ("SUM-35",),
        pi(5536),
        "pi",
        "the two requests of a split turn are not made one after the other with the history first",
        {"summary.requests_for": then(_prefix_first)},
        ("002-split", "001-split"),
    ),
    Fault(
        "FLT-summary-prefix-apart",
        ("SUM-39",),
        changelog(),
        "pi before 0.17.0",
        "the summary of a split turn's first part is not in what is stored",
        {"summary.merged": given(_only_history)},
        ("002-split", "001-split"),
    ),
    Fault(
        "FLT-summary-parts-glued",
        ("SUM-39",),
        pi(738),
        "pi",
        "nothing tells the two parts of a summary apart",
        {"summary.merged": given(_glued)},
        ("002-split",),
    ),
    Fault(
        "FLT-summary-previous-lost",
        ("SUM-41",),
        gh("openclaw/openclaw/pull/32778"),
        "ports of pi",
        "where a split turn has no history before it, the summary before is lost",
        {"summary.merged": edited("NO_HISTORY if previous is None else string(previous)", "NO_HISTORY")},
    ),
    Fault(
        "FLT-summary-previous-not-shown",
        ("SUM-22",),
        gh("dyad-sh/dyad/pull/2515"),
        "dyad",
        "the model is not shown the summary that it has to bring up to date",
        {
            "summary.history_request": edited(
                "    if truthy(previous):\n        prompt += prompts.previous_summary(string(previous))\n", ""
            )
        },
        ("002-incremental",),
    ),
    Fault(
        "FLT-summary-focus-dropped",
        ("SUM-25",),
        pi(642),
        "pi",
        "the user's instructions do not reach the request",
        {"prompts.focused": edited("if focus else", "if False else")},
        ("000-manual",),
    ),
    Fault(
        "FLT-summary-error-stored",
        ("SUM-44",),
        gh("langchain-ai/langchain/pull/38932"),
        "langchain",
        "the text of a failure is stored as the summary",
        {"summary.accepted": given(_error_as_text)},
        ("000-generation",),
    ),
    Fault(
        "FLT-summary-failure-empty",
        ("SUM-44",),
        changelog(),
        "pi before 0.31.0",
        "a request that failed gives an empty summary",
        {"summary.accepted": edited('own.get("stopReason") == "error"', "False")},
        ("000-generation",),
    ),
    Fault(
        "FLT-summary-cut-off-stored",
        ("SUM-45",),
        pi(7048),
        "pi, ports",
        "a summary that reached its limit is stored as if it were whole",
        {"summary.accepted": edited('own.get("stopReason") == "length"', "False")},
        ("000-generation",),
    ),
    Fault(
        "FLT-summary-call-stored",
        ("SUM-46",),
        gh("code-yeongyu/senpi/issues/1067"),
        "senpi",
        "a reply that calls a tool is stored as a summary",
        {"summary.accepted": edited('calls_a_tool(own.get("content"))', "False")},
    ),
    Fault(
        "FLT-summary-thinking-stored",
        ("SUM-43",),
        gh("deathbyknowledge/gsv/pull/319"),
        "gsv",
        "what the model thought is stored with its summary",
        {"summary.accepted": given(_thinking_too)},
    ),
    Fault(
        "FLT-summary-conversation-bare",
        ("SUM-20",),
        changelog(),
        "pi before 0.31.0",
        "the conversation is not set apart in the request, so that the model carries it on",
        {"prompts.conversation": instead(lambda text: f"{text}\n\n")},
        ("000-generation", "001-format"),
    ),
    Fault(
        "FLT-summary-headings-free",
        ("SUM-24",),
        gh("NousResearch/hermes-agent/pull/11330"),
        "ports of pi",
        "the request asks for no headings",
        {"prompts.FIRST": value("Summarise the above."), "prompts.UPDATE": value("Bring the summary up to date.")},
        ("001-format", "002-summary"),
    ),
    Fault(
        "FLT-summary-results-whole",
        ("SUM-13",),
        pi(1796),
        "pi",
        "tool results are sent whole, so that the request for the summary overflows itself",
        {"serialization._shortened": instead(lambda text: text)},
        ("000-generation",),
    ),
    Fault(
        "FLT-summary-everything-cut",
        ("SUM-14",),
        gh("zed-industries/zed/issues/61373"),
        "ports of pi",
        "what the user said is cut as tool results are",
        {"serialization._parts": edited('[f"[User]: {said}"]', '[f"[User]: {_shortened(said)}"]')},
    ),
    Fault(
        "FLT-summary-calls-left-out",
        ("SUM-10",),
        gh("openclaw/openclaw/issues/12921"),
        "openclaw, ports of pi",
        "tool calls are not told, so that there is little to summarise",
        {"serialization._assistant_parts": edited("    if calls:\n", "    if False:\n")},
        ("001-format",),
    ),
    Fault(
        "FLT-summary-thinking-left-out",
        ("SUM-07",),
        pi(9602),
        "a later edition of pi",
        "what the assistant thought is not told",
        {"serialization._assistant_parts": edited("    if thinking:\n", "    if False:\n")},
    ),
    Fault(
        "FLT-summary-thinks-anyway",
        ("SUM-26",),
        pi(1793),
        "pi",
        "thinking is asked for from a model that does not reason",
        {"summary.thinking": edited('truthy(members(model).get("reasoning")) and', "")},
        ("000-generation",),
    ),
    Fault(
        "FLT-summary-thinks-high",
        ("SUM-26",),
        pi(3438),
        "pi",
        "the summary always thinks hard, whatever the session does",
        {"summary.thinking": edited("return level if", 'return "high" if')},
    ),
    Fault(
        "FLT-summary-above-model",
        ("SUM-31",),
        changelog(),
        "pi before 0.74.1",
        "more tokens are asked for than the model can give",
        {"summary.output_budget": edited("min(math.floor(tokens), output_cap(model))", "math.floor(tokens)")},
        ("000-generation",),
    ),
    Fault(
        "FLT-summary-whole-reserve",
        ("SUM-29",),
        pi(797),
        "pi",
        "the whole reserve is asked for",
        {"summary.HISTORY_SHARE": value(1.0)},
    ),
    Fault(
        "FLT-summary-one-try",
        ("SUM-63", "SUM-60"),
        pi(6901),
        "pi",
        "a failure that would have passed ends the compaction",
        {"retry.is_retryable": always(False)},
    ),
    Fault(
        "FLT-summary-endless-tries",
        ("SUM-63",),
        pi(4943),
        "pi",
        "a failure is repeated up to a hundred times",
        {
            "retry.complete": edited(
                "attempt >= policy.max_retries or", "attempt >= (100 if policy.max_retries else 0) or"
            )
        },
    ),
    Fault(
        "FLT-summary-quota-repeated",
        ("SUM-61",),
        gh("anomalyco/opencode/issues/13015"),
        "opencode",
        "a quota that is used up is tried again",
        {"retry.is_retryable": given(_quota_too)},
    ),
    Fault(
        "FLT-summary-no-growth",
        ("SUM-65",),
        gh("openclaw/openclaw/issues/30044"),
        "openclaw",
        "the wait before a new try stays the same",
        {"retry.delay_ms": edited("* 2.0 ** min(attempt - 1, 1000)", "")},
    ),
    Fault(
        "FLT-summary-session-routing",
        ("SUM-28",),
        pi(6618),
        "pi",
        "the request goes out under the id of the session and spoils its cache",
        {"summary/compact": given(_with_routing)},
        ("000-generation", "001-cache"),
    ),
    Fault(
        "FLT-summary-cached",
        ("SUM-27",),
        pi(6618),
        "pi",
        "the request is written to the prompt cache, though nothing will read it",
        {"summary.history_request": then(lambda request: dataclasses.replace(request, cache_retention="short"))},
        ("001-cache",),
    ),
    Fault(
        "FLT-summary-tools-offered",
        ("SUM-19",),
        gh("anomalyco/opencode/issues/18053"),
        "opencode, pi before 0.84.3",
        "the model is offered a tool while it summarises, and calls it",
        {"summary/compact": then(_offered)},
        ("000-generation",),
    ),
    Fault(
        "FLT-summary-usage-lost",
        ("SUM-57", "SUM-58"),
        gh("huggingface/tau/issues/701"),
        "tau",
        "what a summary cost is not stored",
        {"summary.result": given(_without_usage)},
    ),
    Fault(
        "FLT-summary-usage-of-one",
        ("SUM-58",),
        pi(6671),
        "pi",
        "of two requests only the first one's usage is stored",
        {"summary.added_up": instead(lambda first, second: first)},
    ),
    Fault(
        "FLT-summary-files-lost",
        ("SUM-55",),
        gh("PrimeIntellect-ai/prime-agent/pull/2385"),
        "prime-agent",
        "the summary does not end in the lists of files",
        {"summary.format_lists": always("")},
        ("002-files", "001-format"),
    ),
    Fault(
        "FLT-summary-of-nothing",
        ("SUM-54",),
        gh("OpenHands/software-agent-sdk/pull/1541"),
        "openhands",
        "a summary of nothing is asked for",
        {
            "preparation.prepare": edited("if not history and not turn_prefix:", "if False:"),
        },
    ),
    Fault(
        "FLT-summary-context-not-sent",
        ("SUM-75",),
        pi(9602),
        "pi before live contexts",
        "the live context is written out although it would fit",
        {"summary.fits": always(False)},
        ("002-cache",),
    ),
    Fault(
        "FLT-summary-context-too-large",
        ("SUM-76", "SUM-77"),
        gh("MoonshotAI/kimi-code/pull/3911"),
        "kimi-code",
        "the live context is sent on although it does not fit into the model's window",
        {"summary.fits": always(True)},
        ("002-cache",),
    ),
    Fault(
        "FLT-branch-from-root",
        ("BRS-02",),
        changelog(),
        "pi before 0.31.0",
        "the whole path that was left is summarised, what both branches share included",
        {"branch_summary.collect": edited("return old_path[shared + 1 :],", "return old_path,")},
        ("000-branch", "001-tree"),
    ),
    Fault(
        "FLT-branch-compaction-boundary",
        ("BRS-03",),
        gh("can1357/oh-my-pi/issues/4090"),
        "oh-my-pi",
        "what a compaction on the branch summarised is not summarised again",
        {"branch_summary.path_of": then(lambda path: _since_compaction(path))},
        ("000-branch",),
    ),
    Fault(
        "FLT-branch-oldest-first",
        ("BRS-12",),
        gh("cline/cline/issues/1275"),
        "ports of pi",
        "what is oldest is taken first, and what is newest does not fit",
        {"branch_summary.prepare": given(_from_oldest)},
        ("001-tree",),
    ),
    Fault(
        "FLT-branch-tool-results",
        ("BRS-09",),
        pi(6451),
        "pi",
        "tool results of the branch are summarised too",
        {
            "branch_summary._message_of": edited(
                'None if members(message).get("role") == "toolResult" else message', "message"
            )
        },
        ("000-branch",),
    ),
    Fault(
        "FLT-branch-custom-ignored",
        ("BRS-08",),
        pi(2304),
        "pi before 0.31.0",
        "messages of extensions are not summarised",
        {"branch_summary._message_of": edited('if kind == "custom_message":', "if False:")},
    ),
    Fault(
        "FLT-branch-lists-lost",
        ("BRS-19",),
        gh("PrimeIntellect-ai/prime-agent/pull/2385"),
        "prime-agent",
        "the lists of an earlier branch summary are lost",
        {"branch_summary.prepare": edited('own.get("type") == "branch_summary" and', "False and")},
    ),
    Fault(
        "FLT-branch-small-cap",
        ("BRS-32",),
        pi(8845),
        "pi, pi's other implementation",
        "the summary may take 2048 tokens, which thinking alone uses up",
        {"branch_summary.MAX_OUTPUT": value(2048)},
    ),
    Fault(
        "FLT-branch-instructions-added",
        ("BRS-30",),
        pi(642),
        "pi",
        "instructions that were to replace the usual ones are added to them",
        {"branch_summary.request_for": edited("if custom and options.replace_instructions else", "if False else")},
    ),
    Fault(
        "FLT-branch-aborted-fails",
        ("BRS-36",),
        pi(3688),
        "pi",
        "a branch summary that the user stopped is stored all the same",
        {"branch_summary.summarize": edited('members(reply).get("stopReason") == "aborted"', "False")},
    ),
    Fault(
        "FLT-branch-error-stored",
        ("BRS-37",),
        gh("s2b-dev/smart-second-brain/issues/435"),
        "smart-second-brain",
        "the text of a failure is stored as the summary of the branch",
        {"branch_summary.accepted": given(_error_as_text)},
    ),
    Fault(
        "FLT-branch-thinks",
        ("BRS-33",),
        pi(11444),
        "a later edition of pi",
        "thinking is asked for as the session has it",
        {"branch_summary.request_for": then(lambda request: dataclasses.replace(request, reasoning="high"))},
    ),
    Fault(
        "FLT-branch-other-reserve",
        ("BRS-44",),
        gh("openclaw/openclaw/pull/87102"),
        "ports of pi",
        "the reserve of compactions is that of branches too",
        {"branch_summary.settings": edited('"branchSummary")', '"compaction")')},
        ("001-settings",),
    ),
)


def _since_compaction(path: Any) -> Any:
    places = [place for place, entry in enumerate(path) if _is_result(entry)]
    return path[places[-1] :] if places else path
