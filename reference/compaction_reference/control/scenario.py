"""Plays a scenario (`spec/scenarios.md`): scripted provider, tools, extensions and clock around a controller.

One object is the surroundings of the session; everything that it sees goes into the trace, in order.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NoReturn

from .. import tokens
from ..dates import iso_text, milliseconds
from ..ecma import pick
from ..errors import Refusal, malformed
from ..messages import to_llm
from ..session import Makers, Session
from ..types import LAST, Json, Message
from .controller import Controller
from .replies import declaration_of, message_of, model_of, thinking_level_of, with_usage
from .surroundings import ExtensionError, Failure, Handler, Signal
from .trace import announcement_of, cut, entry_of, event_of, line_of

MAX_REQUESTS = 50
MAX_TRACE = 5000
_ALWAYS_HEARD = (
    "session_before_compact",
    "session_compact",
    "session_compact_failed",
    "session_before_tree",
    "session_tree",
)
_HEARD_WITH_HOOK = ("turn_end", "agent_before_settle")
_MOMENTS = ("compaction_start", "compaction_end", "auto_retry_start")


class Stopped(Exception):
    """The scenario ends before its last step: an implementation asks for more than any right one would."""


class Player:
    """One run of a scenario. `controller_class` is what is under test."""

    def __init__(self, scenario: Json, controller_class: type[Controller] = Controller) -> None:
        self.scenario = copy.deepcopy(scenario)
        self.controller_class = controller_class
        clock = scenario.get("clock", {})
        self.clock = int(milliseconds(clock.get("start", "2030-01-01T00:00:00.000Z")))
        self.step = clock.get("step", 1000)
        self.trace: list[Json] = []
        self.requests = 0
        self.stopped = False
        self.focus: str | None = None
        self.routing_ids: set[str] = set()
        self.occasions: dict[int, int] = {}
        self.replies = list(self.scenario.get("replies", []))
        self.summaries = list(self.scenario.get("summaries", []))
        self.tool_results = {name: list(results) for name, results in self.scenario.get("tools", {}).items()}
        self.settings = self.scenario.get("settings", {})
        self.models = {f"{m['provider']}/{m['id']}": model_of(m) for m in self.scenario["models"]}
        self.model = next(iter(self.models.values()), None)
        self.controller = self._opened(self.scenario.get("entries", []), self.scenario.get("leafId", LAST))

    def play(self) -> list[Json]:
        """The trace. Steps that begin one another without end stop it as too many items do."""
        try:
            self._play()
        except Stopped:
            pass
        except RecursionError:
            with suppress(Stopped):
                self._stop("trace")
        return self.trace

    def _play(self) -> None:
        for number, action in enumerate(self.scenario["steps"], 1):
            self.clock += self.step
            self.log({"step": number, "do": action["do"]})
            self.act(action)
        self.log({"end": self._state_at_end()})

    def log(self, item: Json) -> None:
        """Adds to the trace. After the scenario was stopped nothing is added any more."""
        if self.stopped:
            return
        self.trace.append(copy.deepcopy(item))
        if len(self.trace) >= MAX_TRACE:
            self._stop("trace")

    def _stop(self, mark: str) -> NoReturn:
        if not self.stopped:
            self.trace.append({"stopped": mark})
            self.stopped = True
        raise Stopped(mark)

    def _opened(self, entries: Sequence[Any], leaf: Any) -> Controller:
        player = self

        class TracedSession(Session):
            def append(self, draft: Any) -> Json:
                entry = super().append(draft)
                player.log({"entry": entry_of(entry)})
                return entry

        makers = Makers(now=lambda: iso_text(datetime.fromtimestamp(self.clock / 1000, UTC)))
        return self.controller_class(
            TracedSession(entries, leaf, makers),
            self,
            model=self.model,
            settings=self.settings,
            system_prompt=self.scenario.get("systemPrompt", ""),
            tools=[declaration_of(name) for name in self.tool_results],
            thinking_level=thinking_level_of(self.model, self.scenario.get("thinkingLevel", "off")),
        )

    def _state_at_end(self) -> Json:
        controller = self.controller
        return {
            "leafId": controller.session.leaf["leafId"],
            "context": [line_of(message) for message in to_llm(controller.messages())],
            "queued": len(controller.steering) + len(controller.follow_ups),
            "unusedReplies": len(self.replies),
            "unusedSummaries": len(self.summaries),
        }

    # ---- surroundings ------------------------------------------------------------------------------------------------

    def emit(self, event: Json) -> None:
        self.log(event_of(event))
        if event["event"] in _MOMENTS:
            self._reach(event["event"])

    def announce(self, event: Json) -> None:
        name = event["extension"]
        hooked = any(hook["on"] == name for hook in self._hooks())
        if name in _ALWAYS_HEARD or (name in _HEARD_WITH_HOOK and hooked):
            self.log(announcement_of(event))

    def handlers(self, name: str) -> list[Handler]:
        return [self._handler(hook) for hook in self._hooks() if hook["on"] == name]

    def report(self, error: Json) -> None:
        self.log(error)

    def answer(self, request: Json, signal: Signal) -> Message:
        self.requests += 1
        if self.stopped or self.requests > self.scenario.get("maxRequests", MAX_REQUESTS):
            self._stop("requests")
        is_turn = request["request"] == "turn"
        self.log(self._turn_request(request) if is_turn else self._summary_request(request))
        script = self.replies if is_turn else self.summaries
        reply = script.pop(0) if script else {"error": "no reply is scripted"}
        self._perform(reply.get("during", []))
        self.clock += reply.get("elapse", self.step)
        assert self.model is not None
        return message_of(reply, self.model, self.clock, signal.aborted)

    def run_tool(self, call: Any) -> Message:
        results = self.tool_results.get(call["name"])
        result = results.pop(0) if results else {"error": "no result is scripted"}
        self._perform(result.get("during", []))
        text = result.get("text", result.get("error"))
        return {
            "role": "toolResult",
            "toolCallId": call["id"],
            "toolName": call["name"],
            "content": [{"type": "text", "text": text}],
            "isError": "error" in result,
            "timestamp": self.clock,
        }

    def sleep(self, delay_ms: float) -> None:
        self._reach("retry_wait")

    def now(self) -> int:
        return self.clock

    def _turn_request(self, request: Json) -> Json:
        lines = [line_of(message) for message in request["messages"]]
        return pick(request, "request", "model") | {"routing": "session", "messages": lines}

    def _summary_request(self, request: Json) -> Json:
        call = request["call"]
        routing = "reused" if call.routing_id in self.routing_ids else "fresh"
        self.routing_ids.add(call.routing_id)
        return pick(request, "request", "part") | {
            "previous": "\n<previous-summary>\n" in call.prompt,
            "focus": self.focus is not None and self.focus in call.prompt,
            "maxTokens": call.max_tokens,
            "cacheRetention": call.cache_retention,
            "routing": routing,
            **({} if call.reasoning is None else {"reasoning": call.reasoning}),
        }

    # ---- hooks -------------------------------------------------------------------------------------------------------

    def _hooks(self) -> list[Any]:
        hooks: list[Any] = self.scenario.get("hooks", [])
        return hooks

    def _handler(self, hook: Any) -> Handler:
        def handle(event: Json) -> Any:
            if not self._is_due(hook):
                return None
            self._perform(hook.get("actions", []), event)
            if "throw" in hook:
                raise ExtensionError(hook["throw"])
            return with_usage(self._resolved(hook["answer"], event)) if "answer" in hook else None

        return handle

    def _is_due(self, hook: Any) -> bool:
        """Counts the occasions of a hook. It applies at every one, or at its `nth` alone."""
        count = self.occasions[id(hook)] = self.occasions.get(id(hook), 0) + 1
        return bool(hook.get("nth", count) == count)

    def _reach(self, moment: str) -> None:
        for hook in self._hooks():
            if hook["on"] == moment and self._is_due(hook):
                self._perform(hook.get("actions", []))

    # ---- actions -----------------------------------------------------------------------------------------------------

    def _perform(self, actions: Sequence[Any], event: Json | None = None) -> None:
        for action in actions:
            self.act(action, event)

    def act(self, action: Any, event: Json | None = None) -> None:
        if self.stopped:
            raise Stopped("after the end")
        name = action["do"]
        try:
            getattr(self, f"_do_{name}")(self._resolved(action, event))
        except Failure as failure:
            self._refused(name, failure)
        except Refusal as refusal:
            if refusal.kind == "malformed_input":
                raise
            self.log({"refused": name, "kind": refusal.kind})

    def _refused(self, name: str, failure: Failure) -> None:
        self.log({"refused": name, **failure.facts})

    def _do_prompt(self, action: Any) -> None:
        self.controller.prompt(action["text"], action.get("queue"))

    def _do_steer(self, action: Any) -> None:
        self.controller.enqueue(action["text"], "steer")

    def _do_followUp(self, action: Any) -> None:  # noqa: N802
        self.controller.enqueue(action["text"], "followUp")

    def _do_message(self, action: Any) -> None:
        fields = pick(action, "customType", "content") | {"display": action.get("display", True)}
        message = {"role": "custom", **fields, "timestamp": self.clock}
        self.controller.note(message, trigger=action.get("trigger"), deliver_as=action.get("deliverAs"))

    def _do_compact(self, action: Any) -> None:
        self.focus = action.get("customInstructions")
        self.controller.compact(
            action.get("customInstructions"),
            lambda result: self.log({"returned": "compact", **event_of(result)}),
            lambda failure: self._refused("compact", failure),
        )

    def _do_navigate(self, action: Any) -> None:
        self.focus = action.get("customInstructions")
        wishes = pick(action, "summarize", "customInstructions", "replaceInstructions", "label")
        self.controller.navigate(
            action["target"], wishes, self._arrived, lambda failure: self._refused("navigate", failure)
        )

    def _arrived(self, result: Json) -> None:
        leaf = {"leafId": self.controller.session.leaf["leafId"]}
        if "editorText" in result:
            result["editorText"] = cut(result["editorText"])
        self.log({"returned": "navigate", **result, **leaf})

    def _do_abort(self, _action: Any) -> None:
        self.controller.abort()

    def _do_abortCompaction(self, _action: Any) -> None:  # noqa: N802
        self.controller.abort_compaction()

    def _do_abortBranchSummary(self, _action: Any) -> None:  # noqa: N802
        if self.controller.branch_signal:
            self.controller.branch_signal.aborted = True

    def _do_abortRetry(self, _action: Any) -> None:  # noqa: N802
        if self.controller.retry_signal:
            self.controller.retry_signal.aborted = True

    def _do_setModel(self, action: Any) -> None:  # noqa: N802
        self.model = self.controller.model = self.models[f"{action['provider']}/{action['id']}"]
        self.controller.session.append(
            {"type": "model_change", "provider": action["provider"], "modelId": action["id"]}
        )

    def _do_setEnabled(self, action: Any) -> None:  # noqa: N802
        self.settings.setdefault("compaction", {})["enabled"] = action["enabled"]

    def _do_append(self, action: Any) -> None:
        self.controller.session.append(action["entry"])

    def _do_usage(self, _action: Any) -> None:
        window = self.model.context_window if self.model else None
        self.log({"usage": tokens.context_usage(self.controller.session, window)})

    def _do_state(self, _action: Any) -> None:
        controller = self.controller
        facts = {"running": controller.running, "compacting": controller.compacting, "idle": controller.idle}
        self.log({"state": facts})

    def _do_reopen(self, _action: Any) -> None:
        self.controller = self._opened(self.controller.session.entries, LAST)

    # ---- references --------------------------------------------------------------------------------------------------

    def _resolved(self, value: Any, event: Json | None) -> Any:
        """A copy in which every reference to an entry is its id."""
        if isinstance(value, list):
            return [self._resolved(item, event) for item in value]
        if not isinstance(value, dict):
            return value
        if "of" in value:
            return self._id_of(value["of"], value.get("nth", -1), event)
        return {name: self._resolved(item, event) for name, item in value.items()}

    def _id_of(self, of: str, nth: int, event: Json | None) -> Any:
        if of == "kept":
            assert event is not None
            return event["preparation"]["firstKeptEntryId"]
        session = self.controller.session
        if of == "leaf":
            return session.leaf["leafId"]
        matching = [entry["id"] for entry in session.entries if _kind(entry) == of]
        place = nth - 1 if nth > 0 else nth
        if not -len(matching) <= place < len(matching):
            raise malformed(f"the scenario names entry {nth} of {of}, which is not there")
        return matching[place]


def _kind(entry: Any) -> Any:
    return entry["message"]["role"] if entry["type"] == "message" else entry["type"]


def run(scenario: Json) -> Json:
    """`control/run`: the trace of a scenario."""
    return {"trace": Player(scenario).play()}
