"""`serve`: the overflow corpus on the loopback interface, for a port's own HTTP client."""

from __future__ import annotations

import argparse
from pathlib import Path

from compaction_conformance.corpus import server as serve
from compaction_conformance.verbs import common


def add(verbs: common.Verbs) -> None:
    parser = common.add_verb(verbs, "serve", main, "the overflow corpus as a server on the loopback interface")
    parser.add_argument("--host", default="127.0.0.1", help="a loopback address (127.0.0.1)")
    parser.add_argument("--port", type=common.count, default=0, help="0 lets the system choose (0)")
    parser.add_argument("--corpus", type=Path, metavar="DIR", help="another folder of cases")


def main(options: argparse.Namespace) -> int:
    return serve.serve(options.host, options.port, folder=options.corpus)
