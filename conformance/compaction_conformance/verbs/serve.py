"""`serve`: the overflow corpus on the loopback interface, for a port's own HTTP client."""

from __future__ import annotations

import argparse
from pathlib import Path

from compaction_conformance.corpus.server import serve
from compaction_conformance.verbs import common


def add(verbs: common.Verbs) -> None:
    about = "the overflow corpus as a server on the loopback interface, until SIGTERM or SIGINT (Ctrl-C)"
    parser = common.add_verb(verbs, "serve", main, about)
    parser.add_argument("--host", default="127.0.0.1", help="a loopback address (127.0.0.1)")
    parser.add_argument("--port", type=common.whole(0, 65535), default=0, help="0 lets the system choose (0)")
    parser.add_argument("--corpus", type=Path, metavar="DIR", help="another folder of cases")
    ends = "end with standard input as well, for who starts it over a pipe (without it, only a signal ends it)"
    parser.add_argument("--until-stdin-closes", action="store_true", help=ends)


def main(options: argparse.Namespace) -> int:
    ends = options.until_stdin_closes
    return serve(options.host, options.port, folder=options.corpus, until_stdin_closes=ends)
