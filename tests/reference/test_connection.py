"""A server that takes its time does not outlast the deadline of an exchange."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from compaction_reference.providers import Target, ask, connection

EVENTS = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"


def dripping(said_at_once: bytes, drop: bytes) -> Iterator[str]:
    """The address of a server that says something at once and then one more drop every few milliseconds."""
    over = threading.Event()

    def serve() -> None:
        with suppress(OSError):
            peer, _ = listener.accept()
            with peer:
                peer.recv(1 << 16)
                peer.sendall(said_at_once)
                while not over.wait(0.02):
                    peer.sendall(drop)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        over.set()
        thread.join(5)


@pytest.fixture
def dripping_headers() -> Iterator[str]:
    yield from dripping(b"HTTP/1.1 200 OK\r\nx-slow: ", b"a")


@pytest.fixture
def dripping_body() -> Iterator[str]:
    yield from dripping(EVENTS, b":")


def seconds_for(url: str, api: str, timeout: float, words: str) -> float:
    started = time.monotonic()
    message = ask(Target(url, api, "p", "m", timeout))
    assert (message["stopReason"], message["errorMessage"]) == ("error", words)
    return time.monotonic() - started


def test_headers_that_drip_end_with_the_limit_of_the_whole_exchange(dripping_headers: str) -> None:
    words = "The operation was aborted due to timeout"
    assert 0.3 <= seconds_for(dripping_headers, "mistral-conversations", 0.3, words) < 3


def test_headers_that_drip_end_with_the_limit_that_no_exchange_passes(
    dripping_headers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "MAX_SECONDS", 0.3)
    assert 0.3 <= seconds_for(dripping_headers, "openai-completions", 0.2, "Request timed out.") < 3


def test_a_limit_of_the_whole_exchange_is_no_longer_than_that_of_any_exchange(
    dripping_body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "MAX_SECONDS", 0.3)
    words = "The operation was aborted due to timeout"
    assert 0.3 <= seconds_for(dripping_body, "mistral-conversations", 60, words) < 3
