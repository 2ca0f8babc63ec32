"""An adapter for tests: it says all that the reference says of itself, and dies at the first request."""

import json
import sys

from compaction_reference.operations import describe

for line in sys.stdin:
    request = json.loads(line)
    if request["method"] != "initialize":
        sys.exit(9)
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": describe()}), flush=True)
