"""One POST and its response, within bounds: to the given address only (no redirect, no proxy of the environment), once,
with a limit on bytes and on time. What goes wrong on the way is a `Lost`."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from threading import Timer
from typing import Any

import httpx

from .failure import Failed
from .target import Request, Target

MAX_BODY_BYTES = 4 << 20
MAX_SECONDS = 600.0
_OPENED = ("connection.connect_tcp.complete", "connection.start_tls.complete")


class Lost(Exception):
    """The exchange ended too early. `started`: after the status line. `silent`: nothing came any more; otherwise the
    connection was dropped."""

    def __init__(self, *, started: bool, silent: bool) -> None:
        super().__init__("silent" if silent else "dropped")
        self.started, self.silent = started, silent


class Answer:
    """A status, and a body that arrives piece by piece."""

    def __init__(self, response: httpx.Response, deadline: float) -> None:
        self.status = response.status_code
        self.phrase = response.reason_phrase
        self.headers = response.headers
        self._response = response
        self._deadline = deadline

    def chunks(self) -> Iterator[bytes]:
        """The body as it comes. Raises `Lost`, and `Failed` where there is too much of it."""
        size = 0
        try:
            for chunk in self._response.iter_raw():
                size += len(chunk)
                if size > MAX_BODY_BYTES:
                    raise Failed(f"The response has more than {MAX_BODY_BYTES} bytes")
                yield chunk
                if self._is_over():
                    break
        except httpx.TimeoutException:
            raise Lost(started=True, silent=True) from None
        except (httpx.TransportError, httpx.StreamError):
            raise Lost(started=True, silent=self._is_over()) from None
        if self._is_over():  # a body can look whole when the connection was shut down
            raise Lost(started=True, silent=True)

    def _is_over(self) -> bool:
        return time.monotonic() >= self._deadline

    def text(self) -> str:
        """The whole body as text; bytes that are no UTF-8 are replaced, a byte order mark is dropped."""
        return b"".join(self.chunks()).decode("utf-8", "replace").removeprefix("\ufeff")


@contextmanager
def post(target: Target, request: Request) -> Iterator[Answer]:
    """Send a request and hand over the response. Raises `Lost` where there is none."""
    limit = min(request.whole_seconds or MAX_SECONDS, MAX_SECONDS)
    deadline = time.monotonic() + limit
    headers = {"accept-encoding": "identity", "connection": "close", **request.headers}
    seconds = min(target.timeout, limit)
    client = httpx.Client(verify=_trusted(), timeout=seconds, trust_env=False, follow_redirects=False)
    with client, _shut_down_at(deadline) as trace:
        url = target.base_url.rstrip("/") + request.path
        try:
            wire = client.build_request("POST", url, json=request.body, headers=headers, extensions={"trace": trace})
            response = client.send(wire, stream=True)
        except httpx.InvalidURL as error:
            raise ValueError(f"{url[:200]!r} is no address: {error}") from None
        except httpx.TimeoutException:
            raise Lost(started=False, silent=True) from None
        except httpx.TransportError:
            raise Lost(started=False, silent=time.monotonic() >= deadline) from None
        try:
            yield Answer(response, deadline)
        finally:
            response.close()


@contextmanager
def _shut_down_at(deadline: float) -> Iterator[Callable[[str, Any], None]]:
    """Shuts the connection down at the deadline; what it yields is the extension `trace`, by which httpx hands over the
    socket. The time limit of httpx itself is one on the wait for each piece, and headers can drip in."""
    with ExitStack() as timers:

        def trace(event: str, told: Any) -> None:
            if event in _OPENED:
                opened = told["return_value"].get_extra_info("socket")
                timer = Timer(deadline - time.monotonic(), _shut_down, [opened])
                timer.daemon = True
                timers.callback(timer.cancel)
                timer.start()

        yield trace


def _shut_down(opened: socket.socket) -> None:
    with suppress(OSError):  # closed already
        opened.shutdown(socket.SHUT_RDWR)


@cache
def _trusted() -> ssl.SSLContext:
    return httpx.create_ssl_context(trust_env=False)
