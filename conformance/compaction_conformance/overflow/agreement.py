"""Do two implementations read generated error texts alike?

The texts are made from what the pattern table and the corpus hold: words dropped, doubled, respelled, numbers changed,
pieces joined. A seed gives the same texts each time. Who gives no answer agrees with nobody.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import tee
from random import Random

from compaction_conformance.compare import check_declared, reply_difference
from compaction_conformance.corpus.cases import load_corpus
from compaction_conformance.expectation import NotRun, Reply, Result
from compaction_conformance.implementation import Implementation, Request
from compaction_conformance.json_files import read_json
from compaction_conformance.paths import spec_dir

_PROVIDERS = ("cerebras", "openai", "anthropic", "Cerebras")
_ODD = ("\u00a0", "\u2028", "\ufeff", "\n", "\t", "ſ", "K", "İ", "١٢", "１２", "", " ", "_", "-", "'", "’", ",")


@dataclass(frozen=True)
class Split:
    """A text that the two read differently, and what each answered."""

    text: str
    provider: str
    first: Reply
    second: Reply


@dataclass(frozen=True)
class Agreement:
    """How many texts both were asked, how many of them are overflows for the first, the texts on which the two differ,
    and why not all were asked, if so."""

    texts: int
    overflows: int
    splits: tuple[Split, ...]
    incomplete: str = ""


def generated_texts(count: int, seed: int = 0) -> Iterator[tuple[str, str]]:
    """(text, provider) pairs; about half are near a pattern, the others near a real message."""
    random = Random(seed)
    table = read_json(spec_dir() / "overflow-patterns.json")
    rows = [row for part in ("patterns", "exclusions", "providerRules") for row in table[part]]
    seeds = [row[member] for row in rows for member in ("example", "nearMiss")]
    answers = [answer.error_message for case in load_corpus() for answer in case.answers.values()]
    seeds += [text for text in answers if text and len(text) < 2000]
    for _ in range(count):
        text = random.choice(seeds)
        for _ in range(random.randrange(4)):
            text = _changed(text, random, seeds)
        yield text, random.choice(_PROVIDERS)


def disagreements(first: Implementation, second: Implementation, count: int, seed: int = 0) -> Agreement:
    """Asks both about the texts, until one cannot be asked any more.

    Raises `InvalidInput` when one of them does not declare `overflow/is_overflow`."""
    check_declared({"A": first, "B": second}, ["overflow/is_overflow"])
    pairs, for_first, for_second = tee(generated_texts(count, seed), 3)  # apart as far as is asked ahead
    answers = first.answers(map(_request, for_first)), second.answers(map(_request, for_second))
    both = zip(pairs, *answers, strict=True)
    texts, overflows = 0, 0
    splits: list[Split] = []
    for (text, provider), mine, theirs in both:
        for reply in (mine, theirs):
            if isinstance(reply, NotRun):
                return Agreement(texts, overflows, tuple(splits), reply.reason)
        texts += 1
        overflows += mine == Result({"overflow": True})
        if not isinstance(mine, Result) or reply_difference(mine, theirs):
            splits.append(Split(text, provider, mine, theirs))
    return Agreement(texts, overflows, tuple(splits))


def _request(pair: tuple[str, str]) -> Request:
    text, provider = pair
    usage = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0}
    about = {"api": "openai-completions", "provider": provider, "model": "m", "usage": usage}
    message = {"role": "assistant", "content": [], **about, "stopReason": "error", "errorMessage": text, "timestamp": 0}
    return Request("overflow/is_overflow", json.dumps({"message": message}))


def _changed(text: str, random: Random, seeds: Sequence[str]) -> str:
    words = text.split(" ")
    place = random.randrange(len(words))
    kind = random.randrange(8)
    if kind == 0:
        del words[place]
    elif kind == 1:
        words.insert(place, words[random.randrange(len(words))])
    elif kind == 2:
        words[place] = words[place].swapcase()
    elif kind == 3:
        words[place] = random.choice(_ODD).join(words[place][i : i + 3] for i in range(0, len(words[place]), 3))
    elif kind == 4:
        words[place] = str(random.randrange(10 ** random.randrange(1, 8)))
    elif kind == 5:
        return text + random.choice(_ODD) + random.choice(seeds)
    elif kind == 6:
        at = random.randrange(len(text) + 1)
        return text[:at] + random.choice(_ODD) + text[at:]
    else:
        return random.choice(("Throttling error: ", "400 ", "413 ", "rate limit ", "Service unavailable:")) + text
    return " ".join(words)
