"""What is told of a property that does not hold."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from compaction_conformance.expectation import Result
from compaction_conformance.implementation import Request
from compaction_conformance.properties import Ask, Exchange, Property, Violation, all_properties
from compaction_conformance.properties.base import equal
from compaction_conformance.properties.checking import checked
from compaction_conformance.spec import Spec
from golden_side import side

BY_ID = {each.id: each for each in all_properties()}


def told(name: str, **faults: Any) -> dict[str, str]:
    """The rows of what is told, by their labels; the first line as `head`."""
    changed = {operation.replace("__", "/"): fault for operation, fault in faults.items()}
    head, *rows = checked(BY_ID[name], Ask(side(changed)), examples=20).splitlines()
    matches = [re.fullmatch(r"  (\w+) +(.*)", row) for row in rows]
    return {"head": head.strip(), **{match[1]: match[2] for match in matches if match}}


def test_a_failure_names_rule_operation_input_and_the_way_to_repeat_it(spec: Spec) -> None:
    rows = told("PROP-PRJ-append", projection__messages=lambda _, answer: {"messages": answer["messages"][:1]})
    assert list(rows) == ["head", "rule", "asks", "at", "want", "got", "with", "again"]
    rule = spec.requirements[BY_ID["PROP-PRJ-append"].requirements[0]]
    assert rows["rule"] == f"{rule.id} {rule.sentence}"
    assert rows["asks"] == "projection/messages"
    assert json.loads(rows["want"])["role"]
    session, _ = json.loads(rows["with"])
    assert session["entries"][0]["type"] == "message"
    assert "suite.test_properties --only PROP-PRJ-append" in rows["again"]


def test_a_long_input_is_cut() -> None:
    given = BY_ID["PROP-SES-round-trip"].given
    padded = given.map(lambda session: (session, "x" * 5_000))

    def check(ask: Ask, example: Any) -> None:
        raise Violation("no", "session/parse")

    each = Property("PROP-x", ("SES-01",), ("session/parse",), "A sentence.", padded, check)
    row = checked(each, Ask(side()), examples=1).splitlines()[-2]
    assert len(row) < 2_100
    assert re.search(r"… \(\d+ characters\)$", row)


@pytest.mark.parametrize(
    ("want", "got"), [("a", "b"), (["=a"], ["a"]), ({"x": "<id:1>"}, {"x": "y"}), ({"x": [{"y": "z"}]}, {"x": [{}]})]
)
def test_values_are_shown_as_they_were_given(want: Any, got: Any) -> None:
    with pytest.raises(Violation) as caught:
        equal("tokens/of_message", want, got)
    found = caught.value.difference
    assert found is not None
    for text in (str(found.want), str(found.got)):
        assert text in f"{want} {got} nothing"


def test_an_answer_that_keeps_to_its_schema_is_no_violation_of_it() -> None:
    def bare(_: Any, answer: Any) -> Any:
        return {**answer, "header": {key: value for key, value in answer["header"].items() if key != "version"}}

    rows = told("PROP-SES-version-one", session__parse=bare)
    assert (
        rows["head"] == "the answer keeps to its schema, but lacks 'version', which follows from the input (mismatch)"
    )


def test_an_answer_of_another_type_than_follows_is_a_mismatch() -> None:
    def check(ask: Ask, example: Any) -> None:
        ask.exchanges.append(Exchange(Request("session/tree", "{}"), Result({})))
        _ = None + 1  # type: ignore[operator]

    each = Property("PROP-x", ("SES-01",), ("session/tree",), "A sentence.", BY_ID["PROP-PRJ-plain"].given, check)
    with pytest.raises(Violation, match="keeps to its schema, but is not what follows from the input") as caught:
        each.examine(Ask(side()), None)
    assert (caught.value.failure, caught.value.operation) == ("mismatch", "session/tree")
