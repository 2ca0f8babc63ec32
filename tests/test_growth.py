"""Growth is judged by ratios against an echo in the same run: a quadratic implementation is told from a linear one."""

from __future__ import annotations

import pytest

import wrong
from compaction_conformance import growth
from compaction_conformance.cli import main
from compaction_conformance.growth import Curve, Point, drawn
from compaction_conformance.implementation import Implementation, Request, call


def curve(*seconds: float) -> Curve:
    return Curve("session/path", tuple(Point(1000 * 2**n, each, 0.1 * 2**n) for n, each in enumerate(seconds)))


def test_work_that_doubles_is_linear() -> None:
    assert not curve(0.2, 0.4, 0.8).superlinear


def test_work_that_quadruples_is_superlinear() -> None:
    assert curve(0.2, 0.8, 3.2).superlinear


def test_one_slow_step_is_no_verdict() -> None:
    assert not curve(0.2, 0.8, 1.6).superlinear


def test_a_curve_is_drawn_with_its_sizes() -> None:
    text = drawn(curve(0.2, 0.8, 3.2))
    assert text.startswith("session/path: super-linear")
    assert "4000 entries" in text
    assert text.count("█") > 40


def test_an_unanswered_operation_is_told() -> None:
    assert drawn(Curve("session/path", (), "1000 entries: timeout")).endswith("not measured, 1000 entries: timeout")


def test_the_time_limit_of_the_command_line_is_that_of_a_request(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--implementation", "python:wrong:walks_slowly", "--entries", "2000", "--timeout", "0.1"]
    assert main(["growth", *words]) == 3
    assert 'session/path: not measured, 2000 entries: {"timeout": "no answer within 0.1 s"}' in capsys.readouterr().out


def test_growth_from_no_entries_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["growth", "--entries", "0"])
    assert end.value.code == 2
    assert "--entries: must be a whole number from 1 to 50000" in capsys.readouterr().err


def looks_taken(side: Implementation, request: Request) -> float:
    """The work of a request: how many entries the slow walk looks at; whoever else answers looks at each once."""
    before = wrong.looks["taken"]
    call(side, request)
    return wrong.looks["taken"] - before or request.params_text.count('"parentId"')


@pytest.mark.parametrize(("name", "word", "code"), [("walks_slowly", "super-linear", 1), ("counts_bytes", "linear", 0)])
def test_a_quadratic_walk_is_advised_against(
    name: str, word: str, code: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(growth, "_timed", looks_taken)  # a clock would tell how busy the machine is
    assert main(["growth", "--implementation", f"python:wrong:{name}", "--entries", "40", "--strict"]) == code
    told = capsys.readouterr().out.splitlines()
    assert [line.split(";")[0] for line in told if line.startswith("session/path")] == [f"session/path: {word}"]


def test_the_sizes_take_turns(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def noted(side: Implementation, request: Request) -> float:
        asked.append(request.params_text.count('"parentId"'))
        return 1.0

    monkeypatch.setattr(growth, "_timed", noted)
    monkeypatch.setattr(growth, "PROBES", {"session/path": growth.PROBES["session/path"]})
    assert main(["growth", "--entries", "20"]) == 0
    assert asked[::2] == [20, 40, 80] * 5


def test_an_operation_that_is_refused_is_not_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["growth", "--implementation", "python:wrong:refuses_paths", "--entries", "20"]) == 3
    assert 'session/path: not measured, 20 entries: {"error"' in capsys.readouterr().out
