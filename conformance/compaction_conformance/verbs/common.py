"""What verbs share: groups of arguments, and the steps from arguments to a spec, vectors and implementations."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import TypeAlias

from compaction_conformance import adapters, schemas, terminal
from compaction_conformance.connect import REFERENCE, Settings, connect
from compaction_conformance.corpus.cases import load_corpus
from compaction_conformance.corpus.response_vectors import response_vectors
from compaction_conformance.errors import InvalidInput
from compaction_conformance.implementation import Implementation
from compaction_conformance.paths import spec_dir, vector_dirs
from compaction_conformance.schema_words import brief, nearest
from compaction_conformance.spec import Spec, load_spec
from compaction_conformance.vectors import Vector, known_names, load_vectors, select

Verbs: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
Group: TypeAlias = Callable[[argparse.ArgumentParser], None]

_FAILURES_SHOWN = 10
_UNKNOWN_SHOWN = 10
_DIGITS = re.compile("[0-9]{1,19}")
_NUMBER = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,4})?")
_TIMEOUT_HELP = "for one request (10); the handshake may take 60, whatever is given"


def add_verb(
    verbs: Verbs, name: str, main: Callable[[argparse.Namespace], int], about: str, *groups: Group
) -> argparse.ArgumentParser:
    """A verb with its groups of arguments, to which the caller adds its own."""
    parser = verbs.add_parser(name, help=about, description=about)
    for group in groups:
        group(parser)
    parser.set_defaults(verb=main)
    return parser


# Groups of arguments


def implementation_group(parser: argparse.ArgumentParser) -> None:
    names = ", ".join([REFERENCE, *adapters.names()])
    parser.add_argument(
        "--implementation",
        default=REFERENCE,
        metavar="NAME|COMMAND",
        help=f"what is under test: {names}, python:MODULE, or a command that starts an adapter (default {REFERENCE})",
    )
    talk_group(parser)


def talk_group(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--timeout", type=seconds, default=10.0, metavar="SECONDS", help=_TIMEOUT_HELP)
    parser.add_argument("--restarts", type=count, default=100, metavar="N", help="how often an adapter may die (100)")
    parser.add_argument("--profile", default="coding-agent", help="family of rules: coding-agent (default) or harness")
    edition_group(parser)


def edition_group(parser: argparse.ArgumentParser) -> None:
    if not any(action.dest == "edition" for action in parser._actions):
        parser.add_argument("--edition", default="pi-0.87", help="version of the rules (pi-0.87)")


def selection_group(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--vectors", type=Path, action="append", default=[], metavar="DIR", help="more (repeatable)")
    parser.add_argument("--only", metavar="PATTERN", help="id, requirement, operation or chapter; * and ? are wild")
    edition_group(parser)


def failures_group(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--failures",
        type=number,
        default=_FAILURES_SHOWN,
        metavar="N|all",
        help=f"how many failures to show in full ({_FAILURES_SHOWN})",
    )
    repro_group(parser)


def repro_group(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--repro", type=Path, default=Path("repro"), metavar="DIR", help="for reproductions (repro)")


def processes_group(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-n", type=processes, default=1, metavar="N", help="number of adapter processes (1)")


# From arguments to what a verb works on


def load_suite(
    options: argparse.Namespace, more: Callable[[Spec], Sequence[Vector]] = lambda _: ()
) -> tuple[Spec, tuple[Vector, ...]]:
    """The spec, and what the arguments choose of the vectors and of `more`. Raises `InvalidInput` when that is none."""
    spec = load_spec(spec_dir())
    profile = getattr(options, "profile", None)
    spec.check_choice(options.edition, profile)
    vectors = load_vectors([*vector_dirs(), *options.vectors], spec)
    everything = (*vectors, *response_vectors(load_corpus(), spec), *more(spec))
    chosen = select(everything, only=options.only, edition=options.edition, profile=profile)
    if not chosen:
        raise _nothing_fits(options, everything)
    return spec, chosen


def _nothing_fits(options: argparse.Namespace, everything: Sequence[Vector]) -> InvalidInput:
    only, profile = options.only, getattr(options, "profile", None)
    elsewhere = sorted({vector.profile for vector in select(everything, only=only, edition=options.edition)})
    if elsewhere:
        what = f"no vector fits --only {only!r} in the profile {profile}"
        return InvalidInput(what, remedy=f"add --profile {elsewhere[0]}, where some do")
    remedy = "give an id, a requirement, an operation or a chapter (`list --chapters`); * and ? stand for any letters"
    if near := nearest(only or "", known_names(everything)):
        remedy = f"near it: {', '.join(near)}; `list --chapters` names the chapters, `list` the vectors"
    if only and only.startswith(terminal.OF_SESSIONS) and not getattr(options, "sweeps", False):
        remedy = "sweeps and variants are asked with `run --sweeps`"
    return InvalidInput(f"no vector fits --only {only!r}", remedy=remedy)


def again_options(options: argparse.Namespace) -> list[str]:
    """What a command has to be given, beside implementation and id, to ask as this one did."""
    usual = Settings()
    asked = (
        ("--profile", options.profile, usual.profile),
        ("--edition", options.edition, usual.edition),
        ("--timeout", options.timeout, usual.time_limit),
    )
    changed = [word for name, value, default in asked if value != default for word in (name, str(value))]
    return changed + [word for folder in options.vectors for word in ("--vectors", str(folder))]


def settings(options: argparse.Namespace, *, own_process: bool = False) -> Settings:
    return Settings(options.edition, options.profile, options.timeout, options.restarts, own_process)


def connected(stack: ExitStack, name: str, options: argparse.Namespace, *, own_process: bool = False) -> Implementation:
    """A running implementation that ends with the stack."""
    side = stack.enter_context(closing(connect(name, settings(options, own_process=own_process))))
    unknown = side.description.unknown_operations
    for operation in unknown[:_UNKNOWN_SHOWN]:
        near = "".join(f"; near it: {name}" for name in nearest(operation, schemas.operations(), 1))
        say(f"note: it declares the operation {brief(operation)!r}, which this suite does not know{near}")
    if more := len(unknown) - len(unknown[:_UNKNOWN_SHOWN]):
        say(f"note: and {more} more")
    return side


def connected_many(stack: ExitStack, options: argparse.Namespace) -> list[Implementation]:
    """As many processes as `-n` asks for; an object in this process is one, whatever is asked for."""
    number = 1 if options.implementation.startswith("python:") else options.n
    first = connected(stack, options.implementation, options, own_process=number > 1)
    others = (connect(options.implementation, settings(options, own_process=True)) for _ in range(number - 1))
    return [first, *(stack.enter_context(closing(side)) for side in others)]


def note_endings(sides: Sequence[Implementation]) -> None:
    """Tell of processes that did not end with code 0 when their input was closed, as the protocol asks."""
    for code in {getattr(side, "exit_code", None) for side in sides} - {None, 0}:
        say(f"note: the adapter ended with exit code {code} when its input was closed; the protocol asks for 0")


class Progress:
    """How far a run is, on stderr: in place on a terminal, otherwise a line every ten seconds."""

    def __init__(self, count: int = 0) -> None:
        self._count, self._done = count, 0
        self._terminal = sys.stderr.isatty()
        self._next = time.monotonic() + self._interval

    @property
    def _interval(self) -> float:
        return 0.2 if self._terminal else 10.0

    def step(self, _: object = None) -> None:
        self.of(self._done + 1, self._count)

    def of(self, done: int, count: int) -> None:
        self._done = done
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + self._interval
            start, end = ("\r", "") if self._terminal else ("", "\n")
            say(f"{start}{done} of {count}", end)

    def end(self) -> None:
        if self._terminal:
            say("\r\033[K", "")


def say(text: str, end: str = "\n") -> None:
    """Talk goes to stderr. Where that cannot be written, nobody listens, and the work goes on."""
    with suppress(OSError):
        print(text, end=end, file=sys.stderr, flush=True)


# Types of arguments


def whole(least: int, most: int) -> Callable[[str], int]:
    """A whole number within bounds, in plain digits."""

    def read(text: str) -> int:
        if not _DIGITS.fullmatch(text) or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"must be a whole number from {least} to {most}")
        return int(text)

    return read


def real(least: float, most: float, what: str = "number") -> Callable[[str], float]:
    """A number within bounds, in plain digits."""

    def read(text: str) -> float:
        if not _NUMBER.fullmatch(text) or not least <= float(text) <= most:
            raise argparse.ArgumentTypeError(f"must be a {what} from {least:g} to {most:.15g}")
        return float(text)

    return read


seconds = real(0.001, 1_000_000, "number of seconds")  # the most is what every clock of the system can wait for
processes = whole(1, 64)
count = whole(0, 1_000_000)
positive = whole(1, 1_000_000)
seed = whole(0, 2**63 - 1)
tokens = whole(0, 2**53 - 1)


def number(text: str) -> int | None:
    """How many; None for all."""
    return None if text == "all" else count(text)
