"""The reference asks providers as Pi's clients do, and reads whatever they answer."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
import respx

from compaction_conformance.cli import main
from compaction_conformance.connect import REFERENCE, Settings, connect
from compaction_conformance.corpus.cases import MODEL, Case, find_case, load_corpus, read_response
from compaction_conformance.corpus.replay_http import wire
from compaction_conformance.corpus.replay_mock import mock_response, mocked
from compaction_conformance.corpus.response_rules import RECORDED, rules_of
from compaction_conformance.corpus.response_vectors import response_vectors
from compaction_conformance.corpus.server import Limits, ReplayServer
from compaction_conformance.expectation import ExpectReading, Result
from compaction_conformance.implementation import Description
from compaction_conformance.paths import spec_dir
from compaction_conformance.run import FAILED, PASSED, run
from compaction_conformance.spec import load_spec
from compaction_reference import operations
from compaction_reference.errors import Refusal
from compaction_reference.overflow import is_overflow
from compaction_reference.providers import STYLES, Target, ask, connection
from compaction_reference.providers.complaint import complaint

CASES = load_corpus()
BASE = "http://127.0.0.1:9/case"
SSE = {"content-type": "text/event-stream"}
JSON = {"content-type": "application/json"}


def target_of(case: Case, url: str, timeout: float = 10.0) -> Target:
    return Target(f"{url}/{case.id}", case.api, case.provider_id, MODEL, timeout)


def stored(message: dict[str, Any]) -> dict[str, Any]:
    assert message.pop("timestamp") > 1_600_000_000_000
    return message


def asked(api: str, raw: dict[str, Any], provider: str = "p") -> dict[str, Any]:
    """What is stored for a response that a mock sends."""
    with respx.mock() as router:
        router.post(url__startswith=BASE).mock(side_effect=lambda request: mock_response(read_response(raw), request))
        return stored(ask(Target(f"{BASE}/x", api, provider, MODEL)))


@pytest.fixture(scope="module")
def through_the_server() -> dict[str, dict[str, Any]]:
    """The message for every case, by id; a stalled one ends by its time limit."""

    def one(case: Case) -> dict[str, Any]:
        return stored(ask(target_of(case, f"{server.url}/case", 0.4 if case.response.end == "stall" else 10.0)))

    with ReplayServer(CASES, limits=Limits(between_frames=0.005)) as server, ThreadPoolExecutor(8) as pool:
        return dict(zip((case.id for case in CASES), pool.map(one, CASES), strict=True))


def test_every_stored_message_is_the_recorded_one(through_the_server: dict[str, dict[str, Any]]) -> None:
    for case in CASES:
        message, answer = through_the_server[case.id], case.answers[RECORDED]
        assert (message["stopReason"], message.get("errorMessage")) == (answer.stop_reason, answer.error_message), (
            case.id
        )
        assert is_overflow(message, case.context_window) == answer.overflow, case.id


def test_a_mock_and_the_real_server_give_the_same_message(through_the_server: dict[str, dict[str, Any]]) -> None:
    with respx.mock() as router:
        router.post(url__startswith=BASE).mock(side_effect=mocked(CASES))
        for case in CASES:
            assert stored(ask(target_of(case, BASE))) == through_the_server[case.id], case.id


def test_the_server_and_the_mock_speak_of_a_status_in_the_same_words() -> None:
    for status in sorted({case.response.status for case in CASES if case.response.status}):
        response = read_response({"status": status, "body": ""})
        line = next(wire(response)).partition(b"\r\n")[0].decode()
        mock = mock_response(response, httpx.Request("POST", BASE))
        assert line == f"HTTP/1.1 {status} {mock.reason_phrase}"


def test_every_style_is_in_the_corpus() -> None:
    assert {case.api for case in CASES} == set(STYLES)


# ---- the request -----------------------------------------------------------------------------------------------------

REQUESTS: dict[str, tuple[str, str, Callable[[Any], bool]]] = {
    "openai-completions": ("/chat/completions", "authorization", lambda body: body["stream"]),
    "openai-responses": ("/responses", "authorization", lambda body: body["stream"] and body["input"]),
    "anthropic-messages": ("/v1/messages", "x-api-key", lambda body: body["stream"] and body["max_tokens"]),
    "google-generative-ai": (
        "/models/a%2Fb:streamGenerateContent?alt=sse",
        "x-goog-api-key",
        lambda body: body["contents"][0]["parts"],
    ),
    "mistral-conversations": ("/v1/chat/completions", "authorization", lambda body: body["stream"]),
    "bedrock-converse-stream": ("/model/a%2Fb/converse-stream", "authorization", lambda body: body["messages"]),
    "ollama": ("/v1/chat/completions", "authorization", lambda body: body["stream"]),
}


@pytest.mark.parametrize("api", STYLES)
def test_a_request_has_the_path_the_key_and_the_stream_of_its_style(api: str) -> None:
    path, header, streams = REQUESTS[api]
    with respx.mock() as router:
        route = router.post(url__startswith="http://127.0.0.1").respond(400, text="no")
        ask(Target("http://127.0.0.1:9/base/", api, "p", "a/b", key="the-key"))
    request = route.calls.last.request
    assert route.call_count == 1
    assert request.url.raw_path.decode() == f"/base{path}"
    assert "the-key" in request.headers[header]
    assert request.headers["accept-encoding"] == "identity"
    assert streams(json.loads(request.content))


@pytest.mark.parametrize("status", [302, 307, 429, 503])
def test_a_request_is_sent_once_and_no_redirect_is_followed(status: int) -> None:
    headers = {"location": "http://127.0.0.1:9/elsewhere", "retry-after": "0"}
    with respx.mock() as router:
        route = router.route().respond(status, headers=headers, text="moved")
        message = ask(Target(BASE, "openai-completions", "p", MODEL))
    assert route.call_count == 1
    assert message["errorMessage"] == f"{status} moved"


def test_a_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    case = find_case(CASES, "openai-stop")
    with ReplayServer([case]) as server:
        assert ask(target_of(case, f"{server.url}/case"))["stopReason"] == "stop"


@pytest.mark.parametrize(
    "url", ["ftp://127.0.0.1/", "file:///etc/hosts", "127.0.0.1", "http://", "http://h?a=1", "http://[::1"]
)
def test_what_is_no_http_address_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"base address|IPv6"):
        Target(url, "openai-completions", "p", MODEL)


# ---- other responses, each as Pi's client was seen to read it --------------------------------------------------------

OBSERVED = [
    ("openai-completions", '{"error":{"code":1}}', '400 {"code":1}'),
    ("openai-completions", '{"error":{"message":{"a":1.0}}}', '400: {"message":{"a":1}}'),
    ("openai-completions", '{"error":{"2":1,"1":2,"message":"m"}}', '400: {"1":2,"2":1,"message":"m"}'),
    ("openai-completions", '{"error":["a",1]}', '400 ["a",1]'),
    ("openai-completions", '{"error":null}', "400 status code (no body)"),
    ("openai-completions", "[]", "400 status code (no body)"),
    ("openai-completions", "null", "400 null"),
    ("openai-completions", '\ufeff{"error":{"message":"m"}}', '400: {"message":"m"}'),
    (
        "openai-completions",
        '{"error":{"message":"x","metadata":{"raw":["a","b"]}}}',
        '400: {"message":"x","metadata":{"raw":["a","b"]}}\na,b',
    ),
    ("openai-responses", '{"error":5}', "p API error (400): 400 5"),
    ("anthropic-messages", '{"message":{"x":[1e21,1.50]}}', '400 {"x":[1e+21,1.5]}'),
    ("anthropic-messages", "{}", "400 {}"),
    (
        "google-generative-ai",
        '{"error":{"message":"a"}',
        "Expected ',' or '}' after property value in JSON at position 24 (line 1 column 25)",
    ),
    ("google-generative-ai", "   ", "Unexpected end of JSON input"),
    ("mistral-conversations", ' {"a":1.50} ', 'Mistral API error (400): {"a":1.50}'),
    ("mistral-conversations", " \n", "Mistral API error (400): Bad Request"),
    ("bedrock-converse-stream", '{"__type":"ns#ValidationException","message":"t"}', "Validation error: t"),
    ("bedrock-converse-stream", '{"code":"ThrottlingException","Message":"t"}', "Throttling error: t"),
    ("bedrock-converse-stream", '{"message":"a","error":{"b":1}}', 'Unknown: 400: {"b":1}'),
    ("bedrock-converse-stream", "[]", "Unknown: UnknownError"),
]


@pytest.mark.parametrize(("api", "body", "text"), OBSERVED)
def test_an_odd_error_body_reads_as_it_does_in_pi(api: str, body: str, text: str) -> None:
    message = asked(api, {"status": 400, "headers": JSON, "body": body})
    assert (message["stopReason"], message["errorMessage"]) == ("error", text)


def chunk(delta: str, reason: str = "null", more: str = "") -> str:
    return f'data: {{"choices":[{{"index":0,"delta":{delta},"finish_reason":{reason}}}]{more}}}\n\n'


OBSERVED_STREAMS = [
    ("openai-completions", 'data: {"error":"text"}\n\n', "error", '"text"'),
    ("openai-completions", 'data: {"error":{"message":"m","metadata":{"raw":"rr"}}}\n\n', "error", "m\nrr"),
    ("openai-completions", "data: not json\n\n", "error", "Unexpected token 'o', \"not json\" is not valid JSON"),
    ("openai-completions", 'data: {"error":{"message":"m"}}', "error", "Stream ended without finish_reason"),
    ("openai-completions", 'data: {"error":\ndata: {"message":"two"}}\n\n', "error", "two"),
    ("openai-completions", chunk("{}", '"end"'), "stop", None),
    ("openai-completions", chunk("{}", '"model_length"'), "error", "Provider finish_reason: model_length"),
    ("openai-responses", 'data: {"type":"error","code":"c","message":"m"}\n\n', "error", "Error Code c: m"),
    (
        "openai-responses",
        'data: {"type":"response.completed","response":{"status":"odd"}}\n\n',
        "error",
        "Unhandled stop reason: odd",
    ),
    (
        "openai-responses",
        'data: {"type":"response.failed","response":{"incomplete_details":{"reason":"r"}}}\n\n',
        "error",
        "incomplete: r",
    ),
    ("anthropic-messages", "event: error\ndata: plain words\n\n", "error", "plain words"),
    (
        "anthropic-messages",
        "event: message_delta\ndata: x\n\n",
        "error",
        "Could not parse Anthropic SSE event message_delta: Unexpected token 'x', \"x\" is not valid JSON; data=x; "
        "raw=event: message_delta\\ndata: x",
    ),
    (
        "anthropic-messages",
        'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\n',
        "stop",
        None,
    ),
    (
        "google-generative-ai",
        '{"error":{"code":400,"status":"BAD","message":"m"}}',
        "error",
        'got status: BAD. {"error":{"code":400,"status":"BAD","message":"m"}}',
    ),
    ("google-generative-ai", "<html>", "error", "Incomplete JSON segment at the end"),
    ("google-generative-ai", 'data: {"candidates":[{"finishReason":"O"}]}\n\n', "error", "Unhandled stop reason: O"),
    ("mistral-conversations", "data: 5\n\n", "error", "Invalid Mistral streaming event"),
    ("mistral-conversations", chunk("{}", '"stop"') + "data: [DONE]\n\nrubbish\n\n", "stop", None),
    ("bedrock-converse-stream", "<html>no stream</html>", "error", "Truncated event message received."),
]


@pytest.mark.parametrize(("api", "body", "stop_reason", "text"), OBSERVED_STREAMS)
def test_an_odd_stream_reads_as_it_does_in_pi(api: str, body: str, stop_reason: str, text: str | None) -> None:
    message = asked(api, {"status": 200, "headers": SSE, "body": body})
    assert message["stopReason"] == stop_reason
    assert (message.get("errorMessage") or "").partition("\n  Deserialization")[0] == (text or "")


def test_a_reply_keeps_text_thoughts_calls_and_usage() -> None:
    call = '{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{\\"a\\":"}}]}'
    rest = '{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}'
    spent = ',"usage":{"prompt_tokens":100,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":40}}'
    body = chunk('{"content":"he","reasoning":"hm"}') + chunk('{"content":"y"}') + chunk(call)
    message = asked(
        "openai-completions", {"status": 200, "headers": SSE, "body": body + chunk(rest, '"tool_calls"', spent)}
    )
    assert message == {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "hey"},
            {"type": "thinking", "thinking": "hm"},
            {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"a": 1}},
        ],
        "api": "openai-completions",
        "provider": "p",
        "model": MODEL,
        "usage": {
            "input": 60,
            "output": 5,
            "cacheRead": 40,
            "cacheWrite": 0,
            "totalTokens": 105,
            "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0},
        },
        "stopReason": "toolUse",
    }


def test_what_came_before_a_failure_is_kept() -> None:
    raw = {"status": 200, "headers": SSE, "frames": [chunk('{"content":"half"}')], "end": "cut"}
    message = asked("openai-completions", raw)
    assert (message["content"], message["errorMessage"]) == ([{"type": "text", "text": "half"}], "terminated")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "Unexpected end of JSON input"),
        ("[1,]", "Unexpected token ']', \"[1,]\" is not valid JSON"),
        ('{"a":1,}', "Expected double-quoted property name in JSON at position 7 (line 1 column 8)"),
        ('{"a" 1}', "Expected ':' after property name in JSON at position 5 (line 1 column 6)"),
        ("{\r\nx", "Expected property name or '}' in JSON at position 3 (line 2 column 1)"),
        ('"x', "Unterminated string in JSON at position 2 (line 1 column 3)"),
        ('"\\q"', "Bad escaped character in JSON at position 2 (line 1 column 3)"),
        ('"\\u12g4"', "Bad Unicode escape in JSON at position 5 (line 1 column 6)"),
        ('"\t"', "Bad control character in string literal in JSON at position 1 (line 1 column 2)"),
        ("-", "No number after minus sign in JSON at position 1 (line 1 column 2)"),
        ("1.", "Unterminated fractional number in JSON at position 2 (line 1 column 3)"),
        ("1e", "Exponent part is missing a number in JSON at position 2 (line 1 column 3)"),
        ("01", "Unexpected number in JSON at position 1 (line 1 column 2)"),
        ('{"a":1} x', "Unexpected non-whitespace character after JSON at position 8 (line 1 column 9)"),
        ("<!DOCTYPE html><html></html>", "Unexpected token '<', \"<!DOCTYPE \"... is not valid JSON"),
        ("[1,2,3,4,5,6,7,8,9,x,1,2,3,4,5,6]", "Unexpected token 'x', ...\"5,6,7,8,9,x,1,2,3,4,\"... is not valid JSON"),
    ],
)
def test_the_parser_complains_in_the_words_of_node(text: str, words: str) -> None:
    assert complaint(text) == words


# ---- hostile responses -----------------------------------------------------------------------------------------------


class Endless(httpx.SyncByteStream):
    """A body that never ends."""

    def __init__(self, piece: bytes) -> None:
        self._piece = piece

    def __iter__(self) -> Iterator[bytes]:
        while True:
            yield self._piece


@pytest.mark.parametrize("api", STYLES)
@pytest.mark.parametrize("status", [200, 400])
def test_a_body_without_end_is_given_up(api: str, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MAX_BODY_BYTES", 1 << 18)
    piece = b"data: {}\n\n" if api != "mistral-conversations" else b": ping\n\n"
    if api == "bedrock-converse-stream":
        piece = b"\x7f" + bytes(1 << 16)
    with respx.mock() as router:
        router.route().mock(return_value=httpx.Response(status, headers=SSE, stream=Endless(piece * 1000)))
        message = ask(Target(BASE, api, "p", MODEL))
    assert message["stopReason"] == "error"
    assert f"more than {1 << 18} bytes" in message["errorMessage"]


def test_a_body_that_drips_is_given_up_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MAX_SECONDS", 0.05)
    with respx.mock() as router:
        router.route().mock(return_value=httpx.Response(200, headers=SSE, stream=Endless(b":")))
        started = time.monotonic()
        message = ask(Target(BASE, "openai-completions", "p", MODEL))
    assert message["errorMessage"] == "terminated"
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("api", [api for api in STYLES if api != "mistral-conversations"])
def test_a_body_nested_too_deeply_is_an_error_and_no_crash(api: str) -> None:
    for deep in ('{"error":' * 400 + "1" + "}" * 400, "[" * 100_000):
        message = asked(api, {"status": 500, "headers": JSON, "body": deep})
        assert message["stopReason"] == "error"
        assert message["errorMessage"]


@pytest.mark.parametrize("odd", ["1e999", "-1e999", "null", '"7"', "[]", "{}", "true", "9" * 400])
def test_usage_that_is_no_number_counts_nothing(odd: str) -> None:
    spent = f',"usage":{{"prompt_tokens":{odd},"completion_tokens":{odd}}}'
    body = chunk("{}", '"stop"', spent)
    message = asked("openai-completions", {"status": 200, "headers": SSE, "body": body})
    assert message["usage"]["totalTokens"] == 0
    json.dumps(message, allow_nan=False)


@pytest.mark.parametrize(
    "api", ["openai-completions", "openai-responses", "anthropic-messages", "google-generative-ai"]
)
@pytest.mark.parametrize("odd", ["5", '"x"', "[]", "[5]", "{}", "null", '[{"a":[]}]', '{"a":5}'])
def test_data_of_any_shape_are_read_without_a_crash(api: str, odd: str) -> None:
    members = (
        "choices",
        "usage",
        "delta",
        "response",
        "item",
        "message",
        "content_block",
        "candidates",
        "usageMetadata",
    )
    whole = ",".join(f'"{name}":{odd}' for name in members)
    types = ("message_start", "content_block_start", "content_block_delta", "message_delta", "response.completed")
    types += ("response.output_item.added", "response.output_item.done", "response.output_text.delta")
    body = "".join(f'event: {kind}\ndata: {{"type":"{kind}",{whole}}}\n\ndata: {odd}\n\n' for kind in types)
    message = asked(api, {"status": 200, "headers": SSE, "body": body})
    assert message["stopReason"] in ("stop", "error")


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (bytes(16), "too short"),
        (b"\x00\x00\x00\x10" + bytes(12), "prelude checksum"),
        (b"\x00\x00\x00\x14\x00\x00\x00\x00" + b"\x1d\x2e\x3f\x40" + bytes(8), "prelude checksum"),
        (b"\x00\x00\x01\x00" + bytes(40), "Truncated"),
    ],
)
def test_a_broken_binary_message_is_told(frame: bytes, words: str) -> None:
    raw = {"status": 200, "headers": {}, "frames": [{"base64": base64.b64encode(frame).decode()}]}
    message = asked("bedrock-converse-stream", raw)
    assert message["stopReason"] == "error"
    assert words in message["errorMessage"]


# ---- the operation ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"), [("baseUrl", "ftp://127.0.0.1"), ("api", "gopher"), ("model", 5), ("timeoutMs", "1")]
)
def test_params_that_are_none_are_refused(name: str, value: Any) -> None:
    params = {"baseUrl": BASE, "api": "ollama", "provider": "p", "model": "m", name: value}
    with pytest.raises(Refusal) as refused:
        operations.call("overflow/classify", params)
    assert refused.value.kind == "malformed_input"


def test_without_its_library_the_operation_is_not_declared() -> None:
    program = (
        "import sys; sys.modules['httpx'] = None\n"
        "from compaction_reference import operations\n"
        "print('overflow/classify' in operations.describe()['operations'], len(operations.OPERATIONS))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["False", str(len(operations.OPERATIONS) - 1)]


def test_the_reference_loads_no_library_before_it_is_asked() -> None:
    program = "import sys; from compaction_reference import operations; print('httpx' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "False"


# ---- the rules -------------------------------------------------------------------------------------------------------


def test_the_case_files_hold_the_rules_that_style_and_shape_give() -> None:
    assert {case.id: case.requirements for case in CASES} == {case.id: rules_of(case) for case in CASES}


def test_every_rule_of_the_chapter_is_what_a_case_is_about() -> None:
    spec = load_spec(spec_dir())
    about = Counter(vector.requirement.id for vector in response_vectors(CASES, spec))
    assert [rule for rule in spec.requirements if rule.startswith("RSP-") and not about[rule]] == []


class Scripted:
    """An implementation that answers every case in the same way."""

    def __init__(self, answer: Callable[[Case], dict[str, Any]]) -> None:
        self.description: Description = connect(REFERENCE, Settings()).description
        self.log = ""
        self._answer = answer

    def answers(self, requests: Any) -> Iterator[Result]:
        for request in requests:
            case_id = json.loads(request.params_text)["baseUrl"].rpartition("/")[2]
            yield Result(self._answer(find_case(CASES, case_id)))

    def close(self) -> None:
        pass


def judged(answer: Callable[[Case], dict[str, Any]]) -> dict[str, Any]:
    report = run(Scripted(answer), response_vectors(CASES, load_spec(spec_dir())))
    return {outcome.vector.id.removeprefix("RSP-"): outcome for outcome in report.outcomes}


def test_the_same_words_for_everything_meet_no_must() -> None:
    outcomes = judged(lambda case: {"stopReason": "error", "errorMessage": "It failed.", "overflow": case.overflow})
    assert {outcome.status for outcome in outcomes.values() if outcome.vector.level == "MUST"} == {FAILED}
    assert outcomes["no-response-openai"].verdict.reading == "own-words"
    assert outcomes["silent-server-bedrock"].verdict.reading == "error"
    assert outcomes["sglang-longer-than"].status == FAILED


def test_the_whole_body_and_its_status_take_the_other_readings() -> None:
    outcomes = judged(
        lambda case: {
            "stopReason": "error",
            "errorMessage": f"{case.response.status}: {case.response.text}",
            "overflow": case.overflow,
        }
    )
    readings = {
        outcome.verdict.reading
        for outcome in outcomes.values()
        if outcome.status == PASSED and isinstance(outcome.vector.expect, ExpectReading)
    }
    assert readings >= {"kept", "told", "partial", "whole", "own-words", "error", "native"}


def test_a_verdict_that_is_wrong_fails_where_pi_is_right() -> None:
    outcomes = judged(
        lambda case: {
            "stopReason": case.answers[RECORDED].stop_reason,
            "errorMessage": case.answers[RECORDED].error_message,
            "overflow": not case.answers[RECORDED].overflow,
        }
    )
    right = {case.id for case in CASES if case.answers[RECORDED].overflow == case.overflow}
    assert {name for name, outcome in outcomes.items() if outcome.status == FAILED} == right


def test_the_reference_is_short_enough_to_be_read() -> None:
    folder = Path(connection.__file__).parent
    lengths = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in folder.glob("*.py")}
    assert max(lengths.values()) <= 160
    assert sum(lengths.values()) <= 1500


def test_a_run_counts_the_cases_and_a_reproduction_is_served_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["run", "--only", "RSP-22", "--implementation", "python:wrong_reader"]) == 1
    shown = capsys.readouterr().out
    assert "RSP-22" in shown
    assert "Provider responses" in shown
    failed = tmp_path / "repro" / "RSP-kiro-content-length.jsonl"
    assert main(["replay", str(failed)]) == 0
    assert "meets RSP-kiro-content-length" in capsys.readouterr().out
    assert main(["replay", str(failed), "--implementation", "python:wrong_reader"]) == 1


def test_who_does_not_declare_the_operation_is_not_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--only", "RSP-22", "--implementation", "python:wrong_reader:SILENT"]) == 3
    assert "Provider responses" not in capsys.readouterr().out
