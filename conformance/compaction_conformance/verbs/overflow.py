"""`overflow try|add|check-pattern|lint|score|agree|record`: what a maintainer of overflow patterns needs."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from compaction_conformance.connect import REFERENCE, Settings, connect
from compaction_conformance.corpus.cases import corpus_dir, load_corpus
from compaction_conformance.corpus.lint import lint_corpus
from compaction_conformance.corpus.record import TIME_LIMIT, differences, told_by, write_answers
from compaction_conformance.errors import InvalidInput
from compaction_conformance.implementation import Implementation
from compaction_conformance.json_files import write_text
from compaction_conformance.overflow import scoreboard, trying
from compaction_conformance.overflow.agreement import disagreements
from compaction_conformance.overflow.asking import ErrorText
from compaction_conformance.overflow.checking import check_pattern, report_text
from compaction_conformance.overflow.scores import RECOMMENDED, SPLITS, scored_cases
from compaction_conformance.overflow.scores import scoreboard as entries_of
from compaction_conformance.overflow.tables import EditionTable, edition_tables
from compaction_conformance.run import INCOMPLETE, NOT_CONFORMANT
from compaction_conformance.schema_words import brief, printable, printable_lines
from compaction_conformance.terminal import shown_apart
from compaction_conformance.verbs import common, overflow_add


def add(verbs: common.Verbs) -> None:
    parser = verbs.add_parser("overflow", help="error texts of providers: is it an overflow?", description=__doc__)
    own = parser.add_subparsers(title="verbs", required=True, metavar="VERB")
    _add_try(own)
    overflow_add.add(own)
    _add_check(own)
    _add_lint(own)
    _add_score(own)
    _add_agree(own)
    _add_record(own)


# Arguments


def _add_try(verbs: common.Verbs) -> None:
    about = "what decides about an error text, in each table and implementation"
    parser = common.add_verb(verbs, "try", main_try, about, _several_implementations)
    parser.add_argument("texts", nargs="+", metavar="TEXT", help="an error text; - reads one from stdin")
    parser.add_argument("--provider", default="", metavar="NAME", help="the provider's name in Pi's settings")
    parser.add_argument("--status", type=overflow_add.status, metavar="N", help="the HTTP status")
    styles = overflow_add.known("api")
    parser.add_argument("--api", default="", choices=styles, metavar="STYLE", help="how the interface is spoken")
    parser.add_argument("--context-window", type=common.tokens, metavar="TOKENS", help="the model's window")
    parser.add_argument("--max-output", type=common.tokens, metavar="TOKENS", help="the room asked for output")
    parser.add_argument("--json", action="store_true", help="a JSON object a text")


def _add_agree(verbs: common.Verbs) -> None:
    about = "do two implementations read generated error texts alike?"
    parser = common.add_verb(verbs, "agree", main_agree, about, common.talk_group)
    parser.add_argument("a", metavar="A")
    parser.add_argument("b", metavar="B")
    parser.add_argument("--texts", type=common.positive, default=10_000, metavar="N", help="how many (10000)")
    parser.add_argument("--seed", type=common.seed, default=0, metavar="N", help="another seed, other texts (0)")


def _add_record(verbs: common.Verbs) -> None:
    about = "hold the recorded answers against the oracle's, or record them anew"
    parser = common.add_verb(verbs, "record", main_record, about, overflow_add.corpus_group)
    parser.add_argument("--implementation", default="pi", metavar="NAME|COMMAND", help="who answers (pi)")
    parser.add_argument("--edition", default="pi-0.87", help="the edition it answers for (pi-0.87)")
    parser.add_argument("--write", action="store_true", help="put the answers into the case files")


def _add_check(verbs: common.Verbs) -> None:
    about = "what a new pattern would catch and break, and what it costs"
    parser = common.add_verb(verbs, "check-pattern", main_check, about, overflow_add.corpus_group)
    parser.add_argument("regex", metavar="REGEX", help="in small letters, in the portable subset")
    parser.add_argument("--exclusion", action="store_true", help="it is to exclude, not to match")
    parser.add_argument("--edition", default="pi-0.87", help="the table it would join (pi-0.87)")
    parser.add_argument("--time-limit", type=common.seconds, default=30.0, metavar="SECONDS", help="for all of it (30)")
    parser.set_defaults(profile="coding-agent")


def _add_lint(verbs: common.Verbs) -> None:
    parser = common.add_verb(
        verbs, "lint", main_lint, "check the corpus: schema, duplicates, secrets, evidence", overflow_add.corpus_group
    )
    parser.add_argument("--strict", action="store_true", help="warnings count too")


def _add_score(verbs: common.Verbs) -> None:
    about = "recall and precision on the labelled corpus"
    parser = common.add_verb(verbs, "score", main_score, about, _several_implementations, overflow_add.corpus_group)
    parser.add_argument("--by", choices=sorted(SPLITS), action="append", default=[], help="split it (repeatable)")
    parser.add_argument("--faults", action="store_true", help="name the cases that each entrant gets wrong")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything as JSON")
    parser.add_argument(
        "--least",
        type=common.real(0, 1),
        metavar="RATE",
        help="fail when recall or precision of the recommended, or of a named, is lower",
    )


def _several_implementations(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--implementation", action="append", default=[], metavar="NAME|COMMAND", help="ask it too (repeatable)"
    )
    common.talk_group(parser)


# Verbs


def main_try(options: argparse.Namespace) -> int:
    if options.texts.count("-") > 1:
        raise InvalidInput("stdin can be read once", where="TEXT", remedy="give one -")
    texts = [
        ErrorText(
            overflow_add.stdin().decode("utf-8", "replace") if text == "-" else text,
            options.provider,
            options.api,
            options.status,
            options.context_window,
            options.max_output,
        )
        for text in options.texts
    ]
    with _sides(options) as (reference, others):
        tried = trying.try_texts(texts, reference, others)
    if options.json:
        print("\n".join(json.dumps(trying.as_json(one)) for one in tried))
    else:
        print("\n\n".join(trying.block(one) for one in tried))
    return 0


def main_check(options: argparse.Namespace) -> int:
    report = check_pattern(
        options.regex,
        load_corpus(options.corpus),
        _table(options.edition),
        exclusion=options.exclusion,
        time_limit=options.time_limit,
    )
    print(report_text(report))
    return 0 if report.sound else NOT_CONFORMANT


def main_lint(options: argparse.Namespace) -> int:
    folder = options.corpus or corpus_dir()
    problems = lint_corpus(folder)
    for problem in problems:
        print(printable_lines(str(problem)))
    errors = sum(problem.severity == "error" for problem in problems)
    print(f"{printable(str(folder))}: {errors} errors, {len(problems) - errors} warnings")
    return NOT_CONFORMANT if errors or (options.strict and problems) else 0


def main_score(options: argparse.Namespace) -> int:
    cases = load_corpus(options.corpus)
    scored = scored_cases(cases)
    with _sides(options) as (reference, others):
        entries = entries_of(cases, reference, others)
    print(scoreboard.table(entries, len(cases), len(cases) - len(scored)))
    for split in dict.fromkeys(options.by):
        print(f"\n{scoreboard.split_table(entries, split)}")
    if options.faults:
        print("\n" + "\n\n".join(scoreboard.faults(entry) for entry in entries if entry.missed or entry.alarms))
    if options.json:
        _write_json(options.json, scoreboard.as_json(entries))
    held = [entry for entry in entries if entry.name in (RECOMMENDED, *options.implementation)]
    if options.least is None:
        return 0
    low = [one.name for one in held if min(one.total.recall or 0.0, one.total.precision or 0.0) < options.least]
    if low:
        common.say(f"below {options.least:g}: {', '.join(map(brief, low))}")
    return NOT_CONFORMANT if low else 0


# Steps


@contextmanager
def _sides(options: argparse.Namespace) -> Iterator[tuple[Implementation, dict[str, Implementation]]]:
    """The reference, and the implementations named on the command line."""
    _table(options.edition)  # which has to be known, though nobody may be asked for it
    with ExitStack() as stack:
        reference = stack.enter_context(closing(connect(REFERENCE, Settings(time_limit=options.timeout))))
        named = dict.fromkeys(options.implementation)
        yield reference, {name: common.connected(stack, name, options) for name in named}


def _table(edition: str) -> EditionTable:
    known = {table.edition: table for table in edition_tables()}
    if edition not in known:
        raise InvalidInput(f"unknown edition {edition!r}", where="--edition", remedy=f"known: {', '.join(known)}")
    return known[edition]


def _write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, indent=1) + "\n")


def main_agree(options: argparse.Namespace) -> int:
    """0: both read all the texts alike. 1: some differently, or one did not answer. 3: not all could be asked."""
    with ExitStack() as stack:
        first, second = (common.connected(stack, name, options) for name in (options.a, options.b))
        found = disagreements(first, second, options.texts, options.seed)
    for split in found.splits[:10]:
        print(f"{printable(json.dumps(split.text, ensure_ascii=False))} ({split.provider})")
        print("  a {}\n  b {}".format(*shown_apart(split.first.shown(), split.second.shown())))
    counted = f"{found.texts} texts, {found.overflows} of them overflows for {brief(options.a)}"
    print(printable(f"{counted}: {len(found.splits)} read differently"))
    if found.incomplete:
        print(f"incomplete, {options.texts} texts were to be asked: {printable(found.incomplete)}")
        return INCOMPLETE
    return NOT_CONFORMANT if found.splits else 0


def main_record(options: argparse.Namespace) -> int:
    """0: all answers are as recorded, or were written. 1: some differ, or there is none to write."""
    folder = overflow_add.corpus_to_change(options) if options.write else options.corpus
    cases = load_corpus(folder)
    with closing(connect(options.implementation, Settings(edition=options.edition, time_limit=TIME_LIMIT))) as side:
        told = told_by(side, cases)
    found = differences(told, options.edition)
    for difference in found:
        print(printable_lines(str(difference)))
    print(f"{len(told)} cases, {len(told) - len(found)} as recorded for {options.edition}, {len(found)} not")
    if not options.write:
        return NOT_CONFORMANT if found else 0
    print(f"{write_answers(folder, options.edition, told)} files written")
    return NOT_CONFORMANT if any(one.answer is None for one in told) else 0
