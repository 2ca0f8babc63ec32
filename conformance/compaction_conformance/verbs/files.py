"""`validate`, `attest` and `seal`: what is said of files, by schemas, by the oracle, and by the seal."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path

from compaction_conformance import attest, validation
from compaction_conformance.json_files import read_json
from compaction_conformance.paths import checkout_dir, spec_dir, vector_dirs, vector_files
from compaction_conformance.run import BAD_USAGE, NOT_CONFORMANT
from compaction_conformance.schema_words import printable
from compaction_conformance.seal import write_seal
from compaction_conformance.spec import load_spec
from compaction_conformance.vector_checks import check_vector_file
from compaction_conformance.vectors import load_vectors
from compaction_conformance.verbs import common


def add(verbs: common.Verbs) -> None:
    parser = common.add_verb(verbs, "validate", validate, "check session and vector files, line by line")
    parser.add_argument("--strict", action="store_true", help="what Pi writes, not what a reader must accept")
    parser.add_argument("--quiet", action="store_true", help="say nothing of sound files")
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")

    parser = common.add_verb(verbs, "attest", main, "hold vector files against the oracle", common.talk_group)
    parser.add_argument("--implementation", default="pi", metavar="NAME", help="the oracle (pi)")
    parser.add_argument("--fill", action="store_true", help="write the oracle's answers where `expect` is missing")
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")

    common.add_verb(verbs, "seal", seal, "check all fixtures in full and note that (after changing some)")


def validate(options: argparse.Namespace) -> int:
    code = 0
    for file in options.files:
        report = validation.validate_file(file, "strict" if options.strict else "tolerant")
        if not (options.quiet and report.ok):
            print(report.text())
        if not report.ok:
            code = max(code, NOT_CONFORMANT if report.readable else BAD_USAGE)
    return code


def main(options: argparse.Namespace) -> int:
    """Hold vector files against the oracle, or write its answers into vectors that expect nothing yet."""
    spec = load_spec(spec_dir())
    problems: list[str] = []
    filled: list[str] = []
    left: list[str] = []
    with ExitStack() as stack:
        side = common.connected(stack, options.implementation, options)
        for file in options.files:
            attested = attest.attest_file(file, side, spec, fill=options.fill)
            problems += attested.problems
            filled += attested.filled
            left += attested.left
    for problem in problems:
        print(printable(problem))
    if filled:
        print(f"filled: {printable(', '.join(filled))}")
    for rest in left:
        print(printable(rest))
    print(f"{len(options.files)} files, {len(problems)} problems")
    return NOT_CONFORMANT if problems else 0


def seal(options: argparse.Namespace) -> int:
    """Check all fixtures in full and note their digests, so that runs need not check them again."""
    checkout_dir()
    files = vector_files()
    for file in files:
        check_vector_file(file, read_json(file))
    load_vectors(vector_dirs(), load_spec(spec_dir()))
    print(f"{len(files)} files checked and sealed in {write_seal(files)}")
    return 0
