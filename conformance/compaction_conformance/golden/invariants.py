"""What holds of every answer whatever the session: said beside a wrong one, since it tells more than a digest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compaction_conformance.golden.questions import Question
from compaction_conformance.golden.sessions import path_of


def broken_invariant(question: Question, params: Any, answer: Any) -> str:
    """A sentence on what is broken, or an empty text."""
    check = _CHECKS.get(question.operation)
    try:
        return check(params, answer) if check else ""
    except (AttributeError, KeyError, TypeError, IndexError, ValueError):
        return "the answer has another shape"


def _path(params: Any, answer: Any) -> str:
    ids = [entry.get("id") for entry in answer["entries"]]
    known = {entry.get("id") for entry in params["entries"]}
    if any(name not in known for name in ids):
        return "an entry of the path is none of the session"
    if ids and params["leafId"] is not None and ids[-1] != params["leafId"]:
        return "the path does not end at the leaf"
    return ""


def _tree(params: Any, answer: Any) -> str:
    hung = [child for children in answer["children"].values() for child in children]
    if len(answer["roots"]) + len(hung) != len(params["entries"]):
        return "roots and children are not as many as the entries"
    return ""


def _tokens(params: Any, answer: Any) -> str:
    if answer["tokens"] != answer["usageTokens"] + answer["trailingTokens"]:
        return "the tokens are not the sum of usage and rest"
    return ""


def _cut(params: Any, answer: Any) -> str:
    first, turn = answer["firstKeptEntryIndex"], answer["turnStartIndex"]
    if not params["startIndex"] <= first <= params["endIndex"]:
        return "the cut lies outside its range"
    if answer["isSplitTurn"] != (turn != -1) or turn > first:
        return "the turn start does not fit the cut"
    return ""


def _preparation(params: Any, answer: Any) -> str:
    preparation = answer["preparation"]
    if preparation is None:
        return ""
    path = path_of(params["entries"], params["leafId"])
    if preparation["firstKeptEntryId"] not in {entry.get("id") for entry in path}:
        return "the first kept entry is not on the path"
    if not preparation["messagesToSummarize"] and not preparation["turnPrefixMessages"]:
        return "there is nothing to summarise"
    if not preparation["isSplitTurn"] and preparation["turnPrefixMessages"]:
        return "a prefix is handed over without a split turn"
    files = preparation["fileOperations"]
    if set(files["readFiles"]) & set(files["modifiedFiles"]):
        return "a file is listed as read and as modified"
    return ""


_CHECKS: dict[str, Callable[[Any, Any], str]] = {
    "session/path": _path,
    "session/tree": _tree,
    "tokens/of_projection": _tokens,
    "cut/find": _cut,
    "compaction/prepare": _preparation,
}
