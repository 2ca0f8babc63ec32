"""An adapter for tests: from the first request of a method on (any, where none is named) it does nothing any more, not
even end with its input. FOLDER/PID.started and FOLDER/PID.stalled tell when it started and when it stalls."""

import json
import os
import sys
import time
from pathlib import Path

folder, method = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""
(folder / f"{os.getpid()}.started").touch()

from compaction_reference.operations import call, describe  # noqa: E402

for line in sys.stdin:
    request = json.loads(line)
    introduced = request["method"] == "initialize"
    if request["method"] == method or not (introduced or method):
        break
    result = describe() if introduced else call(request["method"], request["params"])
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
(folder / f"{os.getpid()}.stalled").touch()
time.sleep(600)
