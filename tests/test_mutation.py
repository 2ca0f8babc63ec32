"""Mutants of the reference: how they are made, run and recorded, and that the record can only become better."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import libcst
import pytest

import compaction_reference.settings
from compaction_conformance.mutation import mutated_package
from compaction_conformance.mutation import record as mutation_record
from compaction_conformance.mutation.campaign import EQUIVALENT, KILLED, SILENT, STILLBORN, Campaign, Fate, change_of
from compaction_conformance.mutation.equivalence import REASONS, reason_for
from compaction_conformance.mutation.mutants import Mutant, module_names, module_path, mutants_of
from compaction_conformance.mutation.reached import lines_reached
from compaction_conformance.mutation.record import (
    ModuleRecord,
    Record,
    changed_modules,
    grown,
    module_record,
    problems,
    stale,
)
from compaction_conformance.tables import aligned
from compaction_conformance.vectors import Vector
from compaction_conformance.verbs.proof import mutation_rows, proof_dir

RECORD = mutation_record.read_record(proof_dir() / "mutation.json")


@pytest.fixture(scope="module")
def vectors(vectors: tuple[Vector, ...]) -> tuple[Vector, ...]:
    return tuple(vector for vector in vectors if vector.operation in ("settings/resolve", "trigger/should_compact"))


@pytest.fixture(scope="module")
def mutants() -> list[Mutant]:
    return mutants_of("settings")


@pytest.fixture(scope="module")
def fates(vectors: tuple[Vector, ...]) -> list[Fate]:
    return Campaign(vectors).fates("settings")


# ---- making ----------------------------------------------------------------------------------------------------------


def test_a_mutant_differs_in_one_place(mutants: list[Mutant]) -> None:
    source = module_path("settings").read_text(encoding="utf-8")
    for mutant in mutants:
        assert mutant.source != source
        assert len(mutant.source) - len(source) == len(mutant.after) - len(mutant.before)
        assert mutant.before in source and mutant.after in mutant.source


def test_a_mutant_is_the_program_that_mutmut_means(mutants: list[Mutant]) -> None:
    for mutant in mutants:
        libcst.parse_module(mutant.source)
    pairs = {(mutant.function, mutant.before, mutant.after) for mutant in mutants}
    rest = ' to_number(context_window) - number_of(own, "reserveTokens")'
    assert ("should_compact", f">{rest}", f">={rest}") in pairs
    assert ("", "16384", "16385") in pairs


def test_ids_of_mutants_are_unique_and_stay(mutants: list[Mutant]) -> None:
    ids = [mutant.id for mutant in mutants]
    assert len(set(ids)) == len(ids)
    assert ids == [mutant.id for mutant in mutants_of("settings")]


def test_texts_are_not_changed_in_letter_case_alone(mutants: list[Mutant]) -> None:
    assert not [one for one in mutants if one.before.startswith('"') and one.before.lower() == one.after.lower()]


# ---- running ---------------------------------------------------------------------------------------------------------


def test_a_mutant_is_loaded_beside_the_reference(mutants: list[Mutant]) -> None:
    mutant = next(one for one in mutants if (one.before, one.after) == ("16384", "16385"))
    params = {"global": {}, "project": {}, "model": None}
    with mutated_package.mutated("settings", mutant.source):
        changed = mutated_package.operations("coding-agent").call("settings/resolve", params)
    restored = mutated_package.operations("coding-agent").call("settings/resolve", params)
    assert (changed["reserveTokens"], restored["reserveTokens"]) == (16385, 16384)
    assert compaction_reference.settings.DEFAULTS["reserveTokens"] == 16384


def test_a_mutant_that_cannot_be_loaded_is_stillborn(vectors: tuple[Vector, ...], mutants: list[Mutant]) -> None:
    broken = replace(mutants[0], source="raise ImportError\n")
    assert Campaign(vectors).fate(broken).state == STILLBORN


def test_importers_of_a_module_are_loaded_anew() -> None:
    assert {"settings", "retry", "operations"} <= set(mutated_package.importers("settings"))
    assert "tokens" not in mutated_package.importers("settings")


def test_killed_mutants_name_a_vector_that_notices(fates: list[Fate], vectors: tuple[Vector, ...]) -> None:
    ids = {vector.id for vector in vectors}
    killed = [fate for fate in fates if fate.state == KILLED]
    assert len(killed) > 80
    assert {fate.killer for fate in killed} <= ids


def test_fewer_vectors_leave_mutants_silent(vectors: tuple[Vector, ...], fates: list[Fate]) -> None:
    few = Campaign([vector for vector in vectors if vector.requirement.id in ("SET-01", "TRG-03")])
    silent = [fate for fate in few.fates("settings") if fate.state == SILENT]
    assert len(silent) > sum(fate.state == SILENT for fate in fates) + 10


def test_lines_are_those_that_a_call_reaches() -> None:
    from compaction_reference.settings import merge, should_compact

    lines = lines_reached([lambda: merge({}, {}), lambda: should_compact(1, 2, {"enabled": False})])
    places = [places for (module, _), places in lines.items() if module == "settings"]
    assert [0] in places and [1] in places


def test_a_change_is_shown_where_it_differs() -> None:
    assert change_of("a", "b") == "a → b"
    shown = change_of("x" * 80 + "1" + "y" * 80, "x" * 80 + "2" + "y" * 80)
    assert shown == f"…{'x' * 12}1{'y' * 12}… → …{'x' * 12}2{'y' * 12}…"


# ---- recording -------------------------------------------------------------------------------------------------------


def a_fate(mutants: list[Mutant], state: str, **more: str) -> Fate:
    return Fate(mutants[0], state, **more)


def test_a_new_silent_mutant_is_an_error(mutants: list[Mutant]) -> None:
    known = Record({"settings": ModuleRecord("", 0, 0, {}, {}, {})}, {})
    (problem,) = problems({"settings": [a_fate(mutants, SILENT)]}, known)
    assert problem.startswith(f"{mutants[0].id} is silent, no vector notices it")


def test_a_listed_silent_mutant_is_none_and_goes_when_it_is_killed(mutants: list[Mutant]) -> None:
    known = Record({"settings": ModuleRecord("", 0, 0, {}, {mutants[0].id: "a → b"}, {})}, {})
    silent = {"settings": [a_fate(mutants, SILENT)]}
    killed = {"settings": [a_fate(mutants, KILLED, killer="SET-x")]}
    assert problems(silent, known) == [] and stale(silent, known) == []
    assert problems(killed, known) == [] and stale(killed, known) == [mutants[0].id]


def test_an_equivalent_mutant_that_is_killed_is_an_error(mutants: list[Mutant]) -> None:
    known = Record({"settings": ModuleRecord("", 0, 0, {}, {}, {})}, {mutants[0].id: "no vector can tell"})
    (problem,) = problems({"settings": [a_fate(mutants, KILLED, killer="SET-x")]}, known)
    assert problem == f"{mutants[0].id} is listed as equivalent, and SET-x kills it"


def test_a_module_without_a_record_is_an_error(mutants: list[Mutant]) -> None:
    (problem,) = problems({"settings": [a_fate(mutants, KILLED, killer="SET-x")]}, Record({}, {}))
    assert problem.startswith("settings: not in the record")


def test_a_record_is_read_back(tmp_path: Path, fates: list[Fate], vectors: tuple[Vector, ...]) -> None:
    found = module_record("settings", fates)
    mutation_record.write_record(tmp_path / "mutation.json", Record({"settings": found}, {"a": "b"}))
    read = mutation_record.read_record(tmp_path / "mutation.json")
    assert read.equivalent == {"a": "b"}
    assert read.modules["settings"] == found


def test_a_record_does_not_become_looser() -> None:
    def with_silent(*ids: str) -> ModuleRecord:
        return ModuleRecord("", 5, 0, {}, dict.fromkeys(ids, "a → b"), {})

    known = Record({"settings": with_silent("m1", "m2")}, {})
    assert grown({"settings": with_silent("m3", "m4"), "new": with_silent("m5")}, known) == []
    (problem,) = grown({"settings": with_silent("m1", "m2", "m3")}, known)
    assert problem == "settings: 3 silent mutants, and 2 are allowed: not noted"


def test_modules_whose_source_is_another_are_changed(fates: list[Fate]) -> None:
    known = Record({"settings": module_record("settings", fates), "retry": ModuleRecord("", 0, 0, {}, {}, {})}, {})
    assert changed_modules(["settings", "retry", "tokens"], known) == ["retry", "tokens"]


def test_a_rule_is_credited_once_for_what_another_killed_first(vectors: tuple[Vector, ...], fates: list[Fate]) -> None:
    judging = {vector.id: {rule.id for rule in vector.requirements} for vector in vectors}
    killed = [fate for fate in fates if fate.state == KILLED]
    others = [rule for fate in killed for rule in set(fate.rules) - judging[fate.killer]]
    assert all(judging[fate.killer] <= set(fate.rules) for fate in killed)
    assert others and len(others) == len(set(others))


# ---- what is recorded ------------------------------------------------------------------------------------------------


def test_every_module_is_recorded() -> None:
    assert set(RECORD.modules) == set(module_names())


def test_at_least_98_percent_of_what_can_be_told_is_killed() -> None:
    assert RECORD.total.percent >= 98
    assert RECORD.total.counted > 8000


def test_the_proof_shows_the_recorded_modules_below_98_percent_and_the_sum() -> None:
    below = {name: one for name, one in RECORD.modules.items() if one.percent < 98}
    head, *rows, _ = mutation_rows(Record(below, {}))
    *_, total = mutation_rows(RECORD)
    assert aligned([head, *rows, total]) in (proof_dir() / "PROOF.md").read_text(encoding="utf-8")


def test_settings_are_as_recorded(fates: list[Fate]) -> None:
    silent = {fate.mutant.id for fate in fates if fate.state == SILENT}
    assert silent <= set(RECORD.modules["settings"].silent)


def test_every_reason_is_needed() -> None:
    assert {reason.text for reason in REASONS} <= set(RECORD.total.equivalent)


def test_a_reason_is_tried_only_where_nothing_killed(mutants: list[Mutant], fates: list[Fate]) -> None:
    excused = [fate for fate in fates if fate.state == EQUIVALENT]
    assert excused
    for fate in excused:
        reason = reason_for(fate.mutant)
        assert reason is not None and reason.text == fate.reason
