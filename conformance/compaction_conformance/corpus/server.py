"""The replay server: the responses of the overflow corpus with exact bytes, for HTTP clients in any language.

It listens on the loopback interface and nowhere else, and keeps nothing of what it is sent.

    GET /            the cases as JSON: id, API style, provider, model, window, base address
    GET /case/ID     one of them
    POST /case/ID/…  its response, whatever the rest of the path is

A response that belongs to no case carries the header `x-replay-server: refused`.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import signal
import sys
import threading
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TextIO

from compaction_conformance.corpus.cases import Case, load_corpus
from compaction_conformance.corpus.replay_http import BadRequest, Request, read_request, refusal, wire
from compaction_conformance.corpus.replay_pages import Site
from compaction_conformance.errors import InvalidInput
from compaction_conformance.schema_words import printable

DEFAULT_HOST = "127.0.0.1"
_LINGER_SECONDS = 1.0
_STOP_SECONDS = 5.0


@dataclass(frozen=True)
class Limits:
    """Bounds of the server: bytes of a request body, seconds, connections served at once and waiting."""

    body_bytes: int = 4 << 20
    request_seconds: float = 30.0
    stall_seconds: float = 30.0
    between_frames: float = 0.01
    serving: int = 64
    waiting: int = 256


class ReplayServer:
    """Serves cases from a thread of its own; a context manager.

    >>> with ReplayServer(load_corpus()) as server:
    ...     base_url = server.base_url("anthropic-prompt-too-long-1m")
    """

    def __init__(
        self, cases: Iterable[Case], *, host: str = DEFAULT_HOST, port: int = 0, limits: Limits | None = None
    ) -> None:
        self._host, self._port = loopback(host), _port(port)
        self._cases = tuple(cases)
        self._limits = limits or Limits()
        self._ready = threading.Event()
        self._trouble: OSError | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, name="replay-server", daemon=True)
        self.url = ""

    def base_url(self, case_id: str) -> str:
        """Where the response of a case is served: what `overflow/classify` is given."""
        return f"{self.url}/case/{case_id}"

    def start(self) -> str:
        """Listen; returns the address. Raises `InvalidInput` where that is not possible."""
        self._thread.start()
        self._ready.wait()
        if self._trouble is not None:
            self._thread.join()
            raise _cannot_listen(self._host, self._port, self._trouble)
        return self.url

    def stop(self) -> None:
        """End every connection and the thread. May be called twice."""
        if self._loop is not None and self._stop is not None and self._thread.is_alive():
            with suppress(RuntimeError):  # the loop may have closed in between
                self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(_STOP_SECONDS)

    def __enter__(self) -> ReplayServer:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _run(self) -> None:
        try:
            asyncio.run(self._main())
        finally:
            self._ready.set()

    async def _main(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        connections = _Connections(self._limits)
        try:
            server = await asyncio.start_server(connections.serve, self._host, self._port, limit=1 << 16)
        except OSError as error:
            self._trouble = error
            return
        self.url = _url(self._host, server.sockets[0].getsockname()[1])
        connections.site = Site(self._cases, self.url)
        self._ready.set()
        await self._stop.wait()
        server.close()
        await connections.end()


def serve(
    host: str = DEFAULT_HOST,
    port: int = 0,
    *,
    folder: Path | None = None,
    limits: Limits | None = None,
    stdout: TextIO | None = None,
    until_stdin_closes: bool = False,
) -> int:
    """Serve the corpus until SIGTERM, SIGINT or, if asked for, the end of standard input; returns exit code 0.

    Standard input is at its end from the start where a shell starts a program with `&`, so that has to be asked for.
    Prints the address once, on a line of its own, when the server listens. Raises `InvalidInput`.
    """
    done = threading.Event()
    server = ReplayServer(load_corpus(folder), host=host, port=port, limits=limits)
    previous = {number: signal.signal(number, lambda *_: done.set()) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        print(server.start(), file=stdout or sys.stdout, flush=True)
        if until_stdin_closes:
            threading.Thread(target=_await_end_of_stdin, args=(done,), daemon=True).start()
        done.wait()
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        server.stop()
    return 0


def loopback(host: str) -> str:
    """The address to listen on. Raises `InvalidInput` for anything that other machines could reach."""
    name = DEFAULT_HOST if host == "localhost" else host.strip("[]")
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        raise _not_loopback(host) from None
    if not address.is_loopback or getattr(address, "scope_id", None):
        raise _not_loopback(host)
    return str(address)


class _Connections:
    """Serves one request a connection; at most `serving` at once, and `waiting` more wait for their turn."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._turn = asyncio.Semaphore(limits.serving)
        self._tasks: set[asyncio.Task[None]] = set()
        self.site = Site((), "")

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            if len(self._tasks) > self._limits.serving + self._limits.waiting:
                writer.write(refusal(503, "busy", "too many connections at once; ask again with fewer"))
                await writer.drain()
                return
            async with self._turn:
                await self._answer(reader, writer)
        except (OSError, asyncio.CancelledError):
            pass  # the client went away, or the server ends
        finally:
            self._tasks.discard(task)
            writer.close()
            with suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

    async def end(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(self._limits.request_seconds):
                request = await read_request(reader, writer, self._limits.body_bytes)
        except BadRequest as error:
            writer.write(error.response)
            await writer.drain()
            await self._linger(reader, writer)
            return
        except TimeoutError:
            writer.write(refusal(408, "too_slow", "the request did not end in time"))
            await writer.drain()
            return
        if request is not None:
            await self._reply(request, reader, writer)

    async def _reply(self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        found = self.site.find(request)
        pieces = [found] if isinstance(found, bytes) else wire(found.response)
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(self._limits.between_frames)
        if not isinstance(found, bytes) and found.response.end == "stall":
            with suppress(TimeoutError):
                async with asyncio.timeout(self._limits.stall_seconds):
                    await reader.read()  # ends when the client goes away

    async def _linger(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Read on for a moment: a client that is still sending would see a reset instead of the refusal."""
        writer.write_eof()
        with suppress(TimeoutError, OSError):
            async with asyncio.timeout(_LINGER_SECONDS):
                while await reader.read(1 << 16):
                    pass


def _port(port: int) -> int:
    if 0 <= port <= 65535:
        return port
    raise InvalidInput(f"{port} is no port", where="--port", remedy="give 0 (any free port) to 65535")


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _await_end_of_stdin(done: threading.Event) -> None:
    with suppress(OSError, ValueError, AttributeError):  # a closed or missing stdin has ended too
        while os.read(sys.stdin.fileno(), 1 << 16):
            pass
    done.set()


def _not_loopback(host: str) -> InvalidInput:
    return InvalidInput(
        f"{printable(host[:80])} is no address of the loopback interface",
        where="--host",
        remedy=f"the server is for this machine alone: give {DEFAULT_HOST}, ::1 or localhost",
    )


def _cannot_listen(host: str, port: int, error: OSError) -> InvalidInput:
    where = _url(host, port)
    return InvalidInput(f"cannot listen: {error.strerror or error}", where=where, remedy="give another --port, or 0")
