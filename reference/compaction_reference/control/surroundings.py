"""What a controller needs of the world, and the few small things that both sides share (chapter CTL).

Nothing here waits: a provider, a tool or an extension is a function that is called and has returned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from ..types import Json, Message

Handler: TypeAlias = Callable[[Json], Any]


class Failure(Exception):
    """A compaction, a navigation or a prompt that did not come about. `kind` is from the closed list of
    `spec/scenarios.md`; `part` and `cause` tell of a failed summary which request it was and what the provider said."""

    def __init__(self, kind: str, *, part: str | None = None, cause: str | None = None) -> None:
        super().__init__(kind)
        more = {"part": part, "cause": cause}
        self.facts: Json = {"kind": kind} | {name: value for name, value in more.items() if value is not None}

    @property
    def kind(self) -> str:
        return str(self.facts["kind"])


class ExtensionError(Exception):
    """An extension's handler threw. It is reported, and what the handler was asked goes on without it."""


@dataclass(slots=True)
class Signal:
    """Tells whoever works on something that it is no longer wanted. It is set once and looked at."""

    aborted: bool = False

    def check(self) -> None:
        if self.aborted:
            raise Failure("cancelled")


@dataclass(frozen=True, slots=True)
class Model:
    provider: str
    id: str
    context_window: float
    max_tokens: float
    reasoning: bool = False

    def as_json(self) -> Json:
        """As the modules of summaries take it."""
        limits = {"contextWindow": self.context_window, "maxTokens": self.max_tokens, "reasoning": self.reasoning}
        return {"provider": self.provider, "id": self.id, **limits}


class Surroundings(Protocol):
    """The provider, the tools, the extensions and the listeners of a session. While one of these methods runs, the
    controller may be called: to queue a message, to abort, to be asked for its state."""

    def emit(self, event: Json) -> None:
        """A public event: `{"event": name, …}`."""

    def announce(self, event: Json) -> None:
        """An event that extensions hear of: `{"extension": name, …}`, before its handlers are asked."""

    def handlers(self, name: str) -> Sequence[Handler]:
        """The extensions' handlers of an event, in order. A handler raises ExtensionError when it throws."""

    def report(self, error: Json) -> None:
        """Something went wrong in an extension, or with what it answered."""

    def answer(self, request: Json, signal: Signal) -> Message:
        """The provider's answer to a request, an assistant message, whatever became of it."""

    def run_tool(self, call: Any) -> Message:
        """The result of a tool call, a `toolResult` message."""

    def sleep(self, delay_ms: float) -> None:
        """A delay before another try, in milliseconds."""

    def now(self) -> int:
        """Milliseconds since 1970."""


def ask(around: Surroundings, name: str, event: Json) -> Any:
    """Asks all handlers about what is going to happen. The last answer stands, one that cancels ends the asking, and
    a handler that throws has given no answer."""
    answer = None
    for handler in around.handlers(name):
        try:
            given = handler(event)
        except ExtensionError:
            around.report({"extensionError": name, "kind": "thrown"})
            continue
        if given is not None:
            answer = given
            if given.get("cancel"):
                break
    return answer


def tell(around: Surroundings, event: Json) -> None:
    """Tells all handlers of something that has happened. What they answer counts for nothing."""
    name = event["extension"]
    around.announce(event)
    for handler in around.handlers(name):
        try:
            handler(event)
        except ExtensionError:
            around.report({"extensionError": name, "kind": "thrown"})
