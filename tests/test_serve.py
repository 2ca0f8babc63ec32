"""The replay server: exact bytes, chunks, breaks and silence; bounds and refusals; a life that ends."""

from __future__ import annotations

import base64
import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from compaction_conformance.corpus.cases import Case, load_corpus, read_case, read_case_file
from compaction_conformance.corpus.server import Limits, ReplayServer, loopback
from compaction_conformance.errors import InvalidInput
from compaction_reference import overflow

CASES = load_corpus()
QUICK = Limits(between_frames=0, request_seconds=5, stall_seconds=0.2)
SLOW_FRAMES = Limits(between_frames=0.2, request_seconds=5, stall_seconds=5)
POST = "POST /case/{}/v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{{}}"
RAW = {one["id"]: one for path in {case.file for case in CASES} for one in read_case_file(path)["cases"]}
SERVE = [sys.executable, "-m", "compaction_conformance.cli", "serve"]


def a_case(**response: Any) -> Case:
    raw = {
        "id": "acme",
        "provider": "acme",
        "providerId": "acme",
        "api": "openai-completions",
        "response": response,
        "label": "overflow",
        "of": "input",
        "reason": "secret-reason",
        "class": "context-input",
        "disputed": False,
        "evidence": {"grade": "synthetic", "source": "ours", "seen": "2026"},
    }
    return read_case(raw, "acme", Path("acme.json"))


@pytest.fixture(scope="module")
def server() -> Iterator[ReplayServer]:
    with ReplayServer(CASES, limits=QUICK) as running:
        yield running


@pytest.fixture
def start() -> Iterator[Callable[..., ReplayServer]]:
    """Starts a server for the test's own cases."""
    with ExitStack() as stack:
        yield lambda *cases, limits=QUICK: stack.enter_context(ReplayServer(cases, limits=limits))


def connection(server: ReplayServer) -> socket.socket:
    port = urlsplit(server.url).port
    assert port
    return socket.create_connection(("127.0.0.1", port), timeout=10)


def everything(client: socket.socket) -> bytes:
    received = b""
    while piece := client.recv(1 << 16):
        received += piece
    return received


def exchange(server: ReplayServer, request: str | bytes) -> bytes:
    """All that the server sends until it closes."""
    with connection(server) as client:
        client.sendall(request.encode("latin-1") if isinstance(request, str) else request)
        return everything(client)


def refused(response: bytes) -> tuple[int, str, str]:
    """Status, code and message of a refusal of the server's own."""
    head, _, body = response.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert "x-replay-server: refused" in lines
    assert f"content-length: {len(body)}" in lines
    error = json.loads(body)["error"]
    assert error["message"].startswith("replay server: ")
    message = {"stopReason": "error", "errorMessage": f"{lines[0].split()[1]}: {body.decode()}", "provider": "cerebras"}
    assert not overflow.is_overflow(message)
    return int(lines[0].split()[1]), error["code"], error["message"]


def fetched(server: ReplayServer, path: str) -> Any:
    head, _, body = exchange(server, f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"x-replay-server" not in head
    return json.loads(body)


def expected_bytes(raw: dict[str, Any]) -> bytes:
    """What the file says that the server sends, put together here without the server's own code."""
    if "status" not in raw:
        return b""
    before_3_13 = {413: "Request Entity Too Large", 416: "Requested Range Not Satisfiable", 422: "Unprocessable Entity"}
    phrase = ({status.value: status.phrase for status in HTTPStatus} | before_3_13).get(raw["status"], "")
    head = f"HTTP/1.1 {raw['status']} {phrase}\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in raw.get("headers", {}).items())
    if "frames" not in raw:
        body = base64.b64decode(raw["bodyBase64"]) if "bodyBase64" in raw else raw["body"].encode()
        return f"{head}content-length: {len(body)}\r\nconnection: close\r\n\r\n".encode() + body
    sent = f"{head}transfer-encoding: chunked\r\nconnection: close\r\n\r\n".encode()
    for frame in raw["frames"]:
        data = frame.encode() if isinstance(frame, str) else base64.b64decode(frame["base64"])
        sent += f"{len(data):x}\r\n".encode() + data + b"\r\n"
    return sent + (b"0\r\n\r\n" if raw.get("end", "close") == "close" else b"")


# Responses


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_case_is_served_byte_by_byte(server: ReplayServer, case: Case) -> None:
    assert exchange(server, POST.format(case.id)) == expected_bytes(RAW[case.id]["response"])


def test_frames_are_sent_one_at_a_time(start: Callable[..., ReplayServer]) -> None:
    server = start(a_case(status=200, frames=["one", "two"]), limits=SLOW_FRAMES)
    with connection(server) as client:
        client.sendall(POST.format("acme").encode())
        pieces = []
        while piece := client.recv(1 << 16):
            pieces.append(piece)
    assert pieces[0].endswith(b"\r\n\r\n")
    assert pieces[1:] == [b"3\r\none\r\n", b"3\r\ntwo\r\n", b"0\r\n\r\n"]


def test_a_cut_response_ends_without_an_end_mark(start: Callable[..., ReplayServer]) -> None:
    server = start(a_case(status=200, frames=["one"], end="cut"))
    assert exchange(server, POST.format("acme")).endswith(b"3\r\none\r\n")


def test_a_stalled_response_stays_silent_until_its_bound(start: Callable[..., ReplayServer]) -> None:
    server = start(a_case(frames=[], end="stall"))
    began = time.monotonic()
    assert exchange(server, POST.format("acme")) == b""
    assert 0.2 <= time.monotonic() - began < 3


def test_a_client_that_leaves_a_stalled_response_frees_its_place(start: Callable[..., ReplayServer]) -> None:
    limits = Limits(stall_seconds=60, serving=1, waiting=4)
    server = start(a_case(frames=[], end="stall"), limits=limits)
    with connection(server) as client:
        client.sendall(POST.format("acme").encode())
        time.sleep(0.1)
    assert fetched(server, "/")["cases"]


@pytest.mark.parametrize(
    "path",
    [
        "/case/acme",
        "/case/acme/",
        "/case/acme/v1/messages?beta=true",
        "/case/acme/models/m:streamGenerateContent?alt=sse",
    ],
)
def test_the_rest_of_the_path_is_the_client_s(start: Callable[..., ReplayServer], path: str) -> None:
    server = start(a_case(status=418, body="tea", headers={"content-type": "text/plain"}))
    sent = exchange(server, f"POST {path} HTTP/1.1\r\nHost: x\r\n\r\n")
    assert sent.startswith(b"HTTP/1.1 418 I'm a Teapot\r\ncontent-type: text/plain\r\n")
    assert sent.endswith(b"\r\n\r\ntea")


@pytest.mark.parametrize(
    "head",
    ["\r\nPOST /case/acme/v1", "POST http://127.0.0.1:1/case/acme/v1", "POST HTTP://x/case/acme?q=http://y"],
    ids=["after an empty line", "whole address", "whole address with a query"],
)
def test_a_request_may_begin_otherwise(start: Callable[..., ReplayServer], head: str) -> None:
    server = start(a_case(status=400, body="here"))
    assert exchange(server, f"{head} HTTP/1.1\r\nHost: x\r\n\r\n").endswith(b"\r\n\r\nhere")


def test_a_client_that_waits_for_leave_to_go_on_gets_it(start: Callable[..., ReplayServer]) -> None:
    server = start(a_case(status=400, body=""))
    with connection(server) as client:
        client.sendall(b"POST /case/acme/x HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
        assert client.recv(1 << 16) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(b"{}")
        assert everything(client).startswith(b"HTTP/1.1 400 Bad Request\r\n")


def test_a_chunked_request_is_read_to_its_end(start: Callable[..., ReplayServer]) -> None:
    server = start(a_case(status=400, body=""))
    head = b"POST /case/acme/x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert exchange(server, head + b"2;x=y\r\n{}\r\n0\r\nTrailer: x\r\n\r\n").startswith(b"HTTP/1.1 400 ")


# Pages


def test_the_list_holds_every_case_and_no_label(server: ReplayServer) -> None:
    listed = fetched(server, "/")["cases"]
    assert [one["id"] for one in listed] == [case.id for case in CASES]
    for one in listed:
        assert set(one) == {"id", "api", "provider", "model", "contextWindow", "baseUrl"}
        assert one["baseUrl"] == server.base_url(one["id"])


def test_one_case_is_described_without_its_label(start: Callable[..., ReplayServer]) -> None:
    server = start(a_case(status=400, body="secret-body"))
    for path in ("/case/acme", "/case/acme/", "/case/%61cme"):
        text = json.dumps(fetched(server, path))
        assert '"id": "acme"' in text
        assert "secret" not in text
        assert "input" not in text


# Refusals


@pytest.mark.parametrize(
    ("path", "status", "code", "message"),
    [
        ("/case/../etc/passwd", 404, "bad_id", '"/case/../etc/passwd" is no case id'),
        ("/case/%2e%2e/x", 404, "bad_id", '"/case/../x" is no case id'),
        ("/case/acme/../acme/x", 404, "bad_id", '"/case/acme/../acme/x" is no case id'),
        ("/case/acme%2f..%2f..%2fx", 404, "bad_id", "is no case id"),
        ("/case/ACME/x", 404, "bad_id", '"ACME" is no case id'),
        ("/case//x", 404, "bad_id", '"" is no case id'),
        ("/case/a%00b/x", 404, "bad_id", r'"a\x00b" is no case id'),
        ("/case/" + "a" * 5000 + "/x", 404, "unknown_case", f'"{"a" * 80}"'),
        ("/case/nothing-here/v1/messages", 404, "unknown_case", 'there is no case "nothing-here"; / lists the cases'),
        ("/other", 404, "unknown_path", 'there is nothing at "/other"; / lists the cases'),
        ("/", 405, "bad_method", '"POST" is not answered here; GET is'),
    ],
)
def test_a_path_that_leads_to_no_case_is_refused(
    start: Callable[..., ReplayServer], path: str, status: int, code: str, message: str
) -> None:
    server = start(a_case(status=400, body=""))
    answer = refused(exchange(server, f"POST {path} HTTP/1.1\r\nHost: x\r\n\r\n"))
    assert answer[:2] == (status, code)
    assert message in answer[2]


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "OPTIONS"])
def test_only_a_post_gets_the_response(start: Callable[..., ReplayServer], method: str) -> None:
    server = start(a_case(status=400, body=""))
    assert refused(exchange(server, f"{method} /case/acme/v1/models HTTP/1.1\r\n\r\n"))[:2] == (405, "bad_method")


@pytest.mark.parametrize(
    ("request_bytes", "status", "code"),
    [
        (b"hello\r\n\r\n", 400, "no_http"),
        (b"POST / SPDY/3\r\n\r\n", 400, "no_http"),
        (b"\x16\x03\x01\x02\x00\r\n", 400, "no_http"),
        (b"POST / HTTP/1.1\r\nno colon here\r\n\r\n", 400, "no_header"),
        (b"POST / HTTP/1.1\r\n" + b"a: b\r\n" * 200 + b"\r\n", 431, "many_headers"),
        (b"POST /" + b"a" * (1 << 17), 431, "long_line"),
        (b"POST / HTTP/1.1\r\na: " + b"a" * (1 << 17), 431, "long_line"),
        (b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400, "bad_length"),
        (b"POST / HTTP/1.1\r\nContent-Length: many\r\n\r\n", 400, "bad_length"),
        (b"POST / HTTP/1.1\r\nContent-Length: " + b"9" * 50 + b"\r\n\r\n", 400, "bad_length"),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", 400, "bad_chunk"),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", 400, "bad_chunk"),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + b"a: b\r\n" * 200, 431, "many_headers"),
    ],
)
def test_what_is_no_request_is_refused(server: ReplayServer, request_bytes: bytes, status: int, code: str) -> None:
    assert refused(exchange(server, request_bytes))[:2] == (status, code)


def test_a_body_that_ends_early_is_refused(server: ReplayServer) -> None:
    with connection(server) as client:
        client.sendall(b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\n{}")
        client.shutdown(socket.SHUT_WR)
        assert refused(everything(client))[:2] == (400, "torn_body")


def test_a_connection_without_a_request_is_closed(server: ReplayServer) -> None:
    with connection(server) as client:
        client.shutdown(socket.SHUT_WR)
        assert everything(client) == b""


@pytest.mark.parametrize("chunked", [False, True], ids=["with a length", "chunked"])
def test_a_body_over_the_limit_is_refused_while_it_is_being_sent(server: ReplayServer, chunked: bool) -> None:
    size = (4 << 20) + 1
    with connection(server) as client:
        framing = b"Transfer-Encoding: chunked" if chunked else b"Content-Length: %d" % size
        client.sendall(b"POST /case/openai-stop/x HTTP/1.1\r\n" + framing + b"\r\n\r\n")
        client.sendall((b"%x\r\n" % size if chunked else b"") + b"a" * (256 << 10))
        status, code, message = refused(everything(client))
    assert (status, code) == (413, "body_limit")
    assert "4194304 are taken" in message


def test_a_body_at_the_limit_is_taken(server: ReplayServer) -> None:
    size = 4 << 20
    request = b"POST /case/openai-401/x HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % size + b"a" * size
    assert exchange(server, request).startswith(b"HTTP/1.1 401 Unauthorized\r\n")


def test_a_request_that_takes_too_long_is_refused(start: Callable[..., ReplayServer]) -> None:
    server = start(a_case(status=400, body=""), limits=Limits(request_seconds=0.2))
    assert refused(exchange(server, b"POST / HTTP/1.1\r\n"))[:2] == (408, "too_slow")


def test_more_connections_than_may_wait_are_refused(start: Callable[..., ReplayServer]) -> None:
    server = start(a_case(status=400, body="x"), limits=Limits(request_seconds=2, serving=1, waiting=1))
    with connection(server), connection(server):
        time.sleep(0.1)
        assert refused(exchange(server, b""))[:2] == (503, "busy")


def test_many_requests_at_once_are_all_answered(start: Callable[..., ReplayServer]) -> None:
    server = start(a_case(status=400, body="x"), limits=Limits(serving=4, waiting=256))
    with ExitStack() as stack:
        clients = [stack.enter_context(connection(server)) for _ in range(100)]
        for client in clients:
            client.sendall(POST.format("acme").encode())
        assert all(everything(client).endswith(b"\r\n\r\nx") for client in clients)


# Address and life


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "192.168.1.1", "example.com", "", "127.0.0.1.evil.org", "fe80::1%lo"]
)
def test_an_address_that_others_reach_is_refused(host: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        ReplayServer(CASES, host=host)
    assert "is no address of the loopback interface" in str(caught.value)
    assert "give 127.0.0.1, ::1 or localhost" in str(caught.value)


def test_loopback_addresses_are_taken() -> None:
    assert [loopback(host) for host in ("localhost", "127.0.0.1", "127.1.2.3", "::1", "[::1]")] == [
        "127.0.0.1",
        "127.0.0.1",
        "127.1.2.3",
        "::1",
        "::1",
    ]


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_number_that_is_no_port_is_refused(port: int) -> None:
    with pytest.raises(InvalidInput, match="is no port"):
        ReplayServer(CASES, port=port)


def test_a_port_that_is_taken_is_told(server: ReplayServer) -> None:
    port = urlsplit(server.url).port
    assert port
    second = ReplayServer(CASES, port=port)
    with pytest.raises(InvalidInput, match="cannot listen"):
        second.start()
    second.stop()


def test_a_server_ends_its_connections_and_may_be_stopped_twice() -> None:
    server = ReplayServer([a_case(frames=[], end="stall")], limits=Limits(stall_seconds=60))
    server.start()
    with connection(server) as client:
        client.sendall(POST.format("acme").encode())
        time.sleep(0.1)
        began = time.monotonic()
        server.stop()
        assert everything(client) == b""
    server.stop()
    assert time.monotonic() - began < 3
    with pytest.raises(OSError, match="refused"):
        connection(server)


@pytest.mark.parametrize("end", ["stdin", "SIGTERM", "SIGINT"])
def test_the_served_corpus_ends_by_itself(end: str) -> None:
    command = [*SERVE, "--until-stdin-closes"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        address = process.stdout.readline().decode().strip()
        port = urlsplit(address).port
        assert address == f"http://127.0.0.1:{port}"
        with socket.create_connection(("127.0.0.1", port or 0), timeout=10) as client:
            client.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert everything(client).startswith(b"HTTP/1.1 200 OK\r\n")
        if end == "stdin":
            process.stdin.close()
        else:
            process.send_signal(getattr(signal, end))
        assert process.wait(10) == 0
        assert process.stdout.read() == b""
        assert process.stderr
        assert process.stderr.read() == b""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_end_of_standard_input_alone_does_not_end_it(number: signal.Signals) -> None:
    """So it is where a shell starts it with `&`, as in CI."""
    with subprocess.Popen(SERVE, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        assert process.stdout
        port = urlsplit(process.stdout.readline().decode().strip()).port
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.5)
        with socket.create_connection(("127.0.0.1", port or 0), timeout=10) as client:
            client.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert everything(client).startswith(b"HTTP/1.1 200 OK\r\n")
        process.send_signal(number)
        assert process.wait(10) == 0
