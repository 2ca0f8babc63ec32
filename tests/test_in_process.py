"""An implementation in this process is foreign code: whatever it raises, gives, prints or changes, the run goes on."""

from __future__ import annotations

import gc
import itertools
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

import pytest

from compaction_conformance import in_process
from compaction_conformance.cli import main
from compaction_conformance.connect import Settings, connect
from compaction_conformance.errors import ConformanceError, HandshakeFailed, Unavailable
from compaction_conformance.expectation import Broken, Error, Reply, Result
from compaction_conformance.foreign import Log, OutOfTime, bounded
from compaction_conformance.implementation import Request
from compaction_conformance.in_process import InProcess
from compaction_conformance.run import FAILED, PASSED, run
from compaction_conformance.vectors import Vector, select
from compaction_reference import operations

_PARAMS = '{"message": {"role": "user", "content": "four", "timestamp": 0}}'


class Foreign:
    """The reference, save that the first call goes through a function; or one with another description."""

    def __init__(
        self, first: Callable[[], Any] | None = None, describe: Callable[[], Any] = operations.describe
    ) -> None:
        self.describe = describe
        self._first = first

    def call(self, method: str, params: Any) -> Any:
        first, self._first = self._first, None
        return first() if first else operations.call(method, params)


def _side(target: Foreign, **limits: float) -> InProcess:
    return InProcess(target, edition="pi-0.87", profile="coding-agent", **{"time_limit": 20.0, **limits})


def _replies(first: Callable[[], Any], limit: float | None = None) -> tuple[Reply, str]:
    """The reply to the first call and its log; the second call is answered as if nothing had been."""
    side = _side(Foreign(first))
    asked = side.answers([Request("tokens/of_message", _PARAMS, limit), Request("tokens/of_message", _PARAMS)])
    reply, log = next(asked), side.log
    assert next(asked) == Result({"tokens": 1})
    return reply, log


def _raising(error: BaseException) -> Callable[[], NoReturn]:
    def raises() -> NoReturn:
        raise error

    return raises


def _for_ever() -> Any:
    while True:
        time.sleep(0.01)


# What is raised


class Mute(Exception):
    def __str__(self) -> str:
        raise SystemExit("no text")

    def __repr__(self) -> str:
        raise ValueError("no text")


class NoText(Exception):
    def __str__(self) -> str:
        return 5  # type: ignore[return-value]


class NoKind(Exception):
    @property
    def kind(self) -> str:
        raise KeyboardInterrupt


class Unhashable:
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise ValueError("no comparison")


class Agreeing(str):
    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    __hash__ = str.__hash__


class Nameless(type):
    @property
    def __name__(cls) -> str:  # type: ignore[override]
        raise ValueError("no name")


class Anonymous(Exception, metaclass=Nameless):
    pass


class OfKind(Exception):
    def __init__(self, kind: Any) -> None:
        self.kind = kind
        super().__init__("words")


@pytest.mark.parametrize(
    "error",
    [Mute(), NoText(), NoKind(), Anonymous(), *map(OfKind, (Unhashable(), Agreeing("x"), [], 5))],
    ids=["mute", "no text", "no kind", "nameless", "unhashable", "agreeing", "list", "number"],
)
def test_an_exception_may_be_hostile(error: Exception) -> None:
    reply, _ = _replies(_raising(error))
    assert isinstance(reply, Error)
    assert reply.kind is None
    assert reply.code == -32603
    assert type(reply.message) is str


def test_the_kind_of_a_refusal_is_a_plain_text() -> None:
    reply, _ = _replies(_raising(OfKind(Agreeing("not_on_path"))))
    assert reply == Error("not_on_path", "words")
    assert isinstance(reply, Error)
    assert type(reply.kind) is str


def test_the_text_of_an_exception_is_bounded() -> None:
    reply, log = _replies(_raising(ValueError("x" * 10_000_000)))
    assert isinstance(reply, Error)
    assert len(reply.message) < 3_000
    assert len(log) < 10_000


@pytest.mark.parametrize(
    "error",
    [SystemExit(3), SystemExit(Mute()), GeneratorExit(), KeyboardInterrupt(), type("Own", (BaseException,), {})()],
    ids=["exit", "exit with a mute code", "generator", "interrupt", "own"],
)
def test_what_would_end_a_program_of_its_own_is_an_exit(error: BaseException) -> None:
    reply, _ = _replies(_raising(error))
    assert isinstance(reply, Broken)
    assert reply.failure == "exited"
    assert type(error).__name__ in reply.detail


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_user_ends_the_run_whatever_the_implementation_does_with_it(number: signal.Signals) -> None:
    def takes_it_for_itself() -> Any:
        with suppress(BaseException):
            os.kill(os.getpid(), number)
            time.sleep(1)
        return {"tokens": 1}

    before = signal.signal(number, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            _replies(takes_it_for_itself)
        assert signal.getsignal(number) is signal.default_int_handler
    finally:
        signal.signal(number, before)


def test_the_user_ends_a_run_that_is_about_to_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            _connected("import os, time\nos.kill(os.getpid(), 2)\ntime.sleep(1)\n", tmp_path, monkeypatch)
    finally:
        signal.signal(signal.SIGINT, before)


# What is given


class Endless(dict[str, Any]):
    def items(self) -> Any:
        return (("tokens", 1) for _ in itertools.repeat(0))


class Equal(int):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = int.__hash__


class AnyDict(dict[str, Any]):
    def __eq__(self, other: object) -> bool:
        return True

    def get(self, key: str, default: Any = None) -> Any:
        return 1


def _circle() -> list[Any]:
    circle: list[Any] = []
    circle.append(circle)
    return circle


def _deep() -> list[Any]:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    return deep


class RaisingItems(dict[str, Any]):
    def items(self) -> Any:
        raise SystemExit("no members")


@pytest.mark.parametrize(
    "make",
    [object, lambda: {1, 2}, lambda: (n for n in [1]), _circle, _deep, lambda: float("nan"), lambda: RaisingItems(a=1)],
    ids=["object", "set", "generator", "circle", "deep", "nan", "raising items"],
)
def test_an_answer_that_is_no_json(make: Callable[[], Any]) -> None:
    reply, _ = _replies(make)
    assert isinstance(reply, Broken)
    assert reply.failure == "invalid_json"


def test_an_answer_without_end_takes_no_longer_than_a_call() -> None:
    reply, _ = _replies(lambda: Endless(tokens=1), 0.3)
    assert reply == Broken("timeout", "no answer within 0.3 s")


def test_an_answer_has_a_greatest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("compaction_conformance.foreign.MAX_LINE_BYTES", 1_000)
    reply, _ = _replies(lambda: "x" * 2_000)
    assert isinstance(reply, Broken)
    assert (reply.failure, "more than 1000 bytes" in reply.detail) == ("invalid_json", True)


@pytest.mark.parametrize("answer", [{"tokens": Equal(2)}, AnyDict(tokens=2), {"tokens": Agreeing("2")}])
def test_what_is_judged_is_plain_json(answer: Any, vector: Vector) -> None:
    reply, _ = _replies(lambda: answer)
    assert isinstance(reply, Result)
    assert type(reply.value) is dict
    assert type(reply.value["tokens"]) in (int, str)
    report = run(_side(Foreign(lambda: answer)), [vector])
    assert report.outcomes[0].status == FAILED


@pytest.fixture
def vector(vectors: tuple[Vector, ...]) -> Vector:
    """Its right answer is another one than 2 tokens."""
    counted = select(vectors, only="tokens/of_message", edition="pi-0.87", profile="coding-agent")
    return next(each for each in counted if operations.call(each.operation, each.params) != {"tokens": 2})


# The handshake


def _description(**changed: Any) -> dict[str, Any]:
    return {**operations.describe(), **changed}


@pytest.mark.parametrize(
    "answer",
    [object(), _description(operations={"tokens/of_message"}), RaisingItems(a=1), Endless(a=1), _description(a=b"")],
)
def test_a_description_that_is_no_json(answer: Any) -> None:
    with pytest.raises(HandshakeFailed, match=r"describe\(\) (gave no JSON|gave no answer within 0.2 s)"):
        _side(Foreign(describe=lambda: answer), handshake_limit=0.2)


@pytest.mark.parametrize("answer", [None, [], 5, "text", {"protocolVersion": Equal(1)}])
def test_a_description_of_another_shape(answer: Any) -> None:
    with pytest.raises(HandshakeFailed, match="breaks its schema"):
        _side(Foreign(describe=lambda: answer))


def test_a_description_is_plain_json() -> None:
    side = _side(Foreign(describe=lambda: _description(operations=[Agreeing("tokens/of_message"), Agreeing("a/b")])))
    assert {type(name) for name in (*side.description.operations, *side.description.unknown_operations)} == {str}
    assert side.description.unknown_operations == ("a/b",)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), GeneratorExit(), Mute(), SystemExit(0)])
def test_a_description_that_raises(error: BaseException) -> None:
    with pytest.raises(HandshakeFailed, match=r"describe\(\) raised"):
        _side(Foreign(describe=_raising(error)))


def test_a_description_that_never_comes() -> None:
    with pytest.raises(HandshakeFailed, match=r"gave no answer within 0.2 s\n  → .* over stdio"):
        _told(lambda: _side(Foreign(describe=_for_ever), handshake_limit=0.2))


def _told(do: Callable[[], Any]) -> None:
    try:
        do()
    except ConformanceError as error:
        raise type(error)(str(error)) from None


def _connected(source: str, folder: Path, monkeypatch: pytest.MonkeyPatch, limit: float = 5.0) -> Any:
    (folder / "foreign_module.py").write_text(source)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "foreign_module", raising=False)
    real = in_process.imported
    monkeypatch.setattr(
        "compaction_conformance.connect.imported", lambda *words, **more: real(*words, **more, limit=limit)
    )
    return connect("python:foreign_module", Settings())


def test_an_import_that_never_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Unavailable, match=r"cannot import it: that took more than 0.2 s\n  → .* over stdio"):
        _told(lambda: _connected("import time\ntime.sleep(60)\n", tmp_path, monkeypatch, 0.2))


@pytest.mark.parametrize(
    "source",
    [
        "raise KeyboardInterrupt",
        "class Mute(Exception):\n    def __str__(self):\n        raise ValueError\nraise Mute",
        "def __getattr__(name):\n    raise SystemExit(name)",
    ],
    ids=["interrupt", "mute", "getattr"],
)
def test_an_import_that_raises(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Unavailable, match="cannot import it"):
        _connected(source, tmp_path, monkeypatch)


# What is changed of the process


def _closes_everything() -> Any:
    for stream in (sys.stdout, sys.stderr):
        stream.close()
    return {"tokens": 2}


def _replaces_streams() -> Any:
    sys.stdout = sys.stderr = None
    return {"tokens": 2}


def _prints() -> Any:
    for _ in range(100):
        print("loud" * 10_000)
    print("last words", file=sys.stderr)
    return {"tokens": 2}


def _traces() -> Any:
    sys.settrace(lambda *_: _raising(ValueError("traced"))())
    sys.setprofile(lambda *_: None)
    return {"tokens": 2}


def _takes_the_signals() -> Any:
    signal.setitimer(signal.ITIMER_REAL, 0)
    for number in (signal.SIGALRM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    return {"tokens": 2}


def _goes_elsewhere() -> Any:
    os.chdir("/")
    return {"tokens": 2}


def _stays_shallow() -> Any:
    depth = 0
    while True:
        with suppress(RecursionError):
            sys.setrecursionlimit(depth := depth + 1)
            return {"tokens": 2}


@contextmanager
def _unchanged() -> Iterator[None]:
    """All is as before at its end."""

    def now() -> tuple[Any, ...]:
        handlers = [signal.getsignal(number) for number in (signal.SIGALRM, signal.SIGINT, signal.SIGTERM)]
        held = sys.stdin, sys.stdout, sys.stderr, sys.getrecursionlimit(), sys.gettrace(), sys.getprofile()
        return (*held, os.getcwd(), *handlers, signal.getitimer(signal.ITIMER_REAL))

    before = now()
    yield
    assert now() == before
    assert not sys.stdout.closed


@pytest.mark.parametrize(
    "change",
    [_closes_everything, _replaces_streams, _prints, _traces, _takes_the_signals, _goes_elsewhere, _stays_shallow],
)
def test_what_a_call_changes_of_the_process_is_put_right(change: Callable[[], Any]) -> None:
    with _unchanged():
        reply, log = _replies(change)
    assert reply == Result({"tokens": 2})
    assert len(log) < 10_000
    assert log.endswith("last words\n") == (change is _prints)


def test_the_clock_goes_again_in_the_next_call() -> None:
    calls = [_takes_the_signals, _for_ever]
    target = Foreign()
    target.call = lambda method, params: calls.pop(0)()  # type: ignore[method-assign]
    with _unchanged():
        asked = [Request("tokens/of_message", _PARAMS), Request("tokens/of_message", _PARAMS, 0.3)]
        first, second = _side(target).answers(asked)
    assert first == Result({"tokens": 2})
    assert second == Broken("timeout", "no answer within 0.3 s")


def test_an_answer_after_the_clock_was_taken_for_itself_is_late() -> None:
    def late() -> Any:
        with suppress(BaseException):
            _for_ever()
        return {"tokens": 1}

    assert _replies(late, 0.3)[0] == Broken("timeout", "no answer within 0.3 s")


def test_a_call_in_another_thread_leaves_the_streams_alone() -> None:
    seen: list[Any] = []
    stream = sys.stdout
    thread = threading.Thread(target=lambda: seen.append(_replies(lambda: sys.stdout is stream)[0]))
    thread.start()
    thread.join()
    assert seen == [Result(True)]


_LOUD = """
import os, sys
from compaction_reference import operations
print("loud")
def describe():
    print("loud")
    return operations.describe()
def call(method, params):
    print("loud")
    os.chdir("/")
    sys.stdout.close()
    sys.stderr = None
    return operations.call(method, params)
"""


def test_a_run_of_a_loud_implementation_tells_its_own_words_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "loud_module.py").write_text(_LOUD)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    code = main(["run", "--only", "tokens", "--implementation", "python:loud_module", "--json", "report.jsonl"])
    out, err = capsys.readouterr()
    assert (code, err) == (0, "")
    assert "loud" not in out
    assert "conformant" in out.splitlines()[-1]
    assert all(json.loads(line) for line in (tmp_path / "report.jsonl").read_text().splitlines())


def test_a_vector_is_met_by_the_reference_in_this_process(vector: Vector) -> None:
    assert run(_side(Foreign()), [vector]).outcomes[0].status == PASSED


class _Endless:
    """What ends it never ends, and what is raised there Python drops."""

    def __del__(self) -> None:
        while True:
            time.sleep(0.001)


def _ended_once() -> NoReturn:
    endless = [_Endless(), _Endless()]
    endless.clear()
    while True:
        time.sleep(0.001)


def _collected() -> NoReturn:
    def callback(phase: str, _info: dict[str, int]) -> None:
        while phase == "start":
            time.sleep(0.001)

    gc.callbacks.append(callback)
    try:
        gc.collect()
        while True:
            time.sleep(0.001)
    finally:
        gc.callbacks.remove(callback)


@pytest.mark.parametrize("endless", [_ended_once, _collected])
def test_a_ring_that_python_drops_is_rung_again(endless: Callable[[], Any]) -> None:
    before = sys.unraisablehook
    assert _replies(endless, 0.3)[0] == Broken("timeout", "no answer within 0.3 s")
    assert sys.unraisablehook is before


def test_a_ring_outside_of_the_code_interrupts_nothing() -> None:
    reached = []

    def lingers() -> None:
        with bounded(0.01, Log()):
            deadline = time.monotonic() + 0.2
            while time.monotonic() < deadline:
                time.sleep(0.001)
            reached.append("the end")

    with pytest.raises(OutOfTime):
        lingers()
    assert reached == ["the end"]
