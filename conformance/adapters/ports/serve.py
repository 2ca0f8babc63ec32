"""Runs the adapter of one Python port: `python serve.py NAME`, with the Python of the port's own environment.

`NAME/adapter.py` holds three things: `ABOUT` (what `initialize` tells of the port), `OPERATIONS` (name to function,
params in, result out) and `KINDS` (patterns of the port's own refusals, with the kinds of spec/protocol.md). The lines
are read and answered here.
"""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
import json
import os
import re
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import IO, Any

PROTOCOL_VERSION, EDITION, PROFILE = 1, "pi-0.87", "coding-agent"
PARSE_ERROR, INVALID_REQUEST, UNKNOWN_METHOD, TROUBLE, REFUSAL = -32700, -32600, -32601, -32603, -32000
MOST_MEMORY = 4 << 30  # bytes; a port that follows a circle of parents stops there

BROKEN_DATA = (TypeError, AttributeError, KeyError)
"""What Python raises where JavaScript throws a TypeError: `malformed_input`."""


def isolate() -> IO[str]:
    """The real standard output, for answers alone. The port prints to the log, and finds no files of the user's."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)
    os.environ["HOME"] = os.environ["USERPROFILE"] = str(Path(tempfile.gettempdir()) / f"no-home-{os.urandom(8).hex()}")
    for name in [name for name in os.environ if name.startswith(("PI_", "AELIX_", "TAU_"))]:
        del os.environ[name]
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    except (ImportError, ValueError, OSError):
        pass  # a system without such limits
    return answers


def load(name: str) -> ModuleType:
    """The adapter's module. It may import what lies beside this file."""
    path = Path(__file__).parent / name / "adapter.py"
    spec = importlib.util.spec_from_file_location("adapter", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise SystemExit(f"there is no adapter {name!r} beside {Path(__file__).name}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def describe(adapter: ModuleType) -> dict[str, Any]:
    """The answer to `initialize`; the version is that of the installed distribution."""
    about = adapter.ABOUT
    return {
        "protocolVersion": PROTOCOL_VERSION,
        "implementation": {
            "name": about["name"],
            "version": version(about["distribution"]),
            "language": "python",
            "url": about["url"],
        },
        "editions": [EDITION],
        "profiles": [PROFILE],
        "operations": list(adapter.OPERATIONS),
    }


def answer(line: bytes, adapter: ModuleType, loop: asyncio.AbstractEventLoop) -> dict[str, Any]:
    """The response to one request line."""
    try:
        request = json.loads(line)
    except (ValueError, RecursionError):
        return response(None, error={"code": PARSE_ERROR, "message": "The line is not JSON"})
    if not isinstance(request, dict) or not isinstance(request.get("method"), str) or "id" not in request:
        return response(None, error={"code": INVALID_REQUEST, "message": "The line is no JSON-RPC request"})
    method, number = request["method"], request["id"]
    if method == "initialize":
        return response(number, result=describe(adapter))
    if method not in adapter.OPERATIONS:
        return response(number, error={"code": UNKNOWN_METHOD, "message": f"There is no operation {method}"})
    try:
        result = adapter.OPERATIONS[method](request.get("params", {}))
        if inspect.isawaitable(result):
            result = loop.run_until_complete(result)
        return response(number, result=result)
    except Exception as raised:
        return response(number, error=refusal(raised, adapter.KINDS))


def refusal(raised: Exception, kinds: list[tuple[str, str]]) -> dict[str, Any]:
    """A port tells its refusals apart by their text, so a table of patterns gives each its kind."""
    message = f"{type(raised).__name__}: {raised}"
    kind = next((kind for pattern, kind in kinds if re.search(pattern, message)), None)
    if kind is None and isinstance(raised, BROKEN_DATA):
        kind = "malformed_input"
    if kind is None:
        return {"code": TROUBLE, "message": message}
    return {"code": REFUSAL, "message": message, "data": {"kind": kind}}


def response(number: Any, **outcome: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, **outcome}


def text_of(answered: dict[str, Any]) -> str:
    """The response as a line. A number that JSON cannot hold becomes null; what is no JSON at all is trouble."""
    try:
        return json.dumps(answered, allow_nan=False)
    except ValueError:
        return json.dumps(finite(answered))
    except (TypeError, RecursionError) as raised:
        return json.dumps(
            response(answered["id"], error={"code": TROUBLE, "message": f"{type(raised).__name__}: {raised}"})
        )


def finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: finite(item) for name, item in value.items()}
    if isinstance(value, list):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and value - value != 0 else value


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: python serve.py NAME", file=sys.stderr)
        return 2
    answers = isolate()
    adapter = load(arguments[0])
    loop = asyncio.new_event_loop()
    for line in sys.stdin.buffer:
        if line.strip():
            answers.write(text_of(answer(line, adapter, loop)) + "\n")
            answers.flush()
    loop.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
