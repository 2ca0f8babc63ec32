"""The recommended classifier: its table is sound and cheap, every engine reads it alike, and it reads meanings.

The measure is the labelled corpus, with the whole body of each response in the text; cases of policy are left out.
"""

from __future__ import annotations

import dataclasses
import html
import json
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest
import re2
from hypothesis import given, settings
from hypothesis import strategies as st

from compaction_conformance import schemas
from compaction_conformance.corpus.cases import Case, load_corpus
from compaction_conformance.overflow.cost import tempting_texts
from compaction_conformance.overflow.portable import foreign_parts
from compaction_conformance.overflow.scores import whole_text
from compaction_conformance.paths import fixtures_dir, spec_dir
from compaction_reference.errors import Refusal
from compaction_reference.operations import call
from compaction_reference.overflow_reading import HEAD, LONGEST, TAIL, sentences
from compaction_reference.recommended_overflow import Verdict, classify_text, decide, read, table

TABLE: dict[str, Any] = json.loads((spec_dir() / "recommended-overflow.json").read_text(encoding="utf-8"))
ROWS: list[dict[str, Any]] = [*TABLE["words"], *TABLE["numbers"]]
EVERY_ROW = pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
EVERY_DECISION = pytest.mark.parametrize("row", TABLE["decisions"], ids=lambda row: row["id"])
LEAST = 0.98


def judged(text: str, **around: Any) -> Verdict:
    return decide(read({"errorMessage": text, **around}))


def params_of(case: Case) -> dict[str, Any]:
    text = whole_text(case)
    assert text is not None
    return text.params()


COUNTED = [case for case in load_corpus() if not case.disputed and whole_text(case) is not None]
VECTORS = [
    vector
    for path in sorted((fixtures_dir() / "vectors" / "recommended-classifier").glob("*.json"))
    for vector in json.loads(path.read_text(encoding="utf-8"))["vectors"]
]
TEXTS = [params_of(case) for case in COUNTED] + [vector["params"] for vector in VECTORS]
SHORT = [params for params in TEXTS if len(params["errorMessage"]) < 5_000]


# The table


def test_the_table_keeps_its_schema() -> None:
    assert schemas.first_error("recommended-overflow", TABLE) is None


@pytest.mark.parametrize(("group", "prefix"), [("words", "OVW"), ("numbers", "OVN"), ("decisions", "OVD")])
def test_ids_count_up_without_a_gap(group: str, prefix: str) -> None:
    rows = TABLE[group]
    assert [row["id"] for row in rows] == [f"{prefix}-{number:02d}" for number in range(1, len(rows) + 1)]


@EVERY_ROW
def test_an_example_is_a_sentence_that_matches_its_row(row: dict[str, Any]) -> None:
    assert sentences(row["example"]) == [f" {row['example']} "]
    assert re.search(row["regex"], f" {row['example']} ")


@EVERY_ROW
def test_a_regex_stays_in_the_portable_subset(row: dict[str, Any]) -> None:
    assert foreign_parts(row["regex"], groups=row["id"].startswith("OVN")) == []
    assert re.compile(row["regex"]).groups == len(row.get("gives", ()))


def test_every_word_has_a_meaning_and_decides_something() -> None:
    words = {row["word"] for row in TABLE["words"]}
    conditions = ("sentence", "sentenceLacks", "text", "textLacks")
    used = {word for row in TABLE["decisions"] for name in conditions for word in row["when"].get(name, ())}
    assert set(TABLE["meanings"]) == words == used


@EVERY_DECISION
def test_a_decision_decides_its_example(row: dict[str, Any]) -> None:
    verdict = classify_text(row["example"])
    assert verdict == {"overflow": row["overflow"], "because": row["id"]}


@EVERY_DECISION
def test_no_decision_is_idle(row: dict[str, Any]) -> None:
    """Some text of the corpus or of the vectors is decided by it."""
    assert any(decide(read(params)).because == row["id"] for params in TEXTS)


def test_only_the_last_decision_has_no_condition() -> None:
    assert [bool(row["when"]) for row in TABLE["decisions"]] == [True] * (len(TABLE["decisions"]) - 1) + [False]


# How good it is


def counted(cases: list[Case]) -> tuple[float, float]:
    """Recall and precision."""
    told = [(case.overflow, classify_text(params_of(case))["overflow"]) for case in cases]
    caught = sum(label and verdict for label, verdict in told)
    return caught / sum(label for label, _ in told), caught / sum(verdict for _, verdict in told)


def test_recall_and_precision_on_the_corpus_are_high() -> None:
    recall, precision = counted(COUNTED)
    assert recall >= LEAST
    assert precision >= LEAST


@pytest.mark.parametrize("grade", ["verbatim", "message-verbatim", "reconstructed"])
def test_recall_is_high_for_every_grade_that_was_seen_in_the_wild(grade: str) -> None:
    recall, _ = counted([case for case in COUNTED if case.evidence.grade == grade])
    assert recall >= LEAST


def test_it_is_better_than_any_recorded_edition_of_pi() -> None:
    recall, precision = counted(COUNTED)
    for edition in ("pi-0.87", "pi-1.6"):
        told = [(case.overflow, case.answers[edition].overflow) for case in COUNTED if edition in case.answers]
        caught = sum(label and verdict for label, verdict in told)
        assert recall > caught / sum(label for label, _ in told)
        assert precision > caught / sum(verdict for _, verdict in told)


# Sentences that nobody has said yet: every subject with every verb and every limit

SUBJECTS = (
    "The prompt",
    "Input length",
    "The number of input tokens",
    "Total tokens",
    "The conversation",
    "prompt_tokens",
)
SUBJECTS += ("Your messages", "Token count (140,011)", "The combined input of 140011 tokens", "The chat history")
VERBS = ("exceeds", "is larger than", "is over", "surpasses", "does not fit into", "must be less than", "cannot exceed")
VERBS += ("should be at most", "would exceed", "is too large for", "has exceeded", "goes beyond")
LIMITS = ("the context window", "the maximum context length of 131072 tokens", "max_model_len", "the token limit")
LIMITS += ("the maximum input length", "the configured limit of 131072 tokens", "n_ctx", "the model's context limit")
OTHERS = (
    "The image",
    "The PDF",
    "The tool name",
    "max_completion_tokens",
    "The requested output",
    "temperature",
    "The payload",
)
OTHERS += ("Your request rate", "Requests per day", "Your usage", "The schema", "Your balance", "The header", "The URL")
OTHER_LIMITS = (
    "the maximum",
    "the limit of 100",
    "the allowed maximum of 20",
    "5 MB",
    "the model's limit",
    "its quota",
)
SUBJECTS_ZH = ("输入内容", "提示词", "上下文长度", "请求的token数", "消息长度", "prompt tokens")
VERBS_ZH = ("超过", "超出了", "大于", "不能超过")
LIMITS_ZH = ("模型最大上下文长度", "上限", "最大token数", "限制32768")


def sentences_of(*parts: Sequence[str], between: str = " ") -> list[str]:
    return [f'400: {{"message":"{between.join(words)}."}}' for words in product(*parts)]


def share_of_overflows(texts: list[str]) -> float:
    return sum(judged(text, status=400).overflow for text in texts) / len(texts)


def test_an_overflow_is_told_whatever_the_subject_verb_and_limit_are() -> None:
    assert share_of_overflows(sentences_of(SUBJECTS, VERBS, LIMITS)) >= 0.99


def test_an_overflow_in_chinese_is_told_alike() -> None:
    assert share_of_overflows(sentences_of(SUBJECTS_ZH, VERBS_ZH, LIMITS_ZH, between="")) >= 0.99


def test_the_same_verbs_about_other_things_tell_no_overflow() -> None:
    assert share_of_overflows(sentences_of(OTHERS, VERBS, OTHER_LIMITS)) <= 0.01


# What plays no part


def _nested(text: str, depth: int) -> str:
    for _ in range(depth):
        text = json.dumps({"error": {"message": text, "type": "api_error", "code": None}})
    return text


WRAPS: dict[str, Callable[[str], str]] = {
    "json": lambda text: _nested(text, 1),
    "json in json": lambda text: _nested(text, 2),
    "json in json in json": lambda text: _nested(text, 3),
    "a json string": lambda text: json.dumps(json.dumps(text)),
    "python's notation": lambda text: f"Error code: 400 - {{'error': {{'message': {text!r}}}}}",
    "bytes": lambda text: f"AnthropicException - b'{text}'",
    "html": lambda text: f"<html><body><p>{html.escape(text)}</p></body></html>",
    "an event": lambda text: f"data: {_nested(text, 1)}\n\ndata: [DONE]\n\n",
    "class names": lambda text: f"litellm.BadRequestError: OpenAIException - {text}",
    "a router": lambda text: f"Error from provider(acme,acme-1: 400): {text}",
    "model groups": lambda text: f"{text}\nReceived Model Group=acme-1\nAvailable Model Group Fallbacks=None",
    "a request id": lambda text: f"{text} (request id: 20250101abc)",
}


def tells_by_its_words(params: dict[str, Any]) -> bool:
    """Others tell by the status that they begin with, which is none any more when something stands before it."""
    reading = read(params)
    without = dataclasses.replace(reading, status=None)
    return "no text" not in reading.facts and decide(reading).overflow == decide(without).overflow


ONCE = {"html": "<", "python's notation": "\xa0"}  # what such a wrap hides for good, when it is in the text already


@pytest.mark.parametrize("wrap", sorted(WRAPS))
def test_what_wraps_a_text_changes_no_verdict(wrap: str) -> None:
    for params in SHORT:
        text = params["errorMessage"]
        if tells_by_its_words(params) and ONCE.get(wrap, "\0") not in text:
            wrapped = {**params, "errorMessage": WRAPS[wrap](text)}
            assert classify_text(wrapped)["overflow"] == classify_text(params)["overflow"], text


@given(st.sampled_from(SHORT), st.randoms(use_true_random=False))
@settings(max_examples=400, deadline=None)
def test_letter_case_changes_no_verdict(params: dict[str, Any], random: Any) -> None:
    text = params["errorMessage"]
    other = "".join(char.swapcase() if char.isascii() and random.random() < 0.5 else char for char in text)
    for variant in (other, text.upper() if text.isascii() else other, text.lower()):
        assert classify_text({**params, "errorMessage": variant})["overflow"] == classify_text(params)["overflow"]


@given(st.sampled_from(SHORT), st.randoms(use_true_random=False))
@settings(max_examples=400, deadline=None)
def test_white_space_changes_no_verdict(params: dict[str, Any], random: Any) -> None:
    breaks = ["\n", "\r\n", "  ", "\t", " \n   ", "\u00a0"]
    text = "".join(
        random.choice(breaks) if char == " " and random.random() < 0.5 else char for char in params["errorMessage"]
    )
    verdict = classify_text({**params, "errorMessage": f"\n {text}\r\n"})
    assert verdict["overflow"] == classify_text(params)["overflow"]


# Reading


@pytest.mark.parametrize(
    ("text", "read_as"),
    [
        ("", []),
        ("A b.\nC", [" a b ", " c "]),
        ("131,072 tokens", [" 131072 tokens "]),
        ("[1,8192] and 1,23", [" 1 8192 and 1 23 "]),
        ("130900.0 of gpt-4.1 128k", [" 130900 of gpt 4.1 128000 "]),
        ("got -5, 3-4, a-b", [" got minus 5 3 4 a b "]),
        ("the model's `max_tokens`", [" the models max tokens "]),
        ('{"a":"b","c":1}', [" a b ", " c 1 "]),
        (r"one\ntwo \\\"three\\\" \u4e0a", [" one two three 上 "]),
        ("<p>a &lt; b &amp;quot;c&quot; &#39;d&#x27;</p>", [" a < b c d "]),
        ("see https://a.example/rate-limit?x=1 now", [" see now "]),
        ("Ｔｏｏ　ｌｏｎｇ", [" too long "]),
        ("输入过长。请缩短", [" 输入过长 ", " 请缩短 "]),
        ("a ≤ b", [" a <= b "]),
        ("l'entrée dépasse", [" l entrée dépasse "]),
        ("&#99999999999; &#xffffffffff;", []),
    ],
)
def test_a_text_is_read_as_sentences(text: str, read_as: list[str]) -> None:
    assert sentences(text) == read_as


def test_a_long_sentence_is_read_in_parts_that_overlap_by_half() -> None:
    words = [f"w{number}" for number in range(150)]
    parts = [part.split() for part in sentences(" ".join(words))]
    assert all(len(part) <= LONGEST for part in parts)
    assert all(former[LONGEST // 2 :] == latter[: LONGEST // 2] for former, latter in pairwise(parts))
    assert parts[-1][-1] == "w149"


def test_a_long_text_is_read_at_both_ends() -> None:
    middle = " prompt is too long "
    assert judged("x " * 20_000 + middle + "x " * 40_000).overflow
    assert judged("x " * 80_000 + middle).overflow
    assert not judged("x " * 30_000 + middle + "x " * 30_000).overflow
    assert HEAD + TAIL == 65_536


@given(st.text(max_size=300), st.integers() | st.none() | st.floats(allow_nan=True), st.text(max_size=5) | st.none())
@settings(max_examples=300, deadline=None)
def test_no_text_breaks_it(text: str, number: Any, provider: str | None) -> None:
    params = {
        "errorMessage": text,
        "status": number,
        "contextWindow": number,
        "maxOutputTokens": number,
        "provider": provider,
    }
    assert set(classify_text(params)) == {"overflow", "because"}


def test_it_is_an_operation_of_the_reference() -> None:
    assert call("overflow/classify_text", {"errorMessage": "prompt is too long"})["overflow"] is True
    with pytest.raises((KeyError, Refusal)):
        call("overflow/classify_words", {})


# Engines and cost

NODE = """
const {regexes, texts} = JSON.parse(require("fs").readFileSync(0, "utf8"));
const parts = (match) => match === null ? null : [...match].map((part) => part ?? null);
const found = regexes.map((source) => texts.map((text) => parts(new RegExp(source).exec(text))));
process.stdout.write(JSON.stringify(found));
"""


@cache
def read_texts() -> list[str]:
    """Sentences of the corpus and of the vectors, and the rows' own examples with letters left out."""
    found = {sentence for params in SHORT for sentence in sentences(params["errorMessage"])}
    found |= {f" {row['example'][at:]} " for row in ROWS for at in (0, 1, 5)}
    found |= {row["example"] for row in ROWS} | {"", " ", "\n", "\u2028", " exceeds\n", "^ 400 "}
    return sorted(found)


def python_matches() -> list[list[list[str | None] | None]]:
    def one(regex: re.Pattern[str], text: str) -> list[str | None] | None:
        match = regex.search(text)
        return [match[0], *match.groups()] if match else None

    return [[one(re.compile(row["regex"]), text) for text in read_texts()] for row in ROWS]


def test_javascript_reads_the_regexes_like_python() -> None:
    node = shutil.which("node")
    assert node, "node (18 or newer) is needed here"
    task = json.dumps({"regexes": [row["regex"] for row in ROWS], "texts": read_texts()})
    done = subprocess.run([node, "-e", NODE], input=task, capture_output=True, text=True, check=True, timeout=120)
    assert json.loads(done.stdout) == python_matches()


def test_re2_reads_the_regexes_like_python() -> None:
    def one(regex: Any, text: str) -> list[str | None] | None:
        match = regex.search(text)
        return [match.group(0), *match.groups()] if match else None

    assert [[one(re2.compile(row["regex"]), text) for text in read_texts()] for row in ROWS] == python_matches()


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


@cache
def slowness() -> float:
    """How many times slower this machine is now than one that walks a megabyte in 12 milliseconds."""
    plain = re.compile("(?:ab|cd|ef|gh)x")
    return max(1.0, seconds(lambda: plain.search("ab" * 500_000)) / 0.012)


@EVERY_ROW
def test_a_megabyte_costs_less_than_fifty_milliseconds(row: dict[str, Any]) -> None:
    pattern = re.compile(row["regex"])
    tempting = [(start + unit * (100_000 // len(unit))) for start, unit in tempting_texts(row["regex"])]
    tempting += [(f" {row['example'][:cut]}" * 20_000)[:100_000] for cut in (3, 8, 20)]
    dearest = max(tempting, key=lambda text: seconds(lambda: pattern.search(text), 1))
    text = (dearest * 11)[:1_000_000]
    assert seconds(lambda: pattern.search(text)) < 0.05 * slowness()


@pytest.mark.parametrize(
    "unit", ["a", " ", "\\", "<a", "&amp;", "1,", "max tokens ", "prompt exceeds context limit. ", "'\"}", "上"]
)
def test_a_verdict_takes_bounded_time(unit: str) -> None:
    limit = 3.0 * slowness()
    assert seconds(lambda: judged(unit * (1_000_000 // len(unit))), 1) < limit
    assert seconds(lambda: judged(unit * (8_000_000 // len(unit))), 1) < limit


def test_the_table_lies_beside_the_module_or_in_the_spec() -> None:
    assert len(table().decisions) == len(TABLE["decisions"])
    assert (Path(spec_dir()) / "recommended-overflow.json").is_file()
