"""Whatever an adapter does, each request has one reply of the right class, and the ones after it are not touched."""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from compaction_conformance.errors import HandshakeFailed, Unavailable
from compaction_conformance.expectation import Broken, Error, NotRun, Reply, Result
from compaction_conformance.implementation import Request, call, read_description
from compaction_conformance.stdio import Stdio

_FAKE = [sys.executable, str(Path(__file__).with_name("fake_adapter.py"))]


def start(*arguments: str, **options: Any) -> Stdio:
    return Stdio([*_FAKE, *arguments], edition="pi-0.87", profile="coding-agent", **{"time_limit": 5.0, **options})


def ask(side: Stdio, *params: dict[str, Any]) -> list[Reply]:
    try:
        return list(side.answers(Request("tokens/of_message", json.dumps(one)) for one in params))
    finally:
        side.close()


def fine(number: int) -> dict[str, Any]:
    return {"n": number}


def around(what: dict[str, Any], **options: Any) -> Reply:
    """The reply to one odd request among many good ones, after checking that those are untouched."""
    before, after = [fine(n) for n in range(40)], [fine(n) for n in range(40, 80)]
    replies = ask(start(**options), *before, what, *after)
    assert [reply for index, reply in enumerate(replies) if index != 40] == [Result({"n": n}) for n in range(80)]
    return replies[40]


@pytest.mark.parametrize(
    ("what", "failure", "detail"),
    [
        ({"do": "exit", "code": 0}, "exited", "exit code 0"),
        ({"do": "exit", "code": 3}, "exited", "exit code 3"),
        ({"do": "kill"}, "signalled", "signal 9"),
        ({"do": "half line and exit"}, "exited", "22 bytes of an unfinished line"),
        ({"do": "close stdout"}, "closed_stdout", "the process goes on"),
        ({"do": "noise"}, "invalid_json", "debug: got a request"),
        ({"do": "not utf-8"}, "invalid_json", "not UTF-8"),
        ({"do": "flood"}, "invalid_json", "not JSON"),
        ({"do": "deep"}, "invalid_json", "nested too deeply"),
        ({"do": "nan"}, "invalid_json", "NaN is no JSON"),
        ({"do": "beyond", "number": "1e400"}, "schema_violation", "a number that no double holds"),
        ({"do": "beyond", "number": "-1e400"}, "schema_violation", "-1e400"),
        ({"do": "beyond", "number": "9" * 5000}, "schema_violation", "a number that no double holds"),
        ({"do": "wrong id"}, "wrong_id", "is due"),
        ({"do": "twice", "n": 40}, "wrong_id", "a second answer"),
        ({"do": "id in text"}, "schema_violation", "/id"),
        ({"do": "id is null"}, "schema_violation", "/id"),
        ({"do": "no id"}, "schema_violation", "id"),
        ({"do": "no response"}, "schema_violation", "no JSON-RPC response"),
        ({"do": "unknown kind"}, "schema_violation", "because"),
    ],
    ids=lambda value: value.get("do", "") if isinstance(value, dict) else "",
)
def test_each_misbehaviour_has_its_class_and_touches_no_other_request(
    what: dict[str, Any], failure: str, detail: str
) -> None:
    reply = around(what)
    assert isinstance(reply, Broken)
    assert reply.failure == failure
    assert detail in reply.detail


@pytest.mark.parametrize("what", ["hang", "half line"])
def test_a_request_without_an_answer_times_out(what: str) -> None:
    reply = around({"do": what}, time_limit=0.5)
    assert isinstance(reply, Broken)
    assert reply.failure == "timeout"
    assert ("22 bytes" in reply.detail) == (what == "half line")


def test_an_endless_line_is_given_up_at_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("compaction_conformance.process.MAX_LINE_BYTES", 1_000_000)
    reply = around({"do": "endless line"})
    assert isinstance(reply, Broken)
    assert reply.failure == "invalid_json"


def test_a_time_limit_of_its_own_ends_a_single_request() -> None:
    side = start()
    began = time.monotonic()
    reply = call(side, Request("tokens/of_message", '{"do":"hang"}', time_limit=0.3))
    assert isinstance(reply, Broken)
    assert reply.failure == "timeout"
    assert time.monotonic() - began < 4
    assert call(side, Request("tokens/of_message", '{"n":1}')) == Result({"n": 1})
    side.close()


def test_a_refusal_is_an_answer() -> None:
    assert ask(start(), {"do": "refuse", "kind": "not_editable"}) == [Error("not_editable", "no")]


def test_the_last_answer_given_twice_is_noticed() -> None:
    replies = ask(start(), fine(0), {"do": "twice", "n": 1})
    assert replies[0] == Result({"n": 0})
    assert isinstance(replies[1], Broken)
    assert replies[1].failure == "wrong_id"


def test_an_answer_given_twice_to_a_request_alone_is_noticed() -> None:
    (reply,) = ask(start(), {"do": "twice", "n": 1})
    assert isinstance(reply, Broken)
    assert reply.failure == "wrong_id"


def test_a_second_answer_is_noticed_where_requests_are_made_one_at_a_time() -> None:
    side = start()
    assert call(side, Request("tokens/of_message", '{"n":0}')) == Result({"n": 0})
    assert call(side, Request("tokens/of_message", '{"do":"twice, late","n":1}')) == Result({"n": 1})
    reply = call(side, Request("tokens/of_message", '{"n":2}'))
    assert isinstance(reply, Broken)
    assert reply.failure == "wrong_id"
    assert "a second answer" in reply.detail
    assert call(side, Request("tokens/of_message", '{"n":3}')) == Result({"n": 3})
    side.close()


def test_a_number_of_many_digits_that_a_double_holds_is_an_answer() -> None:
    assert ask(start(), {"do": "beyond", "number": "0." + "1" * 5000}) == [Result({"n": float("0." + "1" * 5000)})]


def test_a_crash_that_does_not_come_again_is_still_reported(tmp_path: Path) -> None:
    replies = ask(start(), {"do": "exit once", "marker": str(tmp_path / "marker"), "n": 0}, *map(fine, range(1, 9)))
    assert isinstance(replies[0], Broken)
    assert "not again when asked alone" in replies[0].detail
    assert replies[1:] == [Result({"n": n}) for n in range(1, 9)]


def test_the_log_keeps_the_tail_of_stderr() -> None:
    side = start()
    assert call(side, Request("tokens/of_message", '{"do":"stderr flood","n":1}')) == Result({"n": 1})
    call(side, Request("tokens/of_message", '{"do":"exit","code":3}'))
    assert side.log.endswith("leaving with 3\n")
    assert len(side.log) < 10_000
    side.close()


def test_the_log_is_that_of_the_process_that_gave_the_reply() -> None:
    side = start()
    asked = [{"do": "exit", "code": 3}, {"do": "refuse", "kind": "not_editable"}, {"do": "log", "words": "of this one"}]
    logs = [side.log for _ in side.answers(Request("tokens/of_message", json.dumps(params)) for params in asked)]
    side.close()
    assert logs[0] == "leaving with 3\n"
    assert "leaving" not in logs[1]
    assert logs[2] == "of this one\n"


def test_an_adapter_that_is_closed_is_not_started_again() -> None:
    side = start()
    replies: list[Reply] = []
    waiting = threading.Thread(target=lambda: replies.extend(ask(side, {"do": "hang"}, fine(1))))
    waiting.start()
    time.sleep(0.2)
    side.close()
    waiting.join(4)
    assert [type(reply) for reply in replies] == [Broken, NotRun]
    assert side._restarts_left == 99


def test_a_spent_restart_budget_leaves_the_rest_unrun() -> None:
    replies = ask(start(restarts=4), *[{"do": "exit", "code": 1}] * 40)
    assert all(isinstance(reply, (Broken, NotRun)) for reply in replies)
    assert len(replies) == 40
    assert isinstance(replies[-1], NotRun)


def test_an_adapter_that_cannot_start_again_leaves_the_rest_unrun(tmp_path: Path) -> None:
    side = start("second start fails", str(tmp_path / "marker"))
    replies = ask(side, {"do": "exit", "code": 1}, fine(1), fine(2))
    assert [type(reply) for reply in replies] == [Broken, NotRun, NotRun]
    assert isinstance(replies[-1], NotRun)
    assert "could not be started again" in replies[-1].reason


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("banner", "Welcome to fake 1.0"),
        ("silent exit", "no configuration found"),
        ("other edition", "does not offer pi-0.87"),
        ("no name", "/implementation"),
    ],
)
def test_a_failed_handshake_says_why(mode: str, words: str) -> None:
    with pytest.raises(HandshakeFailed) as caught:
        start(mode)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("tokens/ofMessage", "tokens/of_message is one; `compaction-conformance list --operations` shows"),
        ("x" * 1_000_000, "\n  → `compaction-conformance list --operations` shows"),
        (5, "see 'Life of an adapter' in spec/protocol.md"),
    ],
    ids=["nearly one", "nothing like one", "no name"],
)
def test_what_is_no_name_of_an_operation_is_told_with_the_one_that_may_be_meant(name: Any, remedy: str) -> None:
    about = {
        "protocolVersion": 1,
        "implementation": {"name": "a", "version": "1"},
        "editions": ["pi-0.87"],
        "profiles": ["coding-agent"],
        "operations": ["tokens/from_usage", name],
    }
    with pytest.raises(HandshakeFailed, match="breaks its schema at /operations/1") as caught:
        read_description(about, "pi-0.87", "coding-agent")
    assert remedy in str(caught.value)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("printf 'Error: no such module\\n    at load (1:2)\\n\\nNode.js v20.1.0\\n'", "Error: no such module"),
        ("echo starting; echo 'adapter: no configuration'", "adapter: no configuration"),
    ],
    ids=["more after the error", "the last line"],
)
def test_a_command_that_ends_at_once_is_to_be_run_by_hand(command: str, words: str) -> None:
    with pytest.raises(HandshakeFailed) as caught:
        Stdio(["sh", "-c", f"({command}) >&2; exit 1"], edition="pi-0.87", profile="coding-agent")
    assert f"\n  its stderr: {words}\n  → the command ended before it answered; run it by hand" in str(caught.value)


def test_the_exit_code_after_the_end_of_input_is_kept() -> None:
    side = Stdio(["sh", "-c", f"{' '.join(_FAKE)}; exit 3"], edition="pi-0.87", profile="coding-agent")
    side.close()
    assert side.exit_code == 3


def test_an_operation_that_the_suite_does_not_know_stands_apart() -> None:
    side = start("unknown operation")
    side.close()
    assert side.description.operations == frozenset()
    assert side.description.unknown_operations == ("tokens/guess",)


def test_a_command_that_is_not_there_cannot_be_started() -> None:
    with pytest.raises(Unavailable, match="cannot start"):
        Stdio(["/proc/missing/adapter"], edition="pi-0.87", profile="coding-agent")
