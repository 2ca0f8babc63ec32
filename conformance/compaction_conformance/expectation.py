"""What a vector accepts, one class a shape, and what an implementation replied, one class an outcome of the wire."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from compaction_conformance.judge import NOTHING, Difference, first_difference

FAILURE_CLASSES = (
    "mismatch",
    "wrong_error",
    "unexpected_error",
    "timeout",
    "exited",
    "signalled",
    "closed_stdout",
    "invalid_json",
    "schema_violation",
    "wrong_id",
)

ERROR_KINDS = (
    "not_a_session",
    "entry_not_found",
    "not_on_path",
    "not_editable",
    "invalid_replacement",
    "invalid_session_id",
    "invalid_setting",
    "unsupported_entry",
    "malformed_input",
)


@dataclass(frozen=True)
class Result:
    """The implementation answered with a value."""

    value: Any

    def shown(self) -> Any:
        return {"result": self.value}


@dataclass(frozen=True)
class Error:
    """The implementation answered with an error; `kind` is None when it is no refusal of the closed list."""

    kind: str | None
    message: str
    code: int = -32000

    def shown(self) -> Any:
        return {"error": {"kind": self.kind, "code": self.code, "message": self.message}}


@dataclass(frozen=True)
class Broken:
    """There was no usable answer: `failure` is one of the closed classes, `detail` says what happened."""

    failure: str
    detail: str

    def shown(self) -> Any:
        return {self.failure: self.detail}


@dataclass(frozen=True)
class NotRun:
    """The request was never made: the restart budget was spent before its turn."""

    reason: str

    def shown(self) -> Any:
        return {"not_run": self.reason}


Reply = Result | Error | Broken | NotRun


@dataclass(frozen=True)
class Verdict:
    """Met or not; if not, the failure class and the first difference; if so, the reading that was taken, if any."""

    failure: str = ""
    difference: Difference | None = None
    reading: str = ""

    @property
    def met(self) -> bool:
        return not self.failure


@dataclass(frozen=True)
class ExpectResult:
    value: Any

    def judge(self, reply: Result | Error, params: Any) -> Verdict:
        if isinstance(reply, Error):
            return Verdict("unexpected_error", Difference("", {"result": self.value}, reply.shown()))
        difference = first_difference(self.value, reply.value, params)
        return Verdict("mismatch", difference) if difference else Verdict()


@dataclass(frozen=True)
class ExpectRefusal:
    kind: str

    def judge(self, reply: Result | Error, params: Any) -> Verdict:
        want = {"error": {"kind": self.kind}}
        if isinstance(reply, Result):
            return Verdict("mismatch", Difference("", want, reply.shown()))
        if reply.kind != self.kind:
            return Verdict("wrong_error", Difference("/error/kind", self.kind, reply.kind or NOTHING, reply.message))
        return Verdict()


@dataclass(frozen=True)
class ExpectReading:
    """Any of several named expectations."""

    readings: tuple[tuple[str, ExpectResult | ExpectRefusal], ...]

    def judge(self, reply: Result | Error, params: Any) -> Verdict:
        first: Verdict | None = None
        for name, expectation in self.readings:
            verdict = expectation.judge(reply, params)
            if verdict.met:
                return Verdict(reading=name)
            first = first or verdict
        assert first is not None
        return first


@dataclass(frozen=True)
class ExpectAnswer:
    """Any answer or refusal, so long as it comes in time."""

    def judge(self, reply: Result | Error, params: Any) -> Verdict:
        return Verdict()


Expectation = ExpectResult | ExpectRefusal | ExpectReading | ExpectAnswer


def read_expectation(data: dict[str, Any]) -> Expectation:
    """From the `expect` member of a vector. Raises `ValueError` with the reason when it has none of the four shapes."""
    if data == {"answer": "any"}:
        return ExpectAnswer()
    if data.keys() == {"readings"} and data["readings"]:
        return ExpectReading(tuple((reading["reading"], _read_single(reading)) for reading in data["readings"]))
    return _read_single(data)


def check_placeholders(expected: Any) -> None:
    """Raises `ValueError` when a `$lines` or a `$text` in it is none."""
    stack = [expected]
    while stack:
        value = stack.pop()
        if isinstance(value, list):
            stack.extend(value)
        elif isinstance(value, dict):
            stack.extend(value.values())
            if value.keys() == {"$lines"} and not isinstance(value["$lines"], list):
                raise ValueError("$lines is no list of lines")
            if value.keys() == {"$text"} and not _is_text_placeholder(value["$text"]):
                raise ValueError("$text is no object with starts, ends (texts), holds and lacks (lists of texts)")


def _is_text_placeholder(value: Any) -> bool:
    if not isinstance(value, dict) or not value.keys() <= {"starts", "ends", "holds", "lacks"}:
        return False
    texts = [value[name] for name in ("starts", "ends") if name in value]
    lists = [value[name] for name in ("holds", "lacks") if name in value]
    return all(isinstance(text, str) for text in texts) and all(
        isinstance(parts, list) and all(isinstance(part, str) for part in parts) for parts in lists
    )


def _read_single(data: dict[str, Any]) -> ExpectResult | ExpectRefusal:
    if "result" in data and "error" not in data:
        return ExpectResult(data["result"])
    if "error" in data and "result" not in data:
        if data["error"].get("kind") not in ERROR_KINDS:
            raise ValueError(f"unknown error kind {data['error'].get('kind')!r}; known: {', '.join(ERROR_KINDS)}")
        return ExpectRefusal(data["error"]["kind"])
    raise ValueError("expect one of: result, error, readings, answer")
