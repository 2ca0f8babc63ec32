"""The reference controller plays every scenario as Pi does; one without its fuse is caught and still ends."""

from __future__ import annotations

import copy
import json
import time
from pathlib import Path
from typing import Any

import pytest

from compaction_conformance import schemas
from compaction_conformance.expectation import Expectation, Result
from compaction_conformance.paths import fixtures_dir, spec_dir
from compaction_conformance.spec import load_spec
from compaction_conformance.vectors import Vector, load_vectors
from compaction_reference import operations
from compaction_reference.control import scenario
from compaction_reference.control.controller import Controller
from compaction_reference.errors import Refusal

FOLDER = fixtures_dir() / "scenarios"
VECTORS = load_vectors([FOLDER], load_spec(spec_dir()))
BY_ID = {vector.id: vector for vector in VECTORS}
HELD = [vector for vector in VECTORS if vector.level != "SHOULD"]
REPEATING = "CTL-overflow-repeats"
MODEL = {"provider": "acme", "id": "m", "contextWindow": 1000, "maxTokens": 100}


class NoFuse(Controller):
    """A controller that forgets that it has recovered already."""

    recovery_used = property(lambda self: False, lambda self, value: None)


class Insatiable(Controller):
    """A controller that goes on after everything, whatever came of it."""

    def _more_to_do(self) -> bool:
        super()._more_to_do()
        self.enqueue("go on", "followUp")
        return True


def played(params: Any, controller_class: type[Controller] = Controller) -> list[Any]:
    return scenario.Player(params["scenario"], controller_class).play()


def verdict(expect: Expectation, trace: list[Any], params: Any) -> bool:
    return expect.judge(Result({"trace": json.loads(json.dumps(trace))}), params).met


def turns(trace: list[Any]) -> int:
    return sum(item.get("request") == "turn" for item in trace)


def test_there_are_at_least_ninety_scenarios_and_none_is_there_twice() -> None:
    texts = [vector.params_text for vector in VECTORS if vector.level == "MUST"]
    assert len(texts) >= 90
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_a_scenario_file_has_its_shape(path: Path) -> None:
    assert schemas.first_error("scenario-file", json.loads(path.read_text(encoding="utf-8"))) is None


@pytest.mark.parametrize("case", HELD, ids=lambda case: case.id)
def test_the_trace_of_the_reference_is_that_of_the_oracle(case: Vector) -> None:
    result = operations.call(case.operation, json.loads(case.params_text))
    assert schemas.first_error(schemas.result_schema(case.operation), result) is None
    judged = case.expect.judge(Result(json.loads(json.dumps(result))), case.params)
    assert judged.met, judged.difference


@pytest.mark.parametrize("case", VECTORS, ids=lambda case: case.id)
def test_a_scenario_is_left_as_it_was_and_plays_alike_twice(case: Vector) -> None:
    params = json.loads(case.params_text)
    before = copy.deepcopy(params)
    first, second = played(params), played(params)
    assert params == before
    assert len(first) == len(second)
    assert [list(item) for item in first] == [list(item) for item in second]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_every_reading_has_the_shape_of_a_trace(path: Path) -> None:
    for raw in json.loads(path.read_text(encoding="utf-8"))["vectors"]:
        readings = raw["expect"].get("readings", [raw["expect"]])
        for reading in readings:
            assert schemas.first_error("scenario-trace", reading["result"]["trace"]) is None, raw["id"]


def test_an_overflow_that_repeats_ends_after_one_retry() -> None:
    trace = played(BY_ID[REPEATING].params)
    assert turns(trace) == 3  # one prompt before, the request that failed, and its retry
    assert trace[-1]["end"]["unusedReplies"] == 10


def test_a_controller_without_the_fuse_is_caught_and_still_ends() -> None:
    vector = BY_ID[REPEATING]
    trace = played(vector.params, NoFuse)
    assert turns(trace) > 3
    assert "end" in trace[-1]
    assert trace[-1]["end"]["unusedReplies"] == 0
    assert not verdict(vector.expect, trace, vector.params)


def test_without_the_fuse_every_recovery_that_has_to_be_refused_is_missed() -> None:
    missed = {vector.id for vector in HELD if not verdict(vector.expect, played(vector.params, NoFuse), vector.params)}
    assert {REPEATING, "CTL-overflow-twice", "CTL-length-twice", "CTL-retry-keeps-fuse"} <= missed
    assert "CTL-overflow-recovers" not in missed


def test_a_controller_that_never_stops_is_stopped_with_a_mark() -> None:
    params = {"scenario": {"models": [MODEL], "maxRequests": 7, "steps": [{"do": "prompt", "text": "one"}]}}
    trace = played(params, Insatiable)
    assert trace[-1] == {"stopped": "requests"}
    assert turns(trace) == 7
    assert turns(played(params)) == 1


@pytest.mark.parametrize(
    ("hooks", "mark"),
    [
        ([{"on": "agent_settled", "actions": [{"do": "prompt", "text": "again"}]}], "requests"),
        ([{"on": "compaction_start", "actions": [{"do": "compact"}]}], "trace"),
    ],
)
def test_hooks_that_feed_themselves_end(hooks: list[Any], mark: str) -> None:
    steps = [{"do": "prompt", "text": "x" * 400}, {"do": "prompt", "text": "y" * 400}, {"do": "compact"}]
    started = time.monotonic()
    trace = played({"scenario": {"models": [MODEL], "hooks": hooks, "steps": steps}})
    assert trace[-1] == {"stopped": mark}
    assert schemas.first_error("scenario-trace", trace) is None
    assert time.monotonic() - started < 20


def test_a_reference_to_an_entry_that_is_not_there_is_refused() -> None:
    steps = [{"do": "navigate", "target": {"of": "user", "nth": 3}}]
    with pytest.raises(Refusal) as refused:
        operations.call("control/run", {"scenario": {"models": [MODEL], "steps": steps}})
    assert refused.value.kind == "malformed_input"


def test_the_example_of_the_page_is_a_scenario_and_recovers() -> None:
    page = (spec_dir() / "scenarios.md").read_text(encoding="utf-8")
    example = json.loads(page.split("```json\n")[1].split("```")[0])
    assert schemas.first_error("scenario", example) is None
    trace = scenario.run(example)["trace"]
    reasons = [item["reason"] for item in trace if item.get("event") == "compaction_start"]
    assert reasons == ["overflow"]
    assert trace[-1]["end"]["unusedReplies"] == trace[-1]["end"]["unusedSummaries"] == 0


def test_every_member_of_a_scenario_is_on_the_page() -> None:
    page = (spec_dir() / "scenarios.md").read_text(encoding="utf-8")
    schema = schemas.all_schemas()["scenario"]
    names = [
        *schema["properties"],
        *schema["$defs"]["reply"]["properties"],
        *schema["$defs"]["action"]["properties"]["do"]["enum"],
    ]
    names += schema["$defs"]["hook"]["properties"]["on"]["enum"]
    kinds = schemas.all_schemas()["scenario-trace"]["$defs"]["kind"]["enum"]
    assert [name for name in [*names, *kinds] if f"`{name}`" not in page] == []


TOOL = {"name": "t", "description": "t", "parameters": {"type": "object", "properties": {}}}


def told_anew(declared: Any) -> bool:
    """Whether a tool that a session declares is declared again before the next message."""
    own = {"role": "system", "content": "be kind", "toolsAdded": [declared], "timestamp": 0}
    entry = {"type": "message", "id": "s0", "parentId": None, "timestamp": "2025-01-01T00:00:00.000Z", "message": own}
    steps = [{"do": "prompt", "text": "one"}]
    script = {"models": [MODEL], "tools": {"t": []}, "entries": [entry], "replies": [{"text": "fine"}], "steps": steps}
    lines = [item["entry"].get("line") for item in scenario.run(script)["trace"] if "entry" in item]
    return "system" in lines


@pytest.mark.parametrize("same", [TOOL, dict(reversed(TOOL.items())), {**TOOL, "label": "t"}])
def test_a_tool_whose_definition_is_the_same_is_not_declared_again(same: Any) -> None:
    assert not told_anew(same)


@pytest.mark.parametrize(
    "other",
    [
        {**TOOL, "description": "other"},
        {**TOOL, "constrainedSampling": None},
        {**TOOL, "parameters": {"properties": {}, "type": "object"}},
        "t",
    ],
)
def test_a_tool_whose_definition_is_another_one_is_declared_again(other: Any) -> None:
    assert told_anew(other)


@pytest.mark.parametrize("moment", ["turn_end", "agent_before_settle"])
@pytest.mark.parametrize(
    "other", [{"type": "label", "targetId": "none", "label": "x"}, {"type": "session_info", "name": "n"}]
)
def test_a_draft_of_another_type_is_passed_over(moment: str, other: Any) -> None:
    hook = {"on": moment, "nth": 1, "answer": {"entries": [other, {"type": "custom", "customType": "k"}]}}
    steps = [{"do": "prompt", "text": "one"}]
    script = {"models": [MODEL], "replies": [{"text": "fine"}], "hooks": [hook], "steps": steps}
    trace = scenario.run(script)["trace"]
    assert [item["entry"]["type"] for item in trace if "entry" in item] == ["message", "message", "custom"]
    assert not [item for item in trace if "extensionError" in item]
