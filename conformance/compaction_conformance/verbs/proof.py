"""`faults`, `trivial`, `mutate` and `trace`: what shows that the suite catches what it claims to catch."""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from compaction_conformance import fault_run, traceability, trivial
from compaction_conformance.connect import Settings, connect
from compaction_conformance.corpus.cases import load_corpus
from compaction_conformance.corpus.record import OPERATION
from compaction_conformance.corpus.response_vectors import response_vectors
from compaction_conformance.corpus.server import ReplayServer
from compaction_conformance.errors import InvalidInput
from compaction_conformance.faults import FAULTS
from compaction_conformance.golden.sweep_run import load_sweeps
from compaction_conformance.mutation import record as mutation_record
from compaction_conformance.mutation.campaign import Campaign, Fate
from compaction_conformance.mutation.mutants import module_names
from compaction_conformance.paths import checkout_dir, spec_dir, vector_dirs
from compaction_conformance.run import NOT_CONFORMANT, Outcome, run
from compaction_conformance.schema_words import printable
from compaction_conformance.spec import Spec, load_spec
from compaction_conformance.tables import aligned
from compaction_conformance.vectors import Vector, load_vectors
from compaction_conformance.verbs import common


def add(verbs: common.Verbs) -> None:
    parser = common.add_verb(verbs, "faults", faults_main, "named faults, and the vectors that catch them")
    parser.add_argument("ids", nargs="*", metavar="FLT-…", help="these alone")
    _pin(parser, "faults.json")
    parser = common.add_verb(verbs, "trivial", trivial_main, "what trivial implementations score, beside real ones")
    parser.add_argument("--record", action="append", default=[], metavar="NAME", help="run it and keep its scores")
    parser.add_argument("--constants", action="store_true", help="the best constant answer to every operation")
    parser = common.add_verb(verbs, "mutate", mutate_main, "changes of the reference that no vector notices")
    parser.add_argument("modules", nargs="*", metavar="MODULE", help="such as cut_point (all)")
    parser.add_argument("--changed", action="store_true", help="those that are not as they were when it was noted")
    parser.add_argument("--silent", action="store_true", help="list every silent mutant, known ones too")
    _pin(parser, "mutation.json")
    parser.add_argument("-n", type=common.processes, default=1, metavar="N", help="number of worker processes (1)")
    parser = common.add_verb(verbs, "trace", trace_main, "which rule is held by which vectors, faults, mutants …")
    parser.add_argument("--all", action="store_true", help="a row a rule")
    parser.add_argument("--gaps", action="store_true", help="a row for each MUST that lacks something")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every row")


def _pin(parser: argparse.ArgumentParser, name: str) -> None:
    parser.add_argument("--pin", action="store_true", help=f"note what was found in {name}")


def proof_dir() -> Path:
    """Where the records are kept: beside the page that explains them, in a checkout."""
    return checkout_dir() / "conformance"


def _suite() -> tuple[Spec, tuple[Vector, ...]]:
    spec = load_spec(spec_dir())
    return spec, load_vectors(vector_dirs(), spec)


def _told(problems: Sequence[str]) -> int:
    for problem in problems:
        print(f"FAIL {printable(problem)}")
    return NOT_CONFORMANT if problems else 0


# ---- faults ----------------------------------------------------------------------------------------------------------


def faults_main(options: argparse.Namespace) -> int:
    unknown = sorted(set(options.ids) - set(FAULTS))
    if unknown:
        raise InvalidInput(f"no fault is called {unknown[0]!r}", remedy="`compaction-conformance faults` lists them")
    path = proof_dir() / "faults.json"
    _, vectors = _suite()
    caught = [fault_run.catch(FAULTS[name], vectors) for name in options.ids or sorted(FAULTS)]
    print(aligned([("fault", "breaks", "caught", ""), *map(fault_run.summary_row, caught)]))
    pinned = fault_run.read_pinned(path)
    if options.pin and not options.ids and not fault_run.losses(caught, pinned):
        fault_run.write_pinned(path, caught)
        pinned = fault_run.read_pinned(path)
    found = fault_run.problems(caught, pinned, whole=not options.ids)
    print(f"\n{sum(bool(one.by) for one in caught)} of {len(caught)} faults caught")
    return _told(found)


# ---- trivial ---------------------------------------------------------------------------------------------------------


def trivial_main(options: argparse.Namespace) -> int:
    spec, vectors = _suite()
    path = proof_dir() / "scores.json"
    recorded = trivial.read_recorded(path)
    for name in options.record:
        recorded |= {name: _scores_of(name, vectors)}
    if options.record:
        trivial.write_recorded(path, recorded)
    if options.constants:
        print(aligned([("operation", "met", "of", "%"), *map(trivial.constant_row, trivial.best_constants(vectors))]))
        return 0
    tricks = trivial.trivial_scores(vectors)
    real = {"reference": _scores_of("reference", vectors), **recorded}
    print("real implementations: vectors of each chapter met, in percent\n")
    print(aligned(trivial.table(real, spec)))
    print("\ntrivial ones\n")
    print(aligned(trivial.table(tricks, spec)))
    return _told(trivial.problems(tricks))


def _scores_of(name: str, vectors: Iterable[Vector]) -> trivial.Score:
    """Over all profiles that it has; a chapter of another one is not asked."""
    scores: trivial.Score = {}
    profiles = ("coding-agent", "harness") if name == "reference" else ("coding-agent",)
    for profile in profiles:
        with ExitStack() as stack:
            side = connect(name, Settings(profile=profile))
            stack.callback(side.close)
            scores |= trivial.score(side, [vector for vector in vectors if vector.profile == profile])
    return scores


# ---- mutate ----------------------------------------------------------------------------------------------------------


def mutate_main(options: argparse.Namespace) -> int:
    path = proof_dir() / "mutation.json"
    known = mutation_record.read_record(path)
    names = _modules(options, known)
    _, vectors = _suite()
    began = time.monotonic()
    found: dict[str, list[Fate]] = {}
    for name, fates in _fates(names, Campaign(vectors, dict(known.equivalent)), options.n):
        found[name] = fates
        common.say(f"{name}: {_counts(mutation_record.module_record(name, fates))}")
    modules = {name: mutation_record.module_record(name, fates) for name, fates in found.items()}
    looser = mutation_record.grown(modules, known)
    if options.pin and not looser:
        whole = {**known.modules, **modules}
        kept = {name: one for name, one in whole.items() if name in module_names()}
        mutation_record.write_record(path, mutation_record.Record(kept, known.equivalent))
        known = mutation_record.read_record(path)
    total = mutation_record.Record(modules, {})
    print(aligned(list(mutation_rows(total))))
    for key, change in total.total.silent.items() if options.silent else ():
        print(f"silent {key} {printable(change)}")
    for key in mutation_record.stale(found, known):
        common.say(f"note: {key} is listed as silent and is not any more; --pin takes it off")
    print(f"\n{len(names)} modules in {time.monotonic() - began:.0f} s")
    return _told([*mutation_record.problems(found, known), *looser])


def mutation_rows(record: mutation_record.Record) -> Iterator[tuple[str, ...]]:
    """A head, a row a module, and the sum."""
    yield ("module", "killed", "silent", "equivalent", "stillborn", "killed %")
    for name, one in [*sorted(record.modules.items()), ("all", record.total)]:
        numbers = (one.killed, len(one.silent), sum(one.equivalent.values()), one.stillborn)
        yield (name, *(str(number or "–") for number in numbers), f"{one.percent:g}")


def _counts(one: mutation_record.ModuleRecord) -> str:
    return f"{one.killed} killed, {len(one.silent)} silent, {sum(one.equivalent.values())} equivalent"


def _modules(options: argparse.Namespace, record: mutation_record.Record) -> list[str]:
    known = module_names()
    unknown = sorted(set(options.modules) - set(known))
    if unknown:
        raise InvalidInput(f"no module is called {unknown[0]!r}", remedy=f"known: {', '.join(known)}")
    names = list(options.modules or known)
    return mutation_record.changed_modules(names, record) if options.changed else names


_campaign: Campaign | None = None  # what the worker processes inherit


def _fates(names: Sequence[str], campaign: Campaign, processes: int) -> Iterator[tuple[str, list[Fate]]]:
    """Module by module, as they are done."""
    if not names:
        return
    global _campaign
    _campaign = campaign
    if processes <= 1 or "fork" not in multiprocessing.get_all_start_methods():
        yield from map(_fates_of, names)
        return
    _ = campaign.passed, campaign.reached  # made once, before there are several processes
    with multiprocessing.get_context("fork").Pool(processes, maxtasksperchild=1) as pool:
        yield from pool.imap_unordered(_fates_of, names, chunksize=1)
        pool.close()
        pool.join()  # else those that wait for more are ended with a traceback


def _fates_of(name: str) -> tuple[str, list[Fate]]:
    assert _campaign is not None
    return name, _campaign.fates(name)


# ---- trace -----------------------------------------------------------------------------------------------------------


def trace_main(options: argparse.Namespace) -> int:
    spec, vectors = _suite()
    rows = traced(spec, vectors)
    if options.json is not None:
        traceability.write_json(options.json, rows)
    if options.all:
        print(aligned(list(traceability.rule_rows(rows))))
    elif options.gaps:
        print(aligned(list(traceability.rule_rows([row for row in rows if row.gaps]))))
    else:
        print(aligned(list(traceability.chapter_rows(rows, spec))))
    return _told(traceability.problems(rows))


def traced(spec: Spec, vectors: Sequence[Vector]) -> list[traceability.Row]:
    """Every rule, from a run of the reference and of all faults, and from what is recorded of mutants."""
    record = mutation_record.read_record(proof_dir() / "mutation.json")
    return traceability.trace(
        spec,
        [*outcomes(vectors), *responses(spec)],
        caught=[fault_run.catch(fault, vectors) for fault in FAULTS.values()],
        record=record,
        sweeps=sweeps(spec),
        properties=properties(),
    )


def outcomes(vectors: Sequence[Vector]) -> Iterator[Outcome]:
    """Of a run of the reference, profile by profile."""
    for profile in ("coding-agent", "harness"):
        side = connect("reference", Settings(profile=profile))
        try:
            yield from run(side, [vector for vector in vectors if vector.profile == profile]).outcomes
        finally:
            side.close()


def responses(spec: Spec) -> tuple[Outcome, ...]:
    """The cases of the overflow corpus, sent to the reference over HTTP; none where it has no client (httpx)."""
    cases = load_corpus()
    side = connect("reference", Settings())
    try:
        if OPERATION not in side.description.operations:
            common.say("note: responses are not asked for, as httpx is not installed")
            return ()
        with ReplayServer(cases) as server:
            return run(side, response_vectors(cases, spec, server.url)).outcomes
    finally:
        side.close()


def sweeps(spec: Spec) -> list[list[str]]:
    """The rules of every sweep over a golden session."""
    return [[rule.id for rule in sweep.requirements] for sweep in load_sweeps(spec)]


def properties() -> list[list[str]]:
    """The rules of every property; empty where Hypothesis is not installed, on which the properties rest."""
    try:
        from compaction_conformance.properties import all_properties
    except ImportError:
        common.say("note: properties are not counted, as Hypothesis is not installed")
        return []
    return [list(each.requirements) for each in all_properties()]
