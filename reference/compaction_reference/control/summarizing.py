"""Asking the provider for the summary of a compaction or a branch while a session runs (chapter CTL's side of it): the
events of new tries, and what a failure is called.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .. import branch_summary, retry, summary
from ..ecma import members, truthy
from ..types import Entry, Json, Message
from .surroundings import Failure, Model, Signal, Surroundings

_KINDS = {"failed": "summary_error", "incomplete": "summary_incomplete", "tool_call": "summary_tool_call"}
TURN_PREFIX_HEADING = "## Original Request"


@dataclass(slots=True)
class Asking:
    """What all requests of one compaction or navigation share. `source` is what events say of it: `source`, and
    `reason` for a compaction. `settings` is the settings object of the session."""

    around: Surroundings
    settings: Json
    signal: Signal
    source: Json
    part: str = ""
    last_error: Any = None

    def ask(self, request: summary.Request) -> Message:
        """The reply, after tries that failed in passing were repeated."""
        is_prefix = TURN_PREFIX_HEADING in request.prompt
        self.part = "branch" if self.source["source"] == "branchSummary" else "prefix" if is_prefix else "history"
        policy = retry.policy_of(retry.settings(self.settings, {}))
        waited = False

        def call() -> Message:
            asked: Json = {"request": "summary", "part": self.part, "call": request}
            reply = self.around.answer(asked, self.signal)
            self.last_error = members(reply).get("errorMessage")
            return reply

        def wait(attempt: int, delay_ms: float) -> bool:
            nonlocal waited
            waited = True
            event = {"attempt": attempt, "maxAttempts": policy.max_retries, "delayMs": delay_ms}
            self.around.emit({"event": "summarization_retry_scheduled", **event})
            self.around.sleep(delay_ms)
            if not self.signal.aborted:
                self.around.emit({"event": "summarization_retry_attempt_start", **self.source})
            return not self.signal.aborted

        reply = retry.complete(call, policy, wait)
        if waited:
            self.around.emit({"event": "summarization_retry_finished"})
        return reply

    def completed(self, work: Callable[[], Any]) -> Any:
        """What the work returns. Raises Failure where a reply cannot be stored."""
        try:
            return work()
        except summary.SummaryFailed as failed:
            error = self.last_error if truthy(self.last_error) else "Unknown error"
            cause = str(error) if failed.kind == "failed" else None
            raise Failure(_KINDS[failed.kind], part=self.part, cause=cause) from None


def summarize(asking: Asking, preparation: Json, model: Model, settings: Json, options: summary.Options) -> Json:
    """What a compaction stores."""
    made = asking.completed(lambda: summary.compact(preparation, model.as_json(), settings, options, asking.ask))
    return dict(made)


def summarize_branch(
    asking: Asking, entries: list[Entry], model: Model, options: branch_summary.Options
) -> Json | None:
    """What a branch summary stores; None when the user stopped it."""
    made = asking.completed(lambda: branch_summary.summarize(entries, model.as_json(), options, asking.ask))
    if made is None:
        return None
    files = {name: made.get(name, []) for name in ("readFiles", "modifiedFiles")}
    return {name: made[name] for name in ("summary", "usage") if name in made} | {"details": files}
