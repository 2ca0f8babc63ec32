"""HTTP/1.1 as far as the replay server needs it: bounded requests in, the exact bytes of a case out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus

from compaction_conformance.corpus.cases import Response

REFUSED = "x-replay-server: refused"
_MAX_HEADERS = 100
_CHUNK = 1 << 16
# Python 3.13 names these anew; clients store the phrase, so it is the same everywhere.
_PHRASES = {
    413: "Request Entity Too Large",
    414: "Request-URI Too Long",
    416: "Requested Range Not Satisfiable",
    422: "Unprocessable Entity",
}


@dataclass(frozen=True)
class Request:
    """Method and path without the query; the body was read and dropped."""

    method: str
    path: str


class BadRequest(Exception):
    """A request that cannot be answered; `response` is what the client is told."""

    def __init__(self, status: int, code: str, message: str) -> None:
        self.response = refusal(status, code, message)
        super().__init__(message)


def wire(response: Response) -> Iterator[bytes]:
    """The bytes of a response, one piece for each write. An unfinished one has no end mark."""
    if response.status is None:
        return
    if not response.streamed:
        yield _head(response, f"content-length: {len(response.body)}") + response.body
        return
    yield _head(response, "transfer-encoding: chunked")
    for chunk in response.chunks:
        yield b"%x\r\n%b\r\n" % (len(chunk), chunk)
    if response.end == "close":
        yield b"0\r\n\r\n"


def page(status: int, value: object, *marks: str) -> bytes:
    """A JSON response of the server's own."""
    body = json.dumps(value, ensure_ascii=True, indent=1).encode() + b"\n"
    lines = ["content-type: application/json", f"content-length: {len(body)}", *marks]
    return _joined(status, lines) + body


def refusal(status: int, code: str, message: str) -> bytes:
    """A refusal of the server's own, marked as such. Its words are those of no overflow."""
    return page(
        status, {"error": {"type": "replay_server", "code": code, "message": f"replay server: {message}"}}, REFUSED
    )


async def read_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, body_limit: int) -> Request | None:
    """The next request, its body read to the end; None where the client closed without one. Raises `BadRequest`."""
    first = await _line(reader) or await _line(reader)  # an empty line may come before a request
    if not first:
        return None
    parts = first.split()
    if len(parts) != 3 or not parts[2].startswith("HTTP/1."):
        raise BadRequest(400, "no_http", "the first line is no HTTP/1.1 request line")
    headers = await _headers(reader)
    if headers.get("expect", "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    if "chunked" in headers.get("transfer-encoding", "").lower():
        await _drop_chunks(reader, body_limit)
    else:
        await _drop(reader, _length(headers.get("content-length", "0"), body_limit))
    return Request(parts[0], _path(parts[1]))


def _path(target: str) -> str:
    """Without the query; a client that takes the server for a proxy sends a whole address."""
    scheme, colon, rest = target.partition("://")
    if colon and scheme.lower() in ("http", "https"):
        target = "/" + rest.partition("/")[2]
    return target.partition("?")[0]


async def _headers(reader: asyncio.StreamReader) -> dict[str, str]:
    headers: dict[str, str] = {}
    for _ in range(_MAX_HEADERS):
        line = await _line(reader)
        if not line:
            return headers
        name, colon, value = line.partition(":")
        if not colon:
            raise BadRequest(400, "no_header", "a header line has no colon")
        headers[name.strip().lower()] = value.strip()
    raise BadRequest(431, "many_headers", f"the request has more than {_MAX_HEADERS} headers")


async def _line(reader: asyncio.StreamReader) -> str:
    try:
        line = await reader.readline()
    except ValueError:  # longer than the reader's limit
        raise BadRequest(431, "long_line", "a line of the request's head is longer than 64 KiB") from None
    return line.decode("latin-1").rstrip("\r\n")


async def _drop_chunks(reader: asyncio.StreamReader, limit: int) -> None:
    left = limit
    while size := _chunk_size(await _line(reader)):
        if size > left:
            raise _too_large(f"more than {limit}", limit)
        left -= size
        await _drop(reader, size)
        await _line(reader)
    for _ in range(_MAX_HEADERS):  # trailers
        if not await _line(reader):
            return
    raise BadRequest(431, "many_headers", f"the request has more than {_MAX_HEADERS} trailers")


async def _drop(reader: asyncio.StreamReader, size: int) -> None:
    while size > 0:
        piece = await reader.read(min(size, _CHUNK))
        if not piece:
            raise BadRequest(400, "torn_body", "the request's body ends early")
        size -= len(piece)


def _chunk_size(line: str) -> int:
    digits = line.partition(";")[0].strip()
    if not digits or len(digits) > 8 or not all(digit in "0123456789abcdefABCDEF" for digit in digits):
        raise BadRequest(400, "bad_chunk", "a chunk of the request's body has no size")
    return int(digits, 16)


def _length(text: str, limit: int) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > 18:
        raise BadRequest(400, "bad_length", "content-length is no number")
    if int(text) > limit:
        raise _too_large(text, limit)
    return int(text)


def _too_large(size: str, limit: int) -> BadRequest:
    return BadRequest(
        413, "body_limit", f"the request's body has {size} bytes, and {limit} are taken; send a small one"
    )


def _head(response: Response, framing: str) -> bytes:
    assert response.status is not None
    return _joined(response.status, [*(f"{name}: {value}" for name, value in response.headers), framing])


def _joined(status: int, headers: list[str]) -> bytes:
    """Status line and headers, with the empty line after them."""
    try:
        phrase = _PHRASES.get(status) or HTTPStatus(status).phrase
    except ValueError:
        phrase = ""
    lines = [f"HTTP/1.1 {status} {phrase}", *headers, "connection: close", "", ""]
    return "\r\n".join(lines).encode("ascii")
