"""`compaction-conformance`: verbs over the library. Results go to stdout, talk to stderr."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Sequence
from importlib.metadata import version

from compaction_conformance.errors import ConformanceError
from compaction_conformance.run import INCOMPLETE
from compaction_conformance.verbs import common, compare, files, handover, look, overflow, replay, serve
from compaction_conformance.verbs import run as run_verb

_VERBS = (run_verb, look, replay, compare, handover, files, overflow, serve)


def main(arguments: Sequence[str] | None = None) -> int:
    """The console script. Returns the exit code: 0 conformant, 1 not, 2 bad usage, 3 incomplete."""
    options = _parser().parse_args(arguments)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # adapters are ended on the way out
    try:
        return int(options.verb(options))
    except ConformanceError as error:
        common.say(f"error: {error}")
        return error.exit_code
    except KeyboardInterrupt:
        common.say("interrupted")
        return INCOMPLETE
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return INCOMPLETE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="compaction-conformance",
        description="Plug in an implementation of agent context compaction and be told which rule it breaks.",
        epilog="exit codes: 0 conformant · 1 not conformant · 2 bad usage or bad input · 3 incomplete run",
    )
    parser.add_argument("--version", action="version", version=version("pi-compaction-conformance"))
    verbs = parser.add_subparsers(title="verbs", required=True, metavar="VERB")
    for module in _VERBS:
        module.add(verbs)
    return parser


if __name__ == "__main__":
    sys.exit(main())
