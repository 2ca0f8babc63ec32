"""Faults of a running session: when it compacts, recovery, events, queues, navigation (chapter CTL)."""

from __future__ import annotations

from typing import Any

from compaction_conformance.faults.fault import Fault, always, edited, given, instead
from compaction_conformance.faults.sources import changelog, gh, pi

_CONTROLLER = "control.controller.Controller"
_COMPACTING = "control.compacting"


def _without_reason(right: Any, self: Any, event: Any) -> Any:
    if event.get("event") in ("compaction_start", "compaction_end"):
        event = {name: value for name, value in event.items() if name != "reason"}
    return right(self, event)


def _first_answer(right: Any, around: Any, name: str, event: Any) -> Any:
    """The last handler counts, whether it answered anything or not."""
    answer = None
    for handler in around.handlers(name):
        answer = handler(event)
    return answer


def _compaction_told(right: Any, around: Any, event: Any) -> Any:
    return None if event["extension"] == "session_compact_failed" else right(around, event)


def _settled(right: Any, c: Any, reason: str, *, will_retry: bool) -> Any:
    right(c, reason, will_retry=will_retry)
    return False


def _continued(right: Any, c: Any) -> Any:
    from compaction_reference.control import turns

    before = len(c.session.entries)
    right(c)
    if len(c.session.entries) > before and c.messages() and c.messages()[-1]["role"] != "assistant":
        turns.go_on(c)


FAULTS = (
    Fault(
        "FLT-control-other-model",
        ("CTL-30",),
        pi(535),
        "pi",
        "an overflow of the model before is recovered from with the present one",
        {
            f"{_COMPACTING}._recovery": edited(
                'model is None or message.get("provider") != model.provider or message.get("model") != model.id',
                "model is None",
            )
        },
        ("000-recovery",),
    ),
    Fault(
        "FLT-control-no-fuse",
        ("CTL-36",),
        pi(1319),
        "pi, docker-agent",
        "an overflow that comes back is compacted again and again",
        {f"{_COMPACTING}._recover": edited("if c.recovery_used:", "if False:")},
        ("000-recovery", "001-trigger"),
    ),
    Fault(
        "FLT-control-fuse-for-ever",
        ("CTL-38", "CTL-39"),
        gh("NousResearch/hermes-agent/pull/93394"),
        "hermes",
        "after one recovery there is never another one in the session",
        {
            f"{_CONTROLLER}.store": edited(
                'if message["role"] == "user":\n        self.recovery_used = False',
                'if message["role"] == "user":\n        pass',
                'not in ("error", "length"):\n            self.recovery_used = False',
                'not in ("error", "length"):\n            pass',
            )
        },
        ("000-recovery",),
    ),
    Fault(
        "FLT-control-good-answer-repeated",
        ("CTL-32",),
        pi(5720),
        "pi",
        "an answer that overflowed silently is thrown away and asked for again",
        {f"{_COMPACTING}._recover": edited('if message["stopReason"] == "stop":', "if False:")},
    ),
    Fault(
        "FLT-control-attempt-stays",
        ("CTL-33",),
        gh("PrimeIntellect-ai/prime-agent/issues/900"),
        "prime-agent, pi before 0.87.0",
        "the attempt that failed stays in the context, so that each new one is larger",
        {f"{_CONTROLLER}.omit": always(None)},
        ("000-recovery",),
    ),
    Fault(
        "FLT-control-message-again",
        ("CTL-35",),
        changelog(),
        "pi before 0.17.0",
        "after a recovery the user's message is sent a second time",
        {
            f"{_CONTROLLER}._more_to_do": edited(
                "    return not self.abort_requested and (go_on or self.has_queued)",
                "    stored = [e['message'] for e in self.session.path() if e['type'] == 'message']\n"
                "    last = [one for one in stored if one['role'] == 'user']\n"
                "    if go_on and last and message['stopReason'] != 'stop':\n"
                "        self.steering.append(last[-1])\n"
                "    return not self.abort_requested and (go_on or self.has_queued)",
            )
        },
    ),
    Fault(
        "FLT-control-length-ends",
        ("CTL-37",),
        pi(7540),
        "pi",
        "an answer that broke off too early ends the run",
        {f"{_COMPACTING}._recovery": edited('return "length" if shown and', 'return "length" if False and')},
    ),
    Fault(
        "FLT-control-calls-unanswered",
        ("CTL-14",),
        pi(6285),
        "pi",
        "calls of an answer that was cut off get no result",
        {"control.turns._tool_results": edited("results = [_not_run(c, call) for call in calls]", "results = []")},
    ),
    Fault(
        "FLT-control-aborted-not-checked",
        ("CTL-22", "CTL-87"),
        changelog(),
        "pi before 0.23.3",
        "after an abort near the limit nothing is compacted before the next prompt",
        {f"{_COMPACTING}.check_before_prompt": instead(lambda c: None)},
        ("000-times",),
    ),
    Fault(
        "FLT-control-prompt-check-continues",
        ("CTL-22",),
        pi(6074),
        "pi",
        "a compaction before a prompt makes the model go on before the user's message is there",
        {f"{_COMPACTING}.check_before_prompt": given(_continued)},
        ("000-times",),
    ),
    Fault(
        "FLT-control-between-turns",
        ("CTL-18",),
        pi(6879),
        "pi before 0.84.4",
        "nothing is compacted between two turns, so that large tool results are sent",
        {f"{_COMPACTING}.check_between_turns": always(None)},
        ("000-times", "001-trigger"),
    ),
    Fault(
        "FLT-control-off-ignored",
        ("CTL-20",),
        gh("anomalyco/opencode/issues/30664"),
        "opencode",
        "an overflow is compacted although compaction is switched off",
        {f"{_COMPACTING}.check": edited('not truthy(resolved["enabled"]) or', "False or")},
    ),
    Fault(
        "FLT-control-stale-answer",
        ("CTL-24",),
        pi(1860),
        "pi",
        "an answer from before the compaction makes the next prompt compact again",
        {f"{_COMPACTING}._is_stale": always(False)},
    ),
    Fault(
        "FLT-control-same-millisecond",
        ("CTL-24",),
        gh("can1357/oh-my-pi/issues/8887"),
        "oh-my-pi",
        "an answer of the compaction's own millisecond counts as newer",
        {f"{_COMPACTING}._is_stale": edited('message["timestamp"] <= ', 'message["timestamp"] < ')},
    ),
    Fault(
        "FLT-control-kept-usage",
        ("CTL-27",),
        changelog(),
        "pi before 0.56.3",
        "after an error the usage of a kept answer from before the compaction decides",
        {
            f"{_COMPACTING}._tokens_for_threshold": edited(
                'if estimate["lastUsageIndex"] is not None and', "if False and"
            )
        },
    ),
    Fault(
        "FLT-control-error-not-estimated",
        ("CTL-26",),
        pi(1763),
        "pi",
        "after an error nothing is compared with the threshold, so that the session is stuck",
        {
            f"{_COMPACTING}._tokens_for_threshold": edited(
                'if message["stopReason"] != "error" and own != 0:', 'if message["stopReason"] == "error" or own != 0:'
            )
        },
    ),
    Fault(
        "FLT-control-answered-by-other",
        ("CTL-28",),
        pi(6426),
        "pi",
        "after a change to a smaller model its window is not looked at",
        {
            f"{_COMPACTING}.check": edited(
                "window = c.model.context_window if c.model else 0",
                'window = c.model.context_window if c.model and c.model.id == message["model"] else 10**9',
            )
        },
    ),
    Fault(
        "FLT-control-queue-stuck",
        ("CTL-49",),
        pi(1312),
        "pi",
        "messages that were queued during a compaction wait for ever",
        {
            f"{_CONTROLLER}._more_to_do": edited(
                "return not self.abort_requested and (go_on or self.has_queued)",
                "return not self.abort_requested and go_on",
            ),
            f"{_COMPACTING}.compact_automatically": edited("return will_retry or c.has_queued", "return will_retry"),
            "control.boundary.before_settle": edited("return c.has_queued\n", "return False\n"),
        },
    ),
    Fault(
        "FLT-control-queue-kinds",
        ("CTL-05",),
        pi(6730),
        "pi",
        "a follow-up is delivered as steering",
        {f"{_CONTROLLER}.enqueue": edited('(self.steering if queue == "steer" else self.follow_ups)', "self.steering")},
    ),
    Fault(
        "FLT-control-queue-all",
        ("CTL-06",),
        pi(476),
        "pi",
        "all queued messages are delivered at once, whatever the settings say",
        {"control.turns._drain": edited('count = len(queue) if mode == "all" else 1', "count = len(queue)")},
    ),
    Fault(
        "FLT-control-note-parts-pair",
        ("CTL-12",),
        pi(8537),
        "pi",
        "an extension's message comes between a call and its result",
        {f"{_CONTROLLER}.note": edited("self.waiting_notes.append(message)", "self._store_note(message)")},
    ),
    Fault(
        "FLT-control-run-ends",
        ("CTL-35",),
        gh("PrimeIntellect-ai/prime-agent/issues/674"),
        "prime-agent, appstrate",
        "the run ends at a compaction, though the request was not answered",
        {f"{_COMPACTING}.compact_automatically": given(_settled)},
        ("000-commit",),
    ),
    Fault(
        "FLT-control-threshold-continues",
        ("CTL-48",),
        gh("gugu91/pinet/pull/846"),
        "pinet",
        "after a compaction of the threshold the model is asked again without a question",
        {
            f"{_COMPACTING}.check": edited(
                'return compact_automatically(c, "threshold", will_retry=False)',
                'go_on = compact_automatically(c, "threshold", will_retry=False)\n'
                "    return go_on or c.session.path()[-1]['type'] == 'compaction'",
            )
        },
    ),
    Fault(
        "FLT-control-not-stored",
        ("CTL-51", "CTL-29"),
        gh("ai-ecoverse/slicc/pull/3175"),
        "slicc",
        "a compaction is applied and not stored, so that each request compacts again",
        {
            f"{_COMPACTING}._store": edited(
                'c.session.append({"type": "compaction", **fields, "fromHook": from_extension})',
                "pass",
                'if entry["type"] == "compaction" and entry["summary"] == made["summary"]',
                "",
            )
        },
        ("000-commit",),
    ),
    Fault(
        "FLT-control-aborted-stored",
        ("CTL-57", "CTL-56"),
        pi(8920),
        "pi before 0.85.0",
        "an abort is told as done, and the compaction goes on and is stored",
        {"control.surroundings.Signal.check": always(None)},
    ),
    Fault(
        "FLT-control-manual-twice",
        ("CTL-68", "CTL-70"),
        pi(7370),
        "pi",
        "the user's compaction does not end what runs",
        {f"{_CONTROLLER}.compact": edited("    self.abort()\n", "")},
        ("000-manual",),
    ),
    Fault(
        "FLT-control-prompt-swallowed",
        ("CTL-68",),
        pi(7150),
        "pi",
        "a prompt during the user's compaction is accepted and dropped",
        {
            f"{_CONTROLLER}.prompt": edited(
                'if self.manual_signal:\n        raise Failure("compacting")', "if self.manual_signal:\n        return"
            )
        },
    ),
    Fault(
        "FLT-control-latch",
        ("CTL-71", "CTL-67"),
        gh("mikeyobrien/pi-tidy-tools/pull/81"),
        "pi-tidy-tools",
        "after a compaction that failed the session counts as compacting for ever",
        {
            f"{_COMPACTING}.compact_now": edited(
                '        aborted = signal.aborted or failure.kind == "cancelled"\n        c.manual_signal = None\n',
                '        aborted = signal.aborted or failure.kind == "cancelled"\n',
                "    finally:\n        c.manual_signal = None\n",
                "    finally:\n",
            )
        },
    ),
    Fault(
        "FLT-control-no-reason",
        ("CTL-51",),
        pi(5962),
        "pi",
        "events of a compaction do not say why it happened",
        {"control.scenario.Player.emit": given(_without_reason)},
        ("001-hook-compact",),
    ),
    Fault(
        "FLT-control-no-size-after",
        ("CTL-51",),
        pi(5877),
        "pi",
        "the result does not say how large the context is afterwards",
        {
            f"{_COMPACTING}._store": edited(
                '{"result": {**fields, "estimatedTokensAfter": size_after}}', '{"result": fields}'
            )
        },
    ),
    Fault(
        "FLT-control-size-after-inflated",
        ("CTL-51",),
        gh("Dicklesworthstone/pi_agent_rust/pull/168"),
        "pi_agent_rust",
        "the size afterwards rests on usage from before the compaction",
        {
            f"{_COMPACTING}._store": edited(
                "size_after = sum(map(of_message, c.messages()))", 'size_after = of_context(c.messages())["tokens"]'
            )
        },
    ),
    Fault(
        "FLT-control-failure-silent",
        ("CTL-53",),
        pi(8175),
        "pi",
        "extensions do not hear of a compaction that failed",
        {f"{_COMPACTING}.tell": given(_compaction_told)},
        ("001-hook-compact",),
    ),
    Fault(
        "FLT-control-failure-crashes",
        ("CTL-53", "CTL-54"),
        pi(792),
        "pi, aider",
        "a summary that fails ends the session",
        {
            f"{_COMPACTING}.compact_automatically": edited(
                "_failed(c, reason, failure, aborted=aborted, from_extension=from_extension)",
                "raise",
            )
        },
    ),
    Fault(
        "FLT-control-summary-once",
        ("CTL-55",),
        pi(6901),
        "pi",
        "a summary that failed in passing is not asked for again",
        {
            "control.summarizing.Asking.ask": edited(
                "policy = retry.policy_of(retry.settings(self.settings, {}))", "policy = retry.Policy()"
            )
        },
    ),
    Fault(
        "FLT-control-last-handler",
        ("CTL-61",),
        gh("DraconDev/pi-goal-list-loop-audit/issues/56"),
        "pi-goal-list-loop-audit",
        "a handler that answers nothing discards what another one brought",
        {f"{_COMPACTING}.ask": given(_first_answer)},
        ("001-hook-compact",),
    ),
    Fault(
        "FLT-control-handler-throws",
        ("CTL-60",),
        gh("arbiterForge/codeArbiter/issues/341"),
        "codeArbiter",
        "an extension that throws ends the compaction",
        {f"{_COMPACTING}.ask": given(_first_answer)},
        ("001-hook-compact",),
    ),
    Fault(
        "FLT-control-cancel-ignored",
        ("CTL-59",),
        pi(9340),
        "pi",
        "an extension cannot cancel a compaction",
        {f"{_COMPACTING}._from_extension": edited('if answer.get("cancel"):', "if False:")},
        ("001-hook-compact",),
    ),
    Fault(
        "FLT-control-navigation-while-compacting",
        ("CTL-80",),
        pi(9178),
        "pi",
        "the user can go to another branch during a compaction, whose summary then hangs there",
        {"control.navigation.navigate": edited("if c.compacting:", "if False:", "if c.running:", "if False:")},
    ),
    Fault(
        "FLT-control-navigation-latch",
        ("CTL-85", "CTL-84"),
        pi(3688),
        "pi",
        "a navigation that was cancelled leaves the session as compacting",
        {
            "control.navigation.navigate": edited(
                "    finally:\n        c.branch_signal = None", "    finally:\n        pass"
            )
        },
        ("001-hook-tree",),
    ),
    Fault(
        "FLT-control-navigation-message-left",
        ("CTL-78",),
        pi(1169),
        "pi",
        "going back to a user's message keeps it in place of giving it back to the editor",
        {"control.navigation._place": edited('target["message"]["role"] == "user"', "False")},
        ("001-tree",),
    ),
    Fault(
        "FLT-control-navigation-unasked",
        ("CTL-77",),
        pi(11602),
        "ports of pi",
        "extensions are asked about a navigation only if a summary is wanted",
        {
            "control.navigation._asked": lambda right: (
                lambda c, target, old, wishes, *rest: (
                    right(c, target, old, wishes, *rest) if wishes.get("summarize") else {}
                )
            )
        },
        ("001-hook-tree",),
    ),
    Fault(
        "FLT-control-branch-destination",
        ("CTL-81",),
        changelog(),
        "pi before 0.84.3",
        "the summary of a branch hangs on the branch that was left",
        {
            "control.navigation._move": edited(
                '"branchFromId": leaf_id,', '"branchFromId": c.session.leaf.get("leafId"),'
            )
        },
        ("001-tree", "000-branch"),
    ),
    Fault(
        "FLT-control-resume-appends",
        ("CTL-15",),
        pi(1118),
        "pi",
        "opening a session appends the thinking level",
        {
            "control.scenario.Player._do_reopen": given(
                lambda right, self, action: (
                    right(self, action),
                    self.controller.session.append({"type": "thinking_level_change", "thinkingLevel": "off"}),
                )[0]
            )
        },
    ),
    Fault(
        "FLT-control-instructions-lost",
        ("CTL-64",),
        pi(642),
        "pi",
        "the user's instructions do not reach the request",
        {
            f"{_COMPACTING}.compact_now": edited(
                "_summarizer(c, preparation, custom_instructions,", "_summarizer(c, preparation, None,"
            )
        },
        ("000-manual",),
    ),
)
