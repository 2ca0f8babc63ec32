"""The responses of the corpus for a mock transport of httpx: what `serve` sends over a socket, without one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import httpx

from compaction_conformance.corpus.cases import Case, Response


def mocked(cases: Iterable[Case]) -> Callable[[httpx.Request], httpx.Response]:
    """What answers a request to `/case/ID/…`: a side effect for respx, or the handler of `httpx.MockTransport`."""
    responses = {case.id: case.response for case in cases}

    def answer(request: httpx.Request) -> httpx.Response:
        return mock_response(responses[request.url.path.split("/")[2]], request)

    return answer


def mock_response(response: Response, request: httpx.Request) -> httpx.Response:
    """Status, headers and exact bytes. Raises httpx's error where there is no status."""
    if response.status is None:
        raise _failure(response.end, request)
    return httpx.Response(response.status, headers=response.headers, stream=_Body(response, request), request=request)


class _Body(httpx.SyncByteStream):
    """The chunks, then an orderly end or the failure that cuts them off."""

    def __init__(self, response: Response, request: httpx.Request) -> None:
        self._response, self._request = response, request

    def __iter__(self) -> Iterator[bytes]:
        yield from self._response.chunks
        if self._response.end != "close":
            raise _failure(self._response.end, self._request)


def _failure(end: str, request: httpx.Request) -> httpx.TransportError:
    if end == "stall":
        return httpx.ReadTimeout("nothing came in time", request=request)
    return httpx.RemoteProtocolError("the connection was dropped", request=request)
