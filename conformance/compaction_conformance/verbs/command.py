"""`compaction-conformance VERB …`: verbs over the library. Results go to stdout, talk to stderr."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import NoReturn, TextIO

from compaction_conformance import extras
from compaction_conformance.errors import ConformanceError
from compaction_conformance.run import BAD_USAGE, INCOMPLETE
from compaction_conformance.schema_words import brief, printable
from compaction_conformance.verbs import (
    common,
    compare,
    explain,
    files,
    growth,
    handover,
    look,
    overflow,
    proof,
    replay,
    search,
    serve,
)
from compaction_conformance.verbs import run as run_verb

_MESSAGE_WIDTH = 2_000
_VERBS = (run_verb, look, explain, replay, compare, handover, growth, files, overflow, serve, search, proof)


def command(arguments: Sequence[str] | None) -> int:
    """Runs a command line, this process's where none is given. Returns the exit code: 0 conformant, 1 not, 2 bad usage,
    3 incomplete."""
    _ready_streams()
    try:
        options = _parser().parse_args(arguments)
        code = int(options.verb(options))
        sys.stdout.flush()
        return code
    except ConformanceError as error:
        return _told(error)
    except ModuleNotFoundError as error:
        if (lacking := extras.behind(error)) is None:
            raise
        return _told(lacking)
    except KeyboardInterrupt:
        common.say("interrupted")
        return INCOMPLETE
    except OSError as error:
        return _cannot(error)
    except (MemoryError, RecursionError):
        common.say("error: something that was read is too large, or nested too deeply")
        return BAD_USAGE
    finally:
        _let_go(sys.stdout)
        _let_go(sys.stderr)


def _told(error: ConformanceError) -> int:
    common.say(f"error: {error}")
    return error.exit_code


def _ready_streams() -> None:
    """Every stream can be written to: one that was closed before we began leads nowhere, and what a terminal cannot
    show is shown escaped."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
    sys.stdin = sys.stdin or os.fdopen(0, closefd=False)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _cannot(error: OSError) -> int:
    """Either a place that was named is not to be used, or the output cannot be delivered."""
    if error.filename is not None:
        common.say(f"error: {printable(str(error.filename))}: {error.strerror}")
        return BAD_USAGE
    if not isinstance(error, BrokenPipeError):
        common.say(f"error: reading or writing failed: {error.strerror or error}")
    return INCOMPLETE


def _let_go(stream: TextIO) -> None:
    """What cannot be delivered goes nowhere: the interpreter would complain of it when it ends."""
    try:
        stream.flush()
    except (OSError, KeyboardInterrupt):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class _Parser(argparse.ArgumentParser):
    """Its errors repeat what was given, which is escaped."""

    def error(self, message: str) -> NoReturn:
        super().error(brief(message, _MESSAGE_WIDTH))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="compaction-conformance",
        description="Plug in an implementation of agent context compaction and be told which rule it breaks.",
        epilog="exit codes: 0 conformant · 1 not conformant · 2 bad usage or bad input · 3 incomplete run",
    )
    parser.add_argument("--version", action="version", version=version("pi-compaction-conformance"))
    verbs = parser.add_subparsers(title="verbs", required=True, metavar="VERB")
    for module in _VERBS:
        module.add(verbs)
    return parser
