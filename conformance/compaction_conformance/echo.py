"""An implementation that does nothing: it declares every operation and answers each with an empty object.

What it costs is what the way there and back costs: the yardstick of the growth probes.
"""

from __future__ import annotations

import json
import sys


def main() -> None:
    for line in sys.stdin.buffer:
        request = json.loads(line)
        result = {} if request["method"] != "initialize" else _about(request["params"])
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}) + "\n")
        sys.stdout.flush()


def _about(params: dict[str, str]) -> dict[str, object]:
    from compaction_conformance import schemas

    return {
        "protocolVersion": 1,
        "implementation": {"name": "echo", "version": "1", "language": "python", "url": ""},
        "editions": [params["edition"]],
        "profiles": [params["profile"]],
        "operations": list(schemas.operations()),
    }


if __name__ == "__main__":
    main()
