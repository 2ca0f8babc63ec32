"""`run`: every vector, the failures, the table of chapters, the reports. `smoke`: one vector an operation."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path

from compaction_conformance import conclusion, terminal
from compaction_conformance.corpus.response_vectors import served
from compaction_conformance.errors import InvalidInput
from compaction_conformance.golden.sweep_run import SweepVector, load_sweeps, run_sweeps, shown_outcome
from compaction_conformance.golden.variant_run import VariantVector, load_variants, run_variants
from compaction_conformance.report import report_lines, write_json_lines, write_junit
from compaction_conformance.repro import forget, write_repro
from compaction_conformance.run import FAILED, INCOMPLETE, PASSED, RunReport, run, run_shared
from compaction_conformance.schema_words import brief
from compaction_conformance.smoke import smoke_vectors
from compaction_conformance.spec import Spec
from compaction_conformance.vectors import Vector, in_order
from compaction_conformance.verbs import common


def add(verbs: common.Verbs) -> None:
    groups = (common.implementation_group, common.selection_group, common.failures_group)
    about = "run the vectors against an implementation"
    parser = common.add_verb(verbs, "run", main, about, *groups, common.processes_group)
    parser.add_argument("--sweeps", action="store_true", help="every prefix and leaf of the golden sessions, too")
    parser.add_argument("--strict", action="store_true", help="advice (SHOULD) counts too")
    parser.add_argument("--declared-only", action="store_true", help="do not hold undeclared operations against it")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every outcome as JSON Lines")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write a JUnit report")
    common.add_verb(verbs, "smoke", smoke, "one plain vector an operation: does the adapter speak?", *groups)


def main(options: argparse.Namespace) -> int:
    spec, everything = common.load_suite(options, _of_sessions) if options.sweeps else common.load_suite(options)
    chosen = in_order(everything, spec)
    sweeps = tuple(vector for vector in chosen if isinstance(vector, SweepVector))
    variants = tuple(vector for vector in chosen if isinstance(vector, VariantVector))
    vectors = tuple(vector for vector in chosen if not isinstance(vector, (SweepVector, VariantVector)))
    with ExitStack() as stack:
        sides = common.connected_many(stack, options)
        vectors = stack.enter_context(served(vectors, sides[0]))
        progress = common.Progress(len(vectors) + len(sweeps) + len(variants))
        report = run(sides[0], vectors, progress.step) if len(sides) == 1 else run_shared(sides, vectors, progress.step)
        swept = run_sweeps(sides, sweeps, progress.step) + run_variants(sides, variants, progress.step)
    report = RunReport(report.implementation, report.outcomes + swept)
    progress.end()
    common.note_endings(sides)
    exit_code = report.exit_code(strict=options.strict, declared_only=options.declared_only)
    forget(options.repro, (outcome.vector.id for outcome in report.outcomes if outcome.status == PASSED))
    blocks = _failure_blocks(report, options)
    _print_failures(report, blocks, options)
    strict, declared_only = options.strict, options.declared_only
    print(conclusion.chapter_table(report, spec, declared_only=declared_only))
    last = conclusion.conclusion(report, exit_code, strict=strict, declared_only=declared_only)
    for part in (conclusion.readings_taken(report), conclusion.advice(report, strict=strict), last):
        if part:
            print(f"\n{part}")
    with ExitStack() as files:  # each is written, whatever becomes of the other
        if options.junit:
            files.callback(write_junit, options.junit, report, blocks, strict=options.strict)
        if options.json:
            lines = report_lines(report, edition=options.edition, profile=options.profile, exit_code=exit_code)
            files.callback(write_json_lines, options.json, lines)
    return exit_code


def _of_sessions(spec: Spec) -> tuple[Vector, ...]:
    return (*load_sweeps(spec), *load_variants(spec))


def smoke(options: argparse.Namespace) -> int:
    """One plain vector for every declared operation: does the adapter speak at all?"""
    spec, vectors = common.load_suite(options)
    with ExitStack() as stack:
        side = common.connected(stack, options.implementation, options)
        vectors = stack.enter_context(served(in_order(vectors, spec), side))
        report = run(side, smoke_vectors(vectors, side.description))
    common.note_endings([side])
    print(f"{brief(side.description.label)}: {len(side.description.operations)} operations declared")
    for outcome in sorted(report.outcomes, key=lambda outcome: outcome.vector.operation):
        print(f"{'ok  ' if outcome.status == PASSED else 'FAIL'} {outcome.vector.operation}")
    _print_failures(report, _failure_blocks(report, options), options)
    exit_code = report.exit_code()
    if exit_code == INCOMPLETE:
        print(f"incomplete: {conclusion.why_incomplete(report)}")
    else:
        print("ok is a result in its shape; whether it is right, `run` says")
    return exit_code


def _failure_blocks(report: RunReport, options: argparse.Namespace) -> dict[str, str]:
    """The block of every failure by vector id; each leaves its reproduction behind, where that can be written."""
    blocks = {}
    again, label = common.again_options(options), report.implementation.label
    folder: Path | None = options.repro
    for outcome in report.outcomes:
        if outcome.status == FAILED:
            example = shown_outcome(outcome)
            repro = None
            try:
                repro = write_repro(folder, example.vector, options.edition, options.profile) if folder else None
            except InvalidInput as error:
                common.say(f"note: no reproductions are kept: {error}")
                folder = None
            blocks[outcome.vector.id] = terminal.failure_block(example, label, options.implementation, repro, again)
    return blocks


def _print_failures(report: RunReport, blocks: dict[str, str], options: argparse.Namespace) -> None:
    """Advice is summed up in a line a rule elsewhere; it is shown in full where it counts."""
    counts = getattr(options, "strict", False)
    failed = [o for o in report.outcomes if o.vector.id in blocks and (counts or o.vector.level != "SHOULD")]
    failed = conclusion.telling_first(failed)
    shown = failed if options.failures is None else failed[: options.failures]
    for outcome in shown:
        print(blocks[outcome.vector.id] + "\n")
    if rest := failed[len(shown) :]:
        rules = sorted({outcome.vector.requirement.id for outcome in rest})
        print(f"… {len(rest)} more failures ({' '.join(rules)}); --failures all shows them")
        print(f"most of all {len(failed)} are at\n{conclusion.frequent_places(failed)}\n")
