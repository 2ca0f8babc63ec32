"""`compaction-conformance`: verbs over the library. Results go to stdout, talk to stderr."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from importlib.metadata import version
from pathlib import Path

from compaction_conformance import adapters, attest, schemas, terminal, validation
from compaction_conformance.compare import Comparison, compare_file
from compaction_conformance.connect import REFERENCE, Settings, connect
from compaction_conformance.errors import ConformanceError, InvalidInput
from compaction_conformance.expectation import Broken, NotRun
from compaction_conformance.implementation import Implementation
from compaction_conformance.json_files import read_json
from compaction_conformance.paths import fixtures_dir, spec_dir
from compaction_conformance.report import report_lines, write_json_lines, write_junit
from compaction_conformance.repro import read_repro, write_repro
from compaction_conformance.run import (
    FAILED,
    INCOMPLETE,
    NOT_CONFORMANT,
    Outcome,
    RunReport,
    judge,
    run,
    run_shared,
)
from compaction_conformance.seal import write_seal
from compaction_conformance.spec import Spec, load_spec
from compaction_conformance.vector_checks import check_vector_file
from compaction_conformance.vectors import Vector, load_vectors, select

_FAILURES_SHOWN = 10


def main(arguments: Sequence[str] | None = None) -> int:
    """The console script. Returns the exit code: 0 conformant, 1 not, 2 bad usage, 3 incomplete."""
    parsed = _parser().parse_args(arguments)
    try:
        return int(parsed.verb(parsed))
    except ConformanceError as error:
        _say(f"error: {error}")
        return error.exit_code
    except KeyboardInterrupt:
        _say("interrupted")
        return INCOMPLETE
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return INCOMPLETE


# Verbs


def _run(options: argparse.Namespace) -> int:
    spec, vectors = _load(options)
    with ExitStack() as stack:
        sides = _connect_many(options, stack)
        progress = _Progress(len(vectors))
        report = run(sides[0], vectors, progress.step) if len(sides) == 1 else run_shared(sides, vectors, progress.step)
        progress.done()
    _warn_of_unknown(sides[0])
    exit_code = report.exit_code(strict=options.strict, declared_only=options.declared_only)
    blocks = _failure_blocks(report, options)
    _print_failures(report, blocks, options)
    print(terminal.chapter_table(report, spec))
    for part in (terminal.readings_taken(report), terminal.advice(report)):
        if part:
            print(f"\n{part}")
    print(f"\n{terminal.conclusion(report, exit_code)}")
    if options.json:
        lines = report_lines(report, edition=options.edition, profile=options.profile, exit_code=exit_code)
        write_json_lines(options.json, lines)
    if options.junit:
        write_junit(options.junit, report, blocks)
    return exit_code


def _smoke(options: argparse.Namespace) -> int:
    """One small vector for every declared operation: does the adapter speak at all?"""
    _, vectors = _load(options)
    with closing(connect(options.implementation, _settings(options))) as side:
        smallest: dict[str, Vector] = {}
        for vector in sorted(vectors, key=lambda vector: len(vector.params_text)):
            if vector.level == "MUST" and vector.operation in side.description.operations:
                smallest.setdefault(vector.operation, vector)
        report = run(side, tuple(smallest.values()))
        _warn_of_unknown(side)
        print(f"{terminal.printable(side.description.label)}: {len(side.description.operations)} operations declared")
    blocks = _failure_blocks(report, options)
    for outcome in sorted(report.outcomes, key=lambda outcome: outcome.vector.operation):
        print(f"{'ok  ' if outcome.verdict.met else 'FAIL'} {outcome.vector.operation}")
    _print_failures(report, blocks, options)
    return report.exit_code()


def _list(options: argparse.Namespace) -> int:
    if options.what == "operations":
        print("\n".join(schemas.operations()))
        return 0
    if options.what == "implementations":
        print("\n".join([REFERENCE, *adapters.names()]))
        return 0
    spec, vectors = _load(options)
    if options.what == "vectors":
        for vector in vectors:
            print(f"{vector.id}  {vector.requirement.id}  {vector.level:<6}  {vector.operation}  {vector.description}")
    elif options.what == "requirements":
        for rule in spec.requirements.values():
            count = sum(rule in vector.requirements for vector in vectors)
            print(f"{rule.id}  {rule.level:<6}  {count:>3} vectors  {rule.title}")
    else:
        for chapter in spec.chapters:
            count = sum(vector.requirement.chapter == chapter.slug for vector in vectors)
            print(f"{chapter.slug:<20} {len(chapter.requirements):>3} requirements {count:>4} vectors  {chapter.title}")
    return 0


def _explain(options: argparse.Namespace) -> int:
    spec, vectors = _load(options)
    if rule := spec.requirements.get(options.id):
        print(
            f"{rule.id} · {rule.title}\n{rule.level} · {', '.join(rule.editions)} · {rule.evidence}\n\n{rule.sentence}"
        )
        for label, text in (("Why", rule.why), ("Source", rule.source)):
            if text:
                print(f"\n{label}: {text}")
        for name, text in rule.readings.items():
            print(f"\nReading {name}: {text}")
        judged = [vector for vector in vectors if rule in vector.requirements]
        print(f"\n{len(judged)} vectors (chapter {rule.chapter}):")
        for vector in judged:
            print(f"  {vector.id}  {vector.description}")
        return 0
    found = next((vector for vector in vectors if vector.id == options.id), None)
    if found is None:
        raise InvalidInput(
            f"{options.id} is neither a requirement nor a vector",
            remedy="`compaction-conformance list --requirements` and `list --vectors` show the known ids",
        )
    print(f"{found.id}: {found.description}\n{found.level} · evidence {' · '.join(filter(None, found.evidence))}")
    for rule in found.requirements:
        print(f"{rule.id} · {rule.title}\n  {rule.sentence}")
    if found.twin:
        print(f"twin: {found.twin}")
    print(f"file: {found.file}\ninput: {terminal.describe_input(found.params)}")
    print(f"request: {found.operation} {terminal.printable(found.params_text)}")
    print(f"expects: {terminal.shown(_expectation_shown(found))}")
    return 0


def _replay(options: argparse.Namespace) -> int:
    """Ask again what a reproduction file holds, and judge it where the file bears the id of a vector."""
    requests = read_repro(options.file)
    _, vectors = _load(options)
    known = {(vector.operation, vector.params_text): vector for vector in vectors if vector.id == options.file.stem}
    failed = incomplete = False
    with closing(connect(options.implementation, _settings(options))) as side:
        for request, reply in zip(requests, side.answers(requests), strict=True):
            vector = known.get((request.method, request.params_text))
            print(f"{request.method}\n  answer {terminal.shown(reply.shown())}")
            incomplete |= isinstance(reply, NotRun)
            if vector is None or isinstance(reply, NotRun):
                failed |= isinstance(reply, Broken)
                continue
            verdict = judge(vector, reply)
            failed |= not verdict.met
            if verdict.met:
                print(f"  meets {vector.id}")
            else:
                outcome = Outcome(vector, FAILED, verdict, reply, side.log)
                print(terminal.failure_block(outcome, side.description.label, options.implementation, None))
    return INCOMPLETE if incomplete else NOT_CONFORMANT if failed else 0


def _validate(options: argparse.Namespace) -> int:
    worst = 0
    for file in options.files:
        report = validation.validate_file(file, "strict" if options.strict else "tolerant")
        if not (options.quiet and report.ok):
            print(report.text())
        worst = max(worst, NOT_CONFORMANT if report.errors else 0)
    return worst


def _seal(options: argparse.Namespace) -> int:
    """Check all fixtures in full and note their digests, so that runs need not check them again."""
    files = sorted((fixtures_dir() / "vectors").rglob("*.json"))
    for file in files:
        check_vector_file(file, read_json(file))
    load_vectors([fixtures_dir() / "vectors"], load_spec(spec_dir()))
    print(f"{len(files)} files checked and sealed in {write_seal(files)}")
    return 0


def _compare(options: argparse.Namespace) -> int:
    settings = _settings(options)
    code = 0
    with ExitStack() as stack:
        first, second = (stack.enter_context(closing(connect(name, settings))) for name in (options.a, options.b))
        for file in options.sessions:
            began = time.monotonic()
            comparison = compare_file(
                first, second, file, sample=None if options.all else options.sample, on_point=_Progress(0).of
            )
            code = max(code, _print_comparison(comparison, file, options, time.monotonic() - began))
    return code


def _attest(options: argparse.Namespace) -> int:
    """Hold vector files against the oracle, or write its answers into vectors that expect nothing yet."""
    spec = load_spec(spec_dir())
    with closing(connect(options.implementation, _settings(options))) as side:
        problems = [
            problem for file in options.files for problem in attest.attest_file(file, side, spec, fill=options.fill)
        ]
    for problem in problems:
        print(terminal.printable(problem))
    print(f"{len(options.files)} files, {len(problems)} problems")
    return NOT_CONFORMANT if problems else 0


# What the verbs share


def _load(options: argparse.Namespace) -> tuple[Spec, tuple[Vector, ...]]:
    spec = load_spec(spec_dir())
    if options.edition not in spec.editions:
        raise InvalidInput(f"unknown edition {options.edition!r}", remedy=f"known: {', '.join(spec.editions)}")
    everything = load_vectors([fixtures_dir() / "vectors", *options.vectors], spec)
    profile = getattr(options, "profile", None)
    chosen = select(everything, only=getattr(options, "only", None), edition=options.edition, profile=profile)
    if not chosen:
        raise InvalidInput(
            f"no vector fits --only {options.only!r}",
            remedy="give an id, a requirement, an operation or a chapter; * and ? stand for any letters",
        )
    return spec, chosen


def _settings(options: argparse.Namespace, *, own_process: bool = False) -> Settings:
    return Settings(options.edition, options.profile, options.timeout, options.restarts, own_process)


def _connect_many(options: argparse.Namespace, stack: ExitStack) -> list[Implementation]:
    if options.n < 1:
        raise InvalidInput(f"-n {options.n} is no number of processes", remedy="give 1 or more")
    count = 1 if options.implementation.startswith("python:") else options.n
    settings = _settings(options, own_process=count > 1)
    return [stack.enter_context(closing(connect(options.implementation, settings))) for _ in range(count)]


def _warn_of_unknown(side: Implementation) -> None:
    for operation in side.description.unknown_operations:
        _say(f"note: it declares the operation {operation!r}, which this suite does not know")


def _failure_blocks(report: RunReport, options: argparse.Namespace) -> dict[str, str]:
    blocks = {}
    for outcome in report.outcomes:
        if outcome.status == FAILED:
            repro = write_repro(options.repro, outcome.vector, options.edition, options.profile)
            label = report.implementation.label
            blocks[outcome.vector.id] = terminal.failure_block(outcome, label, options.implementation, repro)
    return blocks


def _print_failures(report: RunReport, blocks: dict[str, str], options: argparse.Namespace) -> None:
    """Advice is summed up in a line a rule elsewhere; it is shown in full where it counts."""
    counts = getattr(options, "strict", False)
    failed = [o for o in report.outcomes if o.vector.id in blocks and (counts or o.vector.level != "SHOULD")]
    failed = _smallest_first(failed)
    shown = failed if options.failures is None else failed[: options.failures]
    for outcome in shown:
        print(blocks[outcome.vector.id] + "\n")
    if rest := failed[len(shown) :]:
        rules = sorted({outcome.vector.requirement.id for outcome in rest})
        print(f"… {len(rest)} more failures ({' '.join(rules)}); --failures all shows them\n")


def _smallest_first(failed: list[Outcome]) -> list[Outcome]:
    """By rule in the order of the spec, and of each rule the smallest input first: one clear failure at a time."""
    smallest: dict[str, Outcome] = {}
    for outcome in sorted(failed, key=lambda outcome: len(outcome.vector.params_text)):
        smallest.setdefault(outcome.vector.requirement.id, outcome)
    first = [outcome for outcome in failed if smallest[outcome.vector.requirement.id] is outcome]
    return first + [outcome for outcome in failed if outcome not in first]


def _print_comparison(comparison: Comparison, file: Path, options: argparse.Namespace, seconds: float) -> int:
    found = comparison.first
    counted = f"{comparison.points} points, {comparison.answers} answers compared, {seconds:.1f} s"
    if comparison.incomplete:
        print(f"{file}: incomplete after {counted}: {terminal.printable(comparison.incomplete)}")
        return INCOMPLETE
    if found is None:
        print(f"{file}: no difference ({counted})")
        return 0
    print(f"{file}: {options.a} and {options.b} differ ({counted})")
    rows = [("at", str(found.point or "parsing")), ("in", f"{found.operation} {found.about}".strip())]
    rows += [("where", found.difference.pointer or "the whole answer")]
    rows += [("a", terminal.shown(found.difference.want)), ("b", terminal.shown(found.difference.got))]
    for name, text in rows:
        print(f"  {name:<6} {terminal.printable(text)}")
    options.repro.mkdir(parents=True, exist_ok=True)
    repro = options.repro / f"compare-{file.stem}.jsonl"
    line = f'{{"jsonrpc":"2.0","id":1,"method":{json.dumps(found.operation)},"params":{found.request.params_text}}}\n'
    repro.write_text(line, encoding="utf-8")
    print(f"  {'repro':<6} {repro}")
    return NOT_CONFORMANT


def _expectation_shown(vector: Vector) -> object:
    data = json.loads(vector.file.read_text(encoding="utf-8"))
    return next(raw["expect"] for raw in data["vectors"] if raw["id"] == vector.id)


class _Progress:
    """How far a run is, on stderr: in place on a terminal, otherwise a line every ten seconds."""

    def __init__(self, count: int) -> None:
        self._count, self._done = count, 0
        self._tty = sys.stderr.isatty()
        self._next = time.monotonic() + (0.2 if self._tty else 10.0)

    def step(self, _: Outcome) -> None:
        self.of(self._done + 1, self._count)

    def of(self, done: int, count: int) -> None:
        self._done = done
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + (0.2 if self._tty else 10.0)
            print(
                f"\r{done} of {count}" if self._tty else f"{done} of {count}",
                end="" if self._tty else "\n",
                file=sys.stderr,
            )

    def done(self) -> None:
        if self._tty:
            print("\r\033[K", end="", file=sys.stderr)


def _say(text: str) -> None:
    print(text, file=sys.stderr)


# Arguments


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="compaction-conformance",
        description="Plug in an implementation of agent context compaction and be told which rule it breaks.",
        epilog="exit codes: 0 conformant · 1 not conformant · 2 bad usage or bad input · 3 incomplete run",
    )
    parser.add_argument("--version", action="version", version=version("pi-compaction-conformance"))
    verbs = parser.add_subparsers(title="verbs", required=True, metavar="VERB")

    run_verb = _verb(
        verbs, "run", _run, "run the vectors against an implementation", _implementation, _selection, _failures
    )
    run_verb.add_argument("--strict", action="store_true", help="advice (SHOULD) counts too")
    run_verb.add_argument("--declared-only", action="store_true", help="do not hold undeclared operations against it")
    run_verb.add_argument("--json", type=Path, metavar="FILE", help="write every outcome as JSON Lines")
    run_verb.add_argument("--junit", type=Path, metavar="FILE", help="write a JUnit report")
    run_verb.add_argument("-n", type=int, default=1, metavar="N", help="number of adapter processes (default 1)")

    _verb(
        verbs,
        "smoke",
        _smoke,
        "one vector an operation: does the adapter speak?",
        _implementation,
        _selection,
        _failures,
    )

    list_verb = _verb(verbs, "list", _list, "list the vectors, or what else there is", _selection)
    for what in ("chapters", "requirements", "operations", "implementations"):
        list_verb.add_argument(f"--{what}", dest="what", action="store_const", const=what)
    list_verb.set_defaults(what="vectors")

    explain_verb = _verb(verbs, "explain", _explain, "show a requirement or a vector", _selection)
    explain_verb.add_argument("id", metavar="ID")

    replay_verb = _verb(verbs, "replay", _replay, "ask again what a repro file holds", _implementation, _selection)
    replay_verb.add_argument("file", type=Path, metavar="FILE")

    validate_verb = _verb(verbs, "validate", _validate, "check session and vector files, line by line")
    validate_verb.add_argument(
        "--strict", action="store_true", help="what Pi writes, not just what a reader must accept"
    )
    validate_verb.add_argument("--quiet", action="store_true", help="say nothing of sound files")
    validate_verb.add_argument("files", type=Path, nargs="+", metavar="FILE")

    _verb(verbs, "seal", _seal, "check all fixtures in full and note that (after changing some)")

    compare_verb = _verb(verbs, "compare", _compare, "two implementations over session files", _talk, _repro)
    compare_verb.add_argument("a", metavar="A")
    compare_verb.add_argument("b", metavar="B")
    compare_verb.add_argument("sessions", type=Path, nargs="+", metavar="SESSION")
    compare_verb.add_argument("--all", action="store_true", help="every prefix, however large the file")
    compare_verb.add_argument(
        "--sample", type=int, default=200, metavar="N", help="points of a large file (default 200)"
    )

    attest_verb = _verb(verbs, "attest", _attest, "hold vector files against the oracle", _talk)
    attest_verb.add_argument("--implementation", default="pi", metavar="NAME", help="the oracle (default: pi)")
    attest_verb.add_argument("--fill", action="store_true", help="write the oracle's answers where `expect` is missing")
    attest_verb.add_argument("files", type=Path, nargs="+", metavar="FILE")
    return parser


def _verb(
    verbs: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    function: Callable[[argparse.Namespace], int],
    about: str,
    *groups: Callable[[argparse.ArgumentParser], None],
) -> argparse.ArgumentParser:
    parser = verbs.add_parser(name, help=about, description=about)
    for group in groups:
        group(parser)
    parser.set_defaults(verb=function)
    return parser


def _implementation(parser: argparse.ArgumentParser) -> None:
    names = ", ".join([REFERENCE, *adapters.names()])
    parser.add_argument(
        "--implementation",
        default=REFERENCE,
        metavar="NAME|COMMAND",
        help=f"what is under test: {names}, python:MODULE, or a command that starts an adapter (default {REFERENCE})",
    )
    _talk(parser)
    _repro(parser)


def _talk(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--timeout", type=_positive, default=10.0, metavar="SECONDS", help="for one request (default 10)"
    )
    parser.add_argument(
        "--restarts", type=int, default=100, metavar="N", help="how often an adapter may die (default 100)"
    )
    parser.add_argument("--profile", default="coding-agent", choices=["coding-agent", "harness"])
    if not any(action.dest == "edition" for action in parser._actions):
        parser.add_argument("--edition", default="pi-0.87", help="version of the rules (default pi-0.87)")


def _selection(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--vectors", type=Path, action="append", default=[], metavar="DIR", help="more vectors (repeatable)"
    )
    parser.add_argument(
        "--only", metavar="PATTERN", help="an id, a requirement, an operation or a chapter, with * and ?"
    )
    if not any(action.dest == "edition" for action in parser._actions):
        parser.add_argument("--edition", default="pi-0.87", help="version of the rules (default pi-0.87)")


def _failures(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--failures",
        type=lambda text: None if text == "all" else int(text),
        default=_FAILURES_SHOWN,
        metavar="N|all",
        help=f"how many failures to show in full (default {_FAILURES_SHOWN})",
    )


def _repro(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--repro", type=Path, default=Path("repro"), metavar="DIR", help="for reproductions (default repro)"
    )


def _positive(text: str) -> float:
    number = float(text)
    if not number > 0:
        raise argparse.ArgumentTypeError("must be more than 0")
    return number


if __name__ == "__main__":
    sys.exit(main())
