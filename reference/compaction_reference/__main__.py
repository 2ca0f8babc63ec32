"""The reference as an adapter of its own: JSON-RPC over standard input and output, one object a line.

The handshake names a profile; from then on the operations are those of that profile.
"""

from __future__ import annotations

import json
import sys
from types import ModuleType
from typing import IO, Any

from . import PROFILE, harness, operations
from .ecma import parse_json
from .errors import Refusal
from .harness import operations as harness_operations
from .types import Json

_PARSE_ERROR, _INVALID_REQUEST, _UNKNOWN_METHOD, _TROUBLE, _REFUSAL = -32700, -32600, -32601, -32603, -32000


PROFILES = {PROFILE: operations, harness.PROFILE: harness_operations}


class Server:
    """Answers request lines. The profile is all that is remembered between them."""

    def __init__(self) -> None:
        self.operations: ModuleType = operations

    def answer(self, line: bytes) -> Json:
        """The response to one request line."""
        try:
            request = parse_json(line.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            return _response(None, error=_error(_PARSE_ERROR, str(error)))
        if not isinstance(request, dict) or not isinstance(request.get("method"), str) or "id" not in request:
            return _response(None, error=_error(_INVALID_REQUEST, "no JSON-RPC request"))
        method, request_id, params = request["method"], request["id"], request.get("params", {})
        if method == "initialize":
            profile = params.get("profile") if isinstance(params, dict) else None
            self.operations = next((served for name, served in PROFILES.items() if name == profile), operations)
            return _response(request_id, result=self.operations.describe())
        if method not in self.operations.OPERATIONS:
            return _response(request_id, error=_error(_UNKNOWN_METHOD, f"no operation {method}"))
        return _called(self.operations, method, params, request_id)


def _called(served: ModuleType, method: str, params: Json, request_id: Any) -> Json:
    try:
        return _response(request_id, result=served.call(method, params))
    except Refusal as refusal:
        return _response(request_id, error=_error(_REFUSAL, str(refusal)) | {"data": {"kind": refusal.kind}})
    except Exception as error:  # one request in trouble must not end the process
        return _response(request_id, error=_error(_TROUBLE, f"{type(error).__name__}: {error}"))


def _response(request_id: Any, **outcome: Any) -> Json:
    return {"jsonrpc": "2.0", "id": request_id, **outcome}


def _error(code: int, message: str) -> Json:
    return {"code": code, "message": message}


def _line(response: Json) -> str:
    try:
        return json.dumps(response, allow_nan=False)
    except ValueError:  # a number that JSON cannot hold came in with a session
        return json.dumps(_without_infinities(response))
    except RecursionError:
        return json.dumps(_response(response["id"], error=_error(_TROUBLE, "the result is nested too deeply")))


def _without_infinities(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_infinities(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_without_infinities(item) for item in value]
    return None if value in (float("inf"), float("-inf")) or value != value else value


def serve(requests: IO[bytes], responses: IO[str]) -> None:
    """Answers each line in turn until the input ends. Iterating binary input splits at the byte 0x0A alone."""
    server = Server()
    for line in requests:
        if line.strip():
            responses.write(_line(server.answer(line)) + "\n")
            responses.flush()


def main() -> int:
    serve(sys.stdin.buffer, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
