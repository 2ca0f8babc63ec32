"""What a property is, and the one way in which it may ask an implementation: requests of the protocol.

```python
@prop("PRJ-off-path", rules="PRJ-04 PRJ-49", asks="projection/messages", given=sessions())
def off_path_entries_never_matter(ask: Ask, session: Session) -> None:
    \"\"\"Entries that are not on the path of the leaf change no projected message.\"\"\"
    ask.same("projection/messages", session.path_alone.state, session.state)
```

A check raises `Violation` or returns. What it asks is kept in `Ask.exchanges`, so that a violation can be turned into
single requests, each of which an oracle can judge.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis.strategies import SearchStrategy

from compaction_conformance import schemas
from compaction_conformance.expectation import Broken, Error, NotRun, Reply, Result
from compaction_conformance.implementation import Implementation, Request, call
from compaction_conformance.judge import NOTHING, Difference, first_difference
from compaction_conformance.spec import Spec

_MARK = "="


class Violation(Exception):
    """A property does not hold. `operation` is the one whose answer shows it, `failure` a class of
    `spec/protocol.md`."""

    def __init__(
        self, what: str, operation: str, *, failure: str = "mismatch", difference: Difference | None = None
    ) -> None:
        self.what, self.operation, self.failure, self.difference = what, operation, failure, difference
        super().__init__(what)

    @property
    def pointer(self) -> str:
        return self.difference.pointer if self.difference else ""


class OutOfReach(Exception):
    """The implementation cannot be asked any more (its restarts are spent)."""


@dataclass(frozen=True)
class Exchange:
    request: Request
    reply: Reply


@dataclass
class Ask:
    """Requests to one implementation, in the middle of one example."""

    implementation: Implementation
    time_limit: float | None = None
    exchanges: list[Exchange] = field(default_factory=list)

    def serves(self, operation: str) -> bool:
        return operation in self.implementation.description.operations

    def reply(self, operation: str, params: Any) -> Reply:
        request = Request(operation, json.dumps(params, separators=(",", ":")), self.time_limit)
        reply = call(self.implementation, request)
        if isinstance(reply, NotRun):
            raise OutOfReach(reply.reason)
        self.exchanges.append(Exchange(request, reply))
        return reply

    def __call__(self, operation: str, params: Any) -> Any:
        """The result. A refusal, a broken process and a result that breaks its schema are violations."""
        reply = self.reply(operation, params)
        if isinstance(reply, Broken):
            raise Violation(f"{reply.failure}: {reply.detail}", operation, failure=reply.failure)
        if not isinstance(reply, Result):
            found = Difference("", "a result", reply.shown())
            raise Violation("it is refused", operation, failure="unexpected_error", difference=found)
        if error := schemas.first_error(schemas.result_schema(operation), reply.value):
            found = Difference(error.pointer, "a value that its schema allows", error.value)
            what = f"the result breaks its schema: {error}"
            raise Violation(what, operation, failure="schema_violation", difference=found)
        return reply.value

    def refusal(self, operation: str, params: Any) -> str:
        """The kind of the refusal that is due here."""
        reply = self.reply(operation, params)
        if isinstance(reply, Broken):
            raise Violation(f"{reply.failure}: {reply.detail}", operation, failure=reply.failure)
        if not isinstance(reply, Error):
            found = Difference("", {"error": {}}, reply.shown())
            raise Violation("it is not refused", operation, difference=found)
        return reply.kind or ""

    def same(self, operation: str, one: Any, other: Any) -> Any:
        """The answer, after two params were found to lead to the same one."""
        expected = self(operation, one)
        equal(operation, expected, self(operation, other))
        return expected


def equal(operation: str, want: Any, got: Any, what: str = "it is another value", at: str = "") -> None:
    """Compares as `fixtures/README.md` compares, but without placeholders. `at` is where in the answer the value
    stands."""
    if found := first_difference(_literal(want), _literal(got)):
        pointer = at + found.pointer
        raise Violation(what, operation, difference=Difference(pointer, _unmarked(found.want), _unmarked(found.got)))


def _literal(value: Any) -> Any:
    """A value in which no text can be taken for a placeholder: each is marked."""
    if isinstance(value, str):
        return _MARK + value
    if isinstance(value, dict):
        return {key: _literal(item) for key, item in value.items()}
    return [_literal(item) for item in value] if isinstance(value, (list, tuple)) else value


def _unmarked(value: Any) -> Any:
    """The value that `_literal` was made of."""
    if isinstance(value, str):
        return value.removeprefix(_MARK)
    if isinstance(value, dict):
        return {key: _unmarked(item) for key, item in value.items()}
    return [_unmarked(item) for item in value] if isinstance(value, list) else value


def holds(truth: bool, operation: str, what: str, at: str = "", want: Any = True, got: Any = False) -> None:
    """A fact about an answer."""
    if not truth:
        raise Violation(what, operation, difference=Difference(at, want, NOTHING if got is None else got))


Check = Callable[[Ask, Any], None]


@dataclass(frozen=True)
class Property:
    """`requirements`: the first is the one it is about. `operations`: the first is the one it judges, the rest it
    needs.
    `weight`: how many examples of another property one of this costs."""

    id: str
    requirements: tuple[str, ...]
    operations: tuple[str, ...]
    sentence: str
    given: SearchStrategy[Any] = field(repr=False, compare=False)
    check: Check = field(repr=False, compare=False)
    theme: str = ""
    weight: int = 1

    def asked_of(self, implementation: Implementation) -> bool:
        """Whether the implementation declares all that is needed."""
        return implementation.description.operations.issuperset(self.operations)

    def named(self, spec: Spec) -> tuple[str, ...]:
        """By what it can be chosen: id, operations, requirements and their chapters."""
        return names_of(self.id, self.operations, self.requirements, spec)

    def examine(self, ask: Ask, example: Any) -> None:
        """Raises `Violation` where the property does not hold for the example."""
        try:
            self.check(ask, example)
        except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
            if not ask.exchanges:
                raise
            last = ask.exchanges[-1].request.method
            raise Violation(f"the answer keeps to its schema, but {_unread(error)}", last) from error


def _unread(error: Exception) -> str:
    """What a check could not read of answers that the schema allows."""
    if isinstance(error, KeyError):
        return f"lacks {error}, which follows from the input"
    return f"is not what follows from the input ({type(error).__name__}: {error})"


def names_of(own_id: str, operations: Sequence[str], requirements: Sequence[str], spec: Spec) -> tuple[str, ...]:
    chapters = [spec.requirements[rule].chapter for rule in requirements]
    return (own_id, *operations, *requirements, *chapters)


REGISTRY: dict[str, Property] = {}


def prop(
    name: str, *, rules: str, asks: str, given: SearchStrategy[Any], weight: int = 1
) -> Callable[[Callable[[Ask, Any], None]], Callable[[Ask, Any], None]]:
    """Registers a check under `PROP-<name>`; its docstring is the sentence."""

    def register(check: Check) -> Check:
        own_id = f"PROP-{name}"
        if own_id in REGISTRY:
            raise ValueError(f"{own_id} is there already")
        sentence = " ".join((check.__doc__ or "").split())
        theme = check.__module__.rsplit(".", 1)[-1]
        REGISTRY[own_id] = Property(
            own_id, tuple(rules.split()), tuple(asks.split()), sentence, given, check, theme, weight
        )
        return check

    return register


def ids_of(entries: Sequence[Any]) -> list[Any]:
    return [entry["id"] for entry in entries]
