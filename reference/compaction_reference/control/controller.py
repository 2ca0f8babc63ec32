"""A running session (chapter CTL): prompts, runs, recovery. All the state of control is here, and it is small.

Read it in this order: this module (a prompt from its start until everything has settled), `turns` (what happens inside
one run), `compacting` (when to compact, and how), `boundary` and `navigation`.

A run goes: check the size, add the user's message, run turns until the model has nothing more to do, look at how it
ended (try again? compact? deliver queued messages?), ask the extensions, settle.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import retry
from ..ecma import members, pick
from ..overflow import is_overflow
from ..session import Session
from ..system import current_system_message
from ..types import Json, Message
from . import boundary, compacting, navigation, turns
from .surroundings import Failure, Model, Signal, Surroundings, tell


class Controller:
    """One open session. `settings` is a settings object as files hold it; `model` may be None; `tools` are the
    declarations of those that can be called."""

    def __init__(
        self,
        session: Session,
        around: Surroundings,
        *,
        model: Model | None,
        settings: Json,
        system_prompt: str = "",
        tools: list[Json] | None = None,
        thinking_level: str = "off",
    ) -> None:
        self.session = session
        self.around = around
        self.model = model
        self.settings = settings
        self.system_prompt = system_prompt
        self.known_tools = tools or []
        self.tools = self.known_tools
        self.thinking_level = thinking_level

        self.recovery_used = False  # the fuse: one recovery until an answer or a user's message shows progress
        self.retry_attempt = 0
        self.running = False  # from the first message of a prompt until the run settles
        self.abort_requested = False
        self.run_signal: Signal | None = None  # of the turns that are running now
        self.compaction_signal: Signal | None = None  # of an automatic compaction
        self.manual_signal: Signal | None = None
        self.branch_signal: Signal | None = None
        self.retry_signal: Signal | None = None
        self.boundary_signal: Signal | None = None

        self.steering: list[Message] = []
        self.follow_ups: list[Message] = []
        self.waiting_notes: list[Message] = []  # extension messages that come into the session when the turn is over
        self.next_turn_notes: list[Message] = []
        self.after_idle: list[Callable[[], None]] = []
        self.draining = False
        self.settling = False
        self.after_settled: list[Callable[[], None]] = []

        self.last_answer: tuple[Message, str] | None = None  # with the id of its entry
        self.last_result_ids: list[str] = []
        self.outcome = "completed"

    # ---- what can be asked of it -------------------------------------------------------------------------------------

    @property
    def compacting(self) -> bool:
        """An automatic or manual compaction or a branch summary is being made."""
        return any((self.compaction_signal, self.manual_signal, self.branch_signal))

    @property
    def idle(self) -> bool:
        return not self.running and not self.compacting

    @property
    def has_queued(self) -> bool:
        """Messages of users and of extensions that are to be delivered; notes do not count."""
        return bool(self.steering or self.follow_ups)

    def messages(self) -> list[Message]:
        return self.session.projection().messages

    def prompt(self, text: str, queue: str | None = None) -> None:
        """Sends the user's message and runs until the session has settled. During a run it can only be queued."""
        if self.settling:
            self.after_settled.append(lambda: self.prompt(text))
            return
        if self.manual_signal:
            raise Failure("compacting")
        if self.running:
            if queue is None:
                raise Failure("running")
            self.enqueue(text, queue)
            return
        self.flush_notes()
        if self.model is None:
            raise Failure("no_model")
        compacting.check_before_prompt(self)
        messages = [self._user(text), *self.next_turn_notes]
        self.next_turn_notes = []
        update = self.prompt_update()
        self.run([update, *messages] if update else messages)

    def enqueue(self, text: str, queue: str) -> None:
        """`steer`: delivered before the next request. `followUp`: when the model would stop."""
        (self.steering if queue == "steer" else self.follow_ups).append(self._user(text))

    def note(self, message: Message, *, trigger: bool | None = None, deliver_as: str | None = None) -> None:
        """A message of an extension: queued, kept for the next prompt, stored at once, or the start of a run."""
        if deliver_as == "nextTurn":
            self.next_turn_notes.append(message)
        elif self.running and trigger is not False:
            (self.follow_ups if deliver_as == "followUp" else self.steering).append(message)
        elif trigger and self.settling:
            self.after_settled.append(lambda: self.run([message]))
        elif trigger:
            self.run([message])  # without the check that comes before a prompt
        elif self.running:
            self.waiting_notes.append(message)  # not between a call and its result
        else:
            self._store_note(message)

    def abort(self) -> None:
        """Ends whatever goes on. It takes effect where the work looks at its signal."""
        self.abort_requested = self.abort_requested or self.running
        for signal in (self.retry_signal, self.branch_signal, self.boundary_signal, self.run_signal):
            if signal:
                signal.aborted = True
        self.abort_compaction()

    def abort_compaction(self) -> None:
        for signal in (self.manual_signal, self.compaction_signal):
            if signal:
                signal.aborted = True

    def compact(
        self, custom_instructions: str | None, done: Callable[[Json], None], failed: Callable[[Failure], None]
    ) -> None:
        """Compacts because the user wants it: whatever runs is ended first, and is not taken up again."""
        self.abort()

        def now() -> None:
            try:
                done(compacting.compact_now(self, custom_instructions))
            except Failure as failure:
                failed(failure)

        self.when_idle(now)

    def navigate(
        self, target_id: Any, wishes: Json, done: Callable[[Json], None], failed: Callable[[Failure], None]
    ) -> None:
        """Goes elsewhere. Whoever asked hears what came of it before a compaction that ended it begins. (CTL-70)"""
        try:
            result = navigation.navigate(self, target_id, wishes)
        except Failure as failure:
            failed(failure)
        else:
            done(result)
        self.became_idle()

    def when_idle(self, action: Callable[[], None]) -> None:
        self.after_idle.append(action)
        self.became_idle()

    def became_idle(self) -> None:
        """What waited for this is done now, one after the other."""
        if self.draining:
            return
        self.draining = True
        try:
            while self.idle and self.after_idle:
                self.after_idle.pop(0)()
        finally:
            self.draining = False

    # ---- a run -------------------------------------------------------------------------------------------------------

    def run(self, messages: list[Message]) -> None:
        """From the first message until the session has settled."""
        self.abort_requested = False
        self.running = True
        try:
            turns.run(self, messages)
            while not self.abort_requested:
                if not (self._more_to_do() or (not self.abort_requested and boundary.before_settle(self))):
                    break
                if self.abort_requested:
                    break
                turns.go_on(self)
        finally:
            if self.abort_requested:
                self.retry_cancelled()
            self.flush_notes()
            self._settle()

    def _more_to_do(self) -> bool:
        """After a run of turns: whether another one follows. Trying again comes before compacting."""
        answer, result_ids = self.last_answer, self.last_result_ids
        self.last_answer, self.last_result_ids = None, []
        if answer is None:
            return self.has_queued
        message, entry_id = answer
        if self._is_retryable(message) and self._prepare_retry(message, entry_id):
            return not self.abort_requested
        if self.abort_requested:
            return False
        if message["stopReason"] == "error" and self.retry_attempt > 0:
            self.around.emit({"event": "auto_retry_end", "success": False, "attempt": self.retry_attempt})
            self.retry_attempt = 0
        go_on = compacting.check(self, message, entry_id, skip_aborted=True, result_ids=result_ids)
        return not self.abort_requested and (go_on or self.has_queued)

    def _settle(self) -> None:
        self.running = False
        self.settling = True
        tell(self.around, {"extension": "agent_settled"})
        self.around.emit({"event": "agent_settled"})
        self.settling = False
        later, self.after_settled = self.after_settled, []
        for action in later:
            action()
        self.became_idle()

    # ---- trying again ------------------------------------------------------------------------------------------------

    def will_retry(self, message: Message | None) -> bool:
        """What the event at the end of a run says. It tells of this kind of retry alone, not of recovery."""
        if self.abort_requested or self.retry_attempt >= self._policy().max_retries:
            return False
        return message is not None and self._is_retryable(message)

    def _policy(self) -> retry.Policy:
        return retry.policy_of(retry.settings(self.settings, {}))

    def _is_retryable(self, message: Message) -> bool:
        window = self.model.context_window if self.model else 0
        return not is_overflow(message, window) and retry.is_retryable(message)

    def _prepare_retry(self, message: Message, entry_id: str) -> bool:
        policy = self._policy()
        if self.retry_attempt >= policy.max_retries:
            return False
        self.retry_attempt += 1
        delay = retry.delay_ms(policy, self.retry_attempt)
        self.around.emit(
            {
                "event": "auto_retry_start",
                "attempt": self.retry_attempt,
                "maxAttempts": policy.max_retries,
                "delayMs": delay,
            }
        )
        self.omit([entry_id])
        self.retry_signal = Signal()
        self.around.sleep(delay)
        aborted, self.retry_signal = self.retry_signal.aborted, None
        if aborted or self.abort_requested:
            self.retry_cancelled()
        return not aborted

    def retry_cancelled(self) -> None:
        if self.retry_attempt:
            self.around.emit({"event": "auto_retry_end", "success": False, "attempt": self.retry_attempt})
            self.retry_attempt = 0

    # ---- entries -----------------------------------------------------------------------------------------------------

    def store(self, message: Message) -> str:
        """A message of the conversation becomes an entry. Here the fuse and the count of tries are set back."""
        if message["role"] == "user":
            self.recovery_used = False
        if message["role"] == "custom":
            return self._store_note(message)
        entry_id = str(self.session.append({"type": "message", "message": message})["id"])
        if message["role"] == "assistant":
            self.last_answer = (message, entry_id)
            if message["stopReason"] not in ("error", "length"):
                self.recovery_used = False
            if message["stopReason"] != "error" and self.retry_attempt > 0:
                self.around.emit({"event": "auto_retry_end", "success": True, "attempt": self.retry_attempt})
                self.retry_attempt = 0
        return entry_id

    def omit(self, entry_ids: list[str]) -> None:
        """Takes entries out of what the model sees. They stay in the file."""
        for entry_id in entry_ids:
            edit = self.session.append({"type": "context_edit", "targetId": entry_id, "replacement": None})
            self.around.emit({"event": "entry_appended", "id": edit["id"]})

    def flush_notes(self) -> None:
        notes, self.waiting_notes = self.waiting_notes, []
        for note in notes:
            self._store_note(note)

    def _store_note(self, message: Message) -> str:
        own = pick(message, "customType", "content", "display", "details")
        return str(self.session.append({"type": "custom_message", **own})["id"])

    def _user(self, text: str) -> Message:
        return {"role": "user", "content": [{"type": "text", "text": text}], "timestamp": self.around.now()}

    # ---- prompt and tools --------------------------------------------------------------------------------------------

    def prompt_update(self) -> Message | None:
        """A system message that brings the model's prompt up to date; None where it is."""
        current = current_system_message(self.messages())
        known = members(members(current or {}).get("sections") or {}).get("preamble") or ""
        if known == self.system_prompt:
            return None
        sections = {"preamble": self.system_prompt}
        return {"role": "system", "content": "", "sections": sections, "timestamp": self.around.now()}
