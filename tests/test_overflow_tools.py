"""The library below `overflow …`: tables, portable regexes, their cost, what a pattern would do, new cases, scores."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from compaction_conformance.connect import Settings, connect
from compaction_conformance.corpus.cases import Answer, Case, Evidence, Response, find_case, load_corpus
from compaction_conformance.errors import InvalidInput
from compaction_conformance.implementation import Implementation
from compaction_conformance.overflow import scoreboard
from compaction_conformance.overflow.adding import MAX_BODY, Draft, add_case
from compaction_conformance.overflow.asking import ErrorText, classified, overflows, retried
from compaction_conformance.overflow.checking import check_pattern, report_text
from compaction_conformance.overflow.cost import tempting_texts, try_regex
from compaction_conformance.overflow.portable import foreign_parts
from compaction_conformance.overflow.scores import (
    Score,
    Verdicts,
    entry,
    recorded_text,
    scored_cases,
    whole_text,
)
from compaction_conformance.overflow.scores import scoreboard as entries_of
from compaction_conformance.overflow.tables import edition_tables
from compaction_conformance.overflow.trying import as_json, block, try_texts
from samples import CASE

TABLE = next(table for table in edition_tables() if table.edition == "pi-0.87")


@pytest.fixture
def reference() -> Iterator[Implementation]:
    with closing(connect("reference", Settings())) as side:
        yield side


def case(name: str, message: str, *, label: bool = True, disputed: bool = False, **own: Any) -> Case:
    answer = Answer("error", message, own.pop("said", False), own.pop("retryable", None))
    return Case(
        id=name,
        family="acme",
        provider="acme",
        provider_id=own.pop("provider_id", "acme"),
        api="openai-completions",
        context_window=None,
        response=Response(400, (), (own.pop("body", message).encode(),), False, "close"),
        label="overflow" if label else "not-overflow",
        of="input" if label else "",
        reason="r",
        kind=own.pop("kind", "context-input" if label else "rate-limit"),
        disputed=disputed,
        policy="p" if disputed else "",
        evidence=Evidence(own.pop("grade", "synthetic"), "ours", "2026"),
        answers=MappingProxyType({"pi-0.87": answer}),
        file=Path("acme.json"),
    )


class Wordy:
    """An implementation for tests: an overflow is what says "overflow", and what says "again" is asked again."""

    def __init__(self, *operations: str) -> None:
        self.operations = list(operations) or ["overflow/is_overflow", "retry/is_retryable"]

    def describe(self) -> dict[str, Any]:
        return {
            "protocolVersion": 1,
            "implementation": {"name": "wordy", "version": "1"},
            "editions": ["pi-0.87"],
            "profiles": ["coding-agent"],
            "operations": self.operations,
        }

    def call(self, method: str, params: Any) -> Any:
        text = params["message"]["errorMessage"]
        if "broken" in text:
            raise RuntimeError("fake trouble")
        if method == "retry/is_retryable":
            return {"retryable": "again" in text}
        return {"overflow": "overflow" in text}


wordy = Wordy()
taciturn = Wordy("overflow/is_overflow")


# Tables


def test_a_pattern_decides_and_is_named() -> None:
    ruling = TABLE.rule("PROMPT IS TOO LONG")
    assert (ruling.overflow, ruling.decided_by, ruling.outvoted) == (True, ("OVP-01",), ())


def test_an_exclusion_outvotes_the_patterns() -> None:
    ruling = TABLE.rule("rate limit: too many tokens")
    assert (ruling.overflow, ruling.decided_by, ruling.outvoted) == (False, ("OVX-02",), ("OVP-23",))


@pytest.mark.parametrize(("provider", "overflow"), [("cerebras", True), ("acme", False), ("", False)])
def test_a_rule_for_one_provider_asks_who_it_is(provider: str, overflow: bool) -> None:
    assert TABLE.rule("400 (no body)", provider).overflow is overflow


def test_the_tables_say_what_pi_said_of_every_case() -> None:
    for one in scored_cases(load_corpus()):
        text = recorded_text(one)
        assert text is not None
        assert TABLE.rule(text.text, text.provider).overflow == one.answers["pi-0.87"].overflow, one.id


# Asking


def test_an_implementation_that_does_not_serve_an_operation_is_told_apart(reference: Implementation) -> None:
    with closing(connect(f"python:{__name__}:taciturn", Settings())) as side:
        told = retried(side, [ErrorText("again")])[0]
    assert (told.value, told.trouble) == (None, "does not serve retry/is_retryable")


def test_trouble_in_one_text_does_not_end_the_others() -> None:
    with closing(connect(f"python:{__name__}:wordy", Settings())) as side:
        told = overflows(side, [ErrorText("broken"), ErrorText("overflow"), ErrorText("fine")])
    assert [one.value for one in told] == [None, True, False]
    assert "fake trouble" in told[0].trouble


def test_the_recommended_classifier_is_given_all_that_is_known(reference: Implementation) -> None:
    reserved = "maximum context length is 8192 tokens. However, you requested 8300 tokens"
    told = classified(reference, [ErrorText(reserved), ErrorText(reserved, max_output_tokens=8000)])
    assert [one.value for one in told] == [True, False]


# Trying a text


def test_every_side_says_who_decided(reference: Implementation) -> None:
    with closing(connect(f"python:{__name__}:wordy", Settings())) as side:
        tried = try_texts([ErrorText("429 rate limit: too many tokens, again")], reference, {"mine": side})[0]
    shown = block(tried)
    for part in ("excluded by OVX-02 (any provider); OVP-23 match", "by OVD-", "mine", "Pi asks again  yes"):
        assert part in shown
    told = as_json(tried)
    assert told["editions"]["pi-0.87"] == {"overflow": False, "decidedBy": ("OVX-02",), "outvoted": ("OVP-23",)}  # type: ignore[index]
    assert (told["retryable"], told["implementations"]) == (True, {"mine": {"overflow": False}})


def test_a_hostile_text_is_shown_escaped_and_cut(reference: Implementation) -> None:
    shown = block(try_texts([ErrorText("\x1b[2J" + "x" * 5000)], reference, {})[0])
    assert "\x1b" not in shown
    assert "5004 characters" in shown


# Portable regexes


@pytest.mark.parametrize("regex", ["too (?:long|large)", "^4(?:00|13)", "[^\\n]*x", "a\\(b\\)", "a|b+c?", "[a-z0-9,]+"])
def test_the_portable_subset_is_wide_enough(regex: str) -> None:
    assert foreign_parts(regex) == []


@pytest.mark.parametrize(
    "regex", [r"\d", r"\bx", "(?=b)", "(?<=a)", "(a)", r"(a)\1", "a.b", "a{2}", "A", "a$", "a^b", r"\u00a0", "(?P<n>a)"]
)
def test_what_engines_read_differently_is_named(regex: str) -> None:
    assert foreign_parts(regex) != []


def test_groups_that_capture_can_be_allowed() -> None:
    assert foreign_parts("limit ([0-9]+)", groups=True) == []
    assert foreign_parts("limit (?=[0-9]+)", groups=True) != []


# The cost of a regex


def test_a_plain_regex_is_cheap_and_linear() -> None:
    trial = try_regex("exceeds the context window", ["x exceeds the context window", "other"], 60)
    assert trial.finished
    assert trial.matches == {0}
    assert trial.cost is not None
    assert trial.cost.linear


def test_a_gap_without_a_limit_is_found_quadratic() -> None:
    trial = try_regex("input token count.*exceeds the maximum", [], 60)
    assert trial.cost is not None
    assert not trial.cost.linear


def test_a_regex_that_never_ends_is_ended() -> None:
    trial = try_regex("(?:a+)+b", ["aaa"], 3)
    assert not trial.finished
    assert trial.matches == frozenset()


def test_a_regex_that_never_ends_on_the_texts_themselves_is_ended_too() -> None:
    trial = try_regex("(?:a+)+b", ["a" * 64], 3)
    assert (trial.finished, trial.matches, trial.cost) == (False, None, None)


@pytest.mark.parametrize("regex", ["(", "a{2,1}", "[", "*a", "(?P<1>)"])
def test_what_is_no_regex_is_refused(regex: str) -> None:
    with pytest.raises(InvalidInput, match="is no regex"):
        try_regex(regex, [], 60)


def test_tempting_texts_are_made_of_the_regex_itself() -> None:
    units = [unit for _, unit in tempting_texts("too (?:long|large)")]
    assert {"long", "long ", "lon", "too "} <= set(units)
    assert len(tempting_texts("|".join(f"word{number}" for number in range(500)))) < 100


# What a pattern would do

CASES = [
    case("known", "prompt is too long"),
    case("new", "the ark is full"),
    case("other", "the ark is closed", label=False),
    case("quota", "rate limit: the ark is full", label=False),
    case("policy", "the ark is full of bytes", label=False, disputed=True),
]


def report_of(regex: str, *, exclusion: bool = False) -> Any:
    return check_pattern(regex, CASES, TABLE, exclusion=exclusion, time_limit=60)


def test_a_pattern_shows_what_it_newly_catches() -> None:
    report = report_of("ark is full")
    assert (report.right, report.wrong, report.unchanged, report.disputed) == (("new",), (), ("quota",), ("policy",))
    assert report.sound
    assert "verdict   sound" in report_text(report)


def test_a_pattern_shows_what_it_breaks() -> None:
    report = report_of("the ark")
    assert report.wrong == ("other",)
    assert not report.sound
    assert "WRONG: newly taken for an overflow: 1 (other)" in report_text(report)


def test_an_exclusion_shows_what_it_loses() -> None:
    report = report_of("prompt", exclusion=True)
    assert (report.right, report.wrong) == ((), ("known",))
    assert "overflow that is lost: 1 (known)" in report_text(report)


def test_a_pattern_that_engines_read_differently_is_not_sound() -> None:
    report = report_of(r"ark\s+is full")
    assert report.foreign == ("\\s",)
    assert not report.sound


def test_a_pattern_sees_folded_letters() -> None:
    assert check_pattern("ark", [case("c", "THE ARK")], TABLE, exclusion=False, time_limit=60).right == ("c",)


# Adding a case


def draft(body: bytes = b'{"error":"the ark is full"}', family: str = "acme", status: int = 400, **own: Any) -> Draft:
    members = {"id": "acme-full", **CASE}
    return Draft(family, body, {**members, **own}, status, own.pop("headers", {}))


def written(folder: Path, name: str = "acme") -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))["cases"]
    return cases


def test_a_case_starts_a_family(tmp_path: Path) -> None:
    added = add_case(draft(), tmp_path)
    assert added.file == tmp_path / "acme.json"
    assert written(tmp_path)[0]["response"] == {
        "status": 400,
        "headers": {"content-type": "application/json"},
        "body": '{"error":"the ark is full"}',
    }
    assert find_case(load_corpus(tmp_path), "acme-full").overflow
    assert list(tmp_path.iterdir()) == [added.file]


def test_a_case_is_appended_and_nothing_else_changes(tmp_path: Path) -> None:
    add_case(draft(), tmp_path)
    before = (tmp_path / "acme.json").read_text(encoding="utf-8")
    add_case(draft(b"quite another text", id="acme-other"), tmp_path)
    after = (tmp_path / "acme.json").read_text(encoding="utf-8")
    assert after.startswith(before.removesuffix("\n]\n}\n"))
    assert [one["id"] for one in written(tmp_path)] == ["acme-full", "acme-other"]


def test_what_is_private_becomes_a_placeholder_and_is_told(tmp_path: Path) -> None:
    body = (
        b'{"error":"too long","key":"sk-abcdefgh1234567890abcd","mail":"jo@firm.io","request_id":"req_9f2k4mx81qzt03"}'
    )
    added = add_case(draft(body, reason="told by jo@firm.io"), tmp_path)
    text = (tmp_path / "acme.json").read_text(encoding="utf-8")
    assert not any(secret in text for secret in ("sk-abc", "firm.io", "9f2k"))
    assert {told.split()[0] for told in added.redacted} == {"key", "mail", "id"}
    assert not any("1234567890" in told for told in added.redacted)


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b'{"a":1}', "application/json"),
        (b"<html>", "text/html"),
        (b"plain", "text/plain"),
        (b'data: {"error":1}\n\ndata: [DONE]\n\n', "text/event-stream"),
    ],
)
def test_the_kind_of_body_is_recognised(tmp_path: Path, body: bytes, content_type: str) -> None:
    assert add_case(draft(body), tmp_path).case["response"]["headers"] == {"content-type": content_type}


def test_a_stream_is_kept_as_frames(tmp_path: Path) -> None:
    add_case(draft(b'data: {"error":1}\n\ndata: [DONE]\n\n', status=200), tmp_path)
    assert written(tmp_path)[0]["response"]["frames"] == ['data: {"error":1}\n\n', "data: [DONE]\n\n"]


def test_bytes_that_are_no_text_are_kept(tmp_path: Path) -> None:
    add_case(draft(b"\xff\xfe\x00too long"), tmp_path)
    assert load_corpus(tmp_path)[0].response.body == b"\xff\xfe\x00too long"


def test_the_same_response_twice_is_refused(tmp_path: Path) -> None:
    add_case(draft(), tmp_path)
    with pytest.raises(InvalidInput, match="same response as acme-full"):
        add_case(draft(id="acme-again"), tmp_path)
    assert len(written(tmp_path)) == 1


def test_a_response_that_differs_in_numbers_alone_needs_a_word(tmp_path: Path) -> None:
    add_case(draft(b"9000 tokens are too many"), tmp_path)
    with pytest.raises(InvalidInput, match="numbers alone") as refusal:
        add_case(draft(b"9001 tokens are too many", id="acme-more"), tmp_path)
    assert "--allow-similar" in str(refusal.value)
    added = add_case(draft(b"9001 tokens are too many", id="acme-more"), tmp_path, allow_similar=True)
    assert [warning.code for warning in added.warnings] == ["duplicate-message"]


@pytest.mark.parametrize(
    ("own", "what"),
    [
        ({"id": "Acme Full"}, "/cases/0/id"),
        ({"api": "smoke-signals"}, "/cases/0/api"),
        ({"of": None}, "/cases/0/of"),
        ({"evidence": {"grade": "verbatim", "source": "ours", "seen": "2026"}}, "verbatim without a source"),
        ({"status": 999}, "/cases/0/response/status"),
    ],
)
def test_a_case_that_is_not_sound_is_refused_and_nothing_is_written(tmp_path: Path, own: Any, what: str) -> None:
    with pytest.raises(InvalidInput, match=what):
        add_case(draft(**own), tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("family", ["", "../acme", "a/b", "Acme", "a b"])
def test_a_family_is_a_plain_name(tmp_path: Path, family: str) -> None:
    with pytest.raises(InvalidInput, match="no name of a family"):
        add_case(draft(family=family), tmp_path)


def test_a_body_has_a_limit(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="bytes"):
        add_case(draft(b"x" * (MAX_BODY + 1)), tmp_path)


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    assert add_case(draft(), tmp_path, write=False).case["id"] == "acme-full"
    assert list(tmp_path.iterdir()) == []


# Scores


def verdicts(**said: bool | None) -> Verdicts:
    return Verdicts("e", "about", said, dict.fromkeys(said, True))


def test_recall_and_precision_are_counted_on_undisputed_cases() -> None:
    cases = [case("a", "x"), case("b", "x"), case("c", "x", label=False), case("d", "x", label=False, disputed=True)]
    one = entry(verdicts(a=True, b=False, c=True, d=True), cases)
    assert one.total == Score(caught=1, missed=1, alarms=1, passed=0, loops=1)
    assert (one.total.recall, one.total.precision, one.disputed.alarms) == (0.5, 0.5, 1)
    assert (one.missed, one.alarms, one.loops) == (("b",), ("c",), ("b",))


def test_a_miss_that_is_not_repeated_is_no_loop() -> None:
    one = entry(Verdicts("e", "", {"a": False}, {"a": False}), [case("a", "x")])
    assert (one.total.missed, one.total.loops, one.loops) == (1, 0, ())


def test_no_verdict_counts_for_nothing() -> None:
    one = entry(verdicts(a=None), [case("a", "x")])
    assert one.total == Score(silent=1)
    assert (one.total.recall, one.total.precision, one.total.count) == (None, None, 1)


def test_cases_are_split_by_grade_class_and_provider() -> None:
    cases = [case("a", "x", grade="verbatim"), case("b", "x", provider_id="other", label=False)]
    one = entry(verdicts(a=True, b=True), cases)
    assert {name: sorted(groups) for name, groups in one.splits.items()} == {
        "grade": ["synthetic", "verbatim"],
        "class": ["context-input", "rate-limit"],
        "provider": ["acme", "other"],
    }
    assert one.splits["class"]["rate-limit"] == Score(alarms=1)


def test_a_case_without_an_error_text_is_left_out() -> None:
    silent = [one for one in load_corpus() if recorded_text(one) is None]
    assert silent
    assert all(one.answers["pi-0.87"].stop_reason != "error" for one in silent)


def test_a_body_that_a_client_dropped_is_read_all_the_same() -> None:
    dropped = case("a", "400 status code (no body)", body="the prompt is too long")
    text, whole = recorded_text(dropped), whole_text(dropped)
    assert text is not None
    assert whole is not None
    assert (text.text, whole.text) == ("400 status code (no body)", "400 status code (no body)\nthe prompt is too long")
    assert whole_text(case("b", "400: x", body="x")) == recorded_text(case("b", "400: x", body="x"))


def test_everybody_is_on_the_board(reference: Implementation) -> None:
    cases = load_corpus()
    with closing(connect(f"python:{__name__}:wordy", Settings())) as side:
        entries = {one.name: one for one in entries_of(cases, reference, {"mine": side})}
    assert list(entries)[:4] == ["always", "never", "pi-0.87 recorded", "pi-1.6 recorded"]
    assert list(entries)[-3:] == ["recommended", "recommended, recorded", "mine"]
    assert entries["always"].total.recall == 1
    assert (entries["never"].total.recall, entries["never"].total.precision) == (0, None)
    assert entries["pi-0.87 recorded"].missed == entries["pi-0.87 table"].missed
    assert entries["pi-0.87 recorded"].loops == entries["pi-0.87 table"].loops
    recommended = entries["recommended"].total
    assert min(recommended.recall or 0, recommended.precision or 0) >= 0.98
    board = scoreboard.table(list(entries.values()), len(cases), 0)
    assert all(name in board for name in entries)
    told = scoreboard.as_json(list(entries.values()))
    assert json.loads(json.dumps(told)) == told


def test_rates_are_rounded_down() -> None:
    one = entry(
        verdicts(**{f"c{number}": number > 0 for number in range(2000)}), [case(f"c{n}", "x") for n in range(2000)]
    )
    assert "0.999" in scoreboard.table([one], 2000, 0)


def test_faults_name_the_cases() -> None:
    cases = [case("a", "x"), case("c", "x", label=False)]
    lines = scoreboard.faults(entry(verdicts(a=False, c=True), cases)).splitlines()
    assert [line.split() for line in lines[1:]] == [["loop", "a"], ["missed", "a"], ["alarm", "c"]]


def test_a_split_shows_every_entrant(reference: Implementation) -> None:
    entries = entries_of(load_corpus(), reference, {})
    shown = scoreboard.split_table(entries, "grade")
    assert "by grade" in shown
    assert all(one.name in shown for one in entries)
