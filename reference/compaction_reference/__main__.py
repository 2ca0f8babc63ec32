"""The reference as an adapter of its own: JSON-RPC over standard input and output, one object a line.

The handshake names a profile; from then on the operations are those of that profile.
"""

from __future__ import annotations

import io
import json
import os
import sys
from types import ModuleType
from typing import IO, Any

from . import PROFILE, harness, operations
from .calling import room_for_depth
from .ecma import json_value, parse_json
from .errors import Refusal, malformed
from .harness import operations as harness_operations
from .types import Json

_PARSE_ERROR, _INVALID_REQUEST, _UNKNOWN_METHOD, _TROUBLE, _REFUSAL = -32700, -32600, -32601, -32603, -32000
_MESSAGE_LENGTH = 300
_TOO_MUCH = "nested too deeply, or too large"

PROFILES = {PROFILE: operations, harness.PROFILE: harness_operations}


class Server:
    """Answers request lines. The profile is all that is remembered between them."""

    def __init__(self) -> None:
        self.operations: ModuleType = operations

    def answer(self, line: bytes) -> Json:
        """The response to one request line."""
        try:
            request = parse_json(line.decode("utf-8"))
        except ValueError as error:
            return _failure(None, _PARSE_ERROR, _cut(str(error)))
        except (RecursionError, MemoryError):
            return _failure(None, _PARSE_ERROR, f"the line is {_TOO_MUCH}")
        request_id = request.get("id") if isinstance(request, dict) else None
        if not isinstance(request_id, (str, int, float)) or isinstance(request_id, bool):
            return _failure(None, _INVALID_REQUEST, "no JSON-RPC request with an id")
        method = request.get("method")
        if request.get("jsonrpc") != "2.0" or not isinstance(method, str):
            return _failure(request_id, _INVALID_REQUEST, "no JSON-RPC 2.0 request with a method")
        params = request.get("params", {})
        if method == "initialize":
            profile = params.get("profile") if isinstance(params, dict) else None
            self.operations = next((served for name, served in PROFILES.items() if name == profile), operations)
            return _response(request_id, result=self.operations.describe())
        if method not in self.operations.OPERATIONS:
            return _failure(request_id, _UNKNOWN_METHOD, f"no operation {_cut(method)}")
        return _called(self.operations, method, params, request_id)


def _called(served: ModuleType, method: str, params: Any, request_id: Any) -> Json:
    try:
        return _response(request_id, result=served.call(method, params))
    except Refusal as refusal:
        return _refusal(request_id, refusal)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        return _refusal(request_id, malformed(f"params of another shape: {type(error).__name__}: {error}"))
    except (RecursionError, MemoryError):
        return _failure(request_id, _TROUBLE, f"the params are {_TOO_MUCH}")
    except Exception as error:  # one request in trouble must not end the process
        return _failure(request_id, _TROUBLE, _cut(f"{type(error).__name__}: {error}"))


def _response(request_id: Any, **outcome: Any) -> Json:
    return {"jsonrpc": "2.0", "id": request_id, **outcome}


def _refusal(request_id: Any, refusal: Refusal) -> Json:
    error = {"code": _REFUSAL, "message": _cut(str(refusal)), "data": {"kind": refusal.kind}}
    return _response(request_id, error=error)


def _failure(request_id: Any, code: int, message: str) -> Json:
    return _response(request_id, error={"code": code, "message": message})


def _cut(message: str) -> str:
    """A message for people; a value that it repeats may be of any length."""
    return message if len(message) <= _MESSAGE_LENGTH else message[:_MESSAGE_LENGTH] + "…"


def _line(response: Json) -> str:
    try:
        return _text(response)
    except (RecursionError, MemoryError):
        return _text(_failure(response["id"], _TROUBLE, f"the result is {_TOO_MUCH}"))


def _text(response: Json) -> str:
    try:
        return json.dumps(response, allow_nan=False)
    except ValueError:  # a number that JSON cannot hold came in with the request
        return json.dumps(json_value(response))


def serve(requests: IO[bytes], responses: IO[str]) -> None:
    """Answers each line in turn until the input ends. Iterating binary input splits at the byte 0x0A alone."""
    server = Server()
    for line in requests:
        if line.strip():
            responses.write(_line(server.answer(line)) + "\n")
            responses.flush()


def main() -> int:
    """Serves until there are no more requests, or nobody reads the answers any more."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # whatever the environment says
    try:
        with room_for_depth():
            serve(sys.stdin.buffer, sys.stdout)
    except (BrokenPipeError, KeyboardInterrupt):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is unsaid goes nowhere
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
