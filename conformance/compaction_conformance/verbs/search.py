"""`search`: generated inputs until an answer is wrong, the smallest such input as a vector."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from compaction_conformance import terminal
from compaction_conformance.connect import REFERENCE
from compaction_conformance.errors import InvalidInput
from compaction_conformance.run import INCOMPLETE, NOT_CONFORMANT
from compaction_conformance.schema_words import brief, printable
from compaction_conformance.spec import DEFAULT_PROFILE
from compaction_conformance.verbs import common

if TYPE_CHECKING:
    from compaction_conformance.search.hunting import SearchReport
    from compaction_conformance.search.jobs import Job, Searched
    from compaction_conformance.search.vectors import FoundVector, Place

_SECONDS = 60.0


def add(verbs: common.Verbs) -> None:
    about = "generated inputs, properties and differential runs; what is found becomes a vector"
    parser = common.add_verb(verbs, "search", main, about, common.implementation_group, common.processes_group)
    parser.add_argument("--against", metavar="NAME|COMMAND", help="asked the same beside it (default: the oracle)")
    parser.add_argument("--oracle", default=REFERENCE, metavar="NAME", help=f"who decides (default {REFERENCE}; pi)")
    parser.add_argument("--seconds", type=common.seconds, default=_SECONDS, help=f"how long ({_SECONDS:g})")
    parser.add_argument("--examples", type=common.positive, metavar="N", help="of each property; no second round then")
    parser.add_argument("--seed", type=common.seed, default=0, metavar="N", help="another seed, other inputs (0)")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="a property, an operation or a requirement")
    parser.add_argument("--out", type=Path, default=Path("found"), metavar="DIR", help="for the vectors (found)")
    parser.add_argument("--database", type=Path, metavar="DIR", help="examples to begin with, shared by campaigns")
    parser.add_argument("--list", action="store_true", help="the properties and what they need")


def main(options: argparse.Namespace) -> int:
    """0: nothing was found. 1: something was. 3: the search could not go on to its end."""
    if options.list:
        return _listed()
    searched = _searched(_job(options), options.n)
    return _told(searched, options)


def _listed() -> int:
    from compaction_conformance.properties import all_properties

    for each in all_properties():
        print(f"{each.id}  {' '.join(each.requirements)}  ({', '.join(each.operations)})")
        print(f"  {each.sentence}")
    return 0


def _job(options: argparse.Namespace) -> Job:
    from compaction_conformance.search.hunting import Limits
    from compaction_conformance.search.jobs import Job

    if options.profile != DEFAULT_PROFILE:
        remedy = f"leave --profile out: generated sessions are those of {DEFAULT_PROFILE}"
        raise InvalidInput(f"there is no search for the profile {options.profile!r}", remedy=remedy)
    limits = Limits(options.seconds, options.seed, options.examples, database=options.database)
    against = options.against or options.oracle
    return Job(options.implementation, against, options.oracle, common.settings(options), limits, options.only)


def _searched(job: Job, processes: int) -> Searched:
    from compaction_conformance.search.jobs import search, search_shared

    return search(job, _round_told) if processes == 1 else search_shared(job, processes)


def _round_told(number: int, report: SearchReport) -> None:
    common.say(f"round {number}: {report.examples} examples, {len(report.findings)} causes")


def _told(searched: Searched, options: argparse.Namespace) -> int:
    from compaction_conformance.search.vectors import merged, write_found

    found = merged(searched.found)
    placed = write_found(found, options.out)
    for one in found:
        print(_block(one, placed[one.cause], options))
    for name, what in sorted(searched.unexplained.items()):
        told = f"note: {name} did not hold ({what}), though the oracle gives the same answers: no vector"
        print(printable(told))
    counted = f"{searched.examples} examples of {searched.hunts} hunts, {searched.seconds:.0f} s, seed {options.seed}"
    added = sum(place.is_new for place in placed.values())
    print(f"{len(found)} causes found, {added} new vectors in {options.out} ({counted})")
    incomplete = searched.incomplete or ("" if searched.examples else "no example was asked; give more --seconds")
    if incomplete:
        print(f"incomplete: {printable(incomplete)}")
        return INCOMPLETE
    return NOT_CONFORMANT if found else 0


def _block(one: FoundVector, place: Place, options: argparse.Namespace) -> str:
    """Everything needed to understand and repeat one finding."""
    vector, provenance = one.vector, one.vector["provenance"]
    rule, label = vector["requirements"][0], provenance["implementation"]
    rows = [
        ("about", vector["description"]),
        ("asks", vector["operation"]),
        ("by", f"{provenance['property']}, seed {provenance['seed']}, judged by {vector['evidence']['source']}"),
        ("at", one.at or "the whole answer"),
        ("want", one.want),
        ("got", one.got),
        ("input", terminal.describe_input(vector["params"])),
        ("vector", str(place.path) if place.is_new else f"{place.path} (a vector of this cause is there)"),
        ("again", terminal.again(options.implementation, place.id, ("--vectors", str(options.out)))),
    ]
    head = f"FOUND {place.id} · {rule} {one.title} · {brief(label)} ({one.failure})"
    return "\n".join([printable(head), *(f"  {name:<6} {printable(text)}" for name, text in rows)])
