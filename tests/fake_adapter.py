"""An adapter for tests: every request says in its params what the adapter does with it."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import Any

_ABOUT = {
    "protocolVersion": 1,
    "implementation": {"name": "fake", "version": "1", "language": "python", "url": "https://example.org/fake"},
    "editions": ["pi-0.87"],
    "profiles": ["coding-agent"],
    "operations": ["tokens/from_usage", "tokens/of_message"],
}


def answer(request: dict[str, Any], **members: Any) -> None:
    write(json.dumps({"jsonrpc": "2.0", "id": request["id"], **members}).encode() + b"\n")


def write(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def misbehave(request: dict[str, Any], params: dict[str, Any]) -> None:
    match params.get("do"):
        case "exit":
            print(f"leaving with {params['code']}", file=sys.stderr, flush=True)
            os._exit(params["code"])
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "hang":
            time.sleep(60)
        case "half line":
            write(b'{"jsonrpc":"2.0","id":')
            time.sleep(60)
        case "half line and exit":
            write(b'{"jsonrpc":"2.0","id":')
            os._exit(0)
        case "close stdout":
            os.close(1)
            time.sleep(60)
        case "noise":
            write(b"debug: got a request\n")
        case "not utf-8":
            write(b'{"jsonrpc":"2.0","id":1,"result":"\xff\xfe"}\n')
        case "flood":
            while True:
                write(b"x" * 65536 + b"\n")
        case "endless line":
            while True:
                write(b"x" * 65536)
        case "deep":
            write(b"[" * 200_000 + b"]" * 200_000 + b"\n")
        case "nan":
            answer(request, result=float("nan"))
        case "beyond":
            number = params["number"].encode()
            write(b'{"jsonrpc":"2.0","id":%d,"result":{"n":%s}}\n' % (request["id"], number))
        case "wrong id":
            answer({"id": request["id"] + 1000}, result={})
        case "twice":
            answer(request, result={"n": params["n"]})
            answer(request, result={"n": params["n"]})
        case "twice, late":
            answer(request, result={"n": params["n"]})
            time.sleep(0.2)
            answer(request, result={"n": params["n"]})
        case "log":
            print(params["words"], file=sys.stderr, flush=True)
            answer(request, error={"code": -32603, "message": "no"})
        case "id in text":
            answer({"id": str(request["id"])}, result={})
        case "id is null":
            answer({"id": None}, result={})
        case "no id":
            write(json.dumps({"jsonrpc": "2.0", "result": {}}).encode() + b"\n")
        case "no response":
            write(json.dumps({"hello": "world", "id": request["id"]}).encode() + b"\n")
        case "unknown kind":
            answer(request, error={"code": -32000, "message": "no", "data": {"kind": "because"}})
        case "refuse":
            answer(request, error={"code": -32000, "message": "no", "data": {"kind": params["kind"]}})
        case "stderr flood":
            sys.stderr.write("noise " * 500_000 + "the end")
            sys.stderr.flush()
            answer(request, result={"n": params["n"]})
        case "exit once":
            if not os.path.exists(params["marker"]):
                with open(params["marker"], "w"):
                    os._exit(3)
            answer(request, result={"n": params["n"]})
        case _:
            answer(request, result={"n": params.get("n")})


def main() -> None:
    mode = sys.argv[1] if len(sys.argv) > 1 else ""
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if request["method"] != "initialize":
            misbehave(request, request["params"])
        elif mode == "banner":
            write(b"Welcome to fake 1.0\n")
        elif mode == "silent exit":
            print("no configuration found", file=sys.stderr, flush=True)
            os._exit(4)
        elif mode == "other edition":
            answer(request, result={**_ABOUT, "editions": ["pi-9.9"]})
        elif mode == "unknown operation":
            answer(request, result={**_ABOUT, "operations": ["tokens/guess"]})
        elif mode == "no name":
            answer(request, result={**_ABOUT, "implementation": {}})
        elif mode == "second start fails" and os.path.exists(sys.argv[2]):
            os._exit(5)
        else:
            if mode == "second start fails":
                with open(sys.argv[2], "w"):
                    pass
            answer(request, result=_ABOUT)


if __name__ == "__main__":
    main()
