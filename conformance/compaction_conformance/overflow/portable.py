"""Does a regex mean the same in JavaScript, in Python's `re` and in RE2?"""

from __future__ import annotations

import re

_CLASS = re.compile(r"\[(?:\\.|[^\]\\])*\]")
_ESCAPE = re.compile(r"\\(x[0-9a-f][0-9a-f]|.)", re.DOTALL)
_TOKEN = re.compile(r"\\(?:x[0-9a-f][0-9a-f]|.)|\((?P<open>\?:|\?|)|(?P<other>.)", re.DOTALL)
_ESCAPES = frozenset("tnfr()[]+*?|^.\\/") | {"x0b"}
_NARROWER = {
    ".": "`.` (engines disagree on what ends a line; write a class such as [^\\n])",
    "$": "`$` (it also matches before a last line feed in Python)",
    "{": "`{` (RE2 bounds repeats; write the repetition out)",
    "}": "`}`",
}


def foreign_parts(regex: str, *, groups: bool = False) -> list[str]:
    """The parts that are outside the subset, with a reason where it is short. `groups` allows groups that capture."""
    found = [f"the capital letter {letter} (texts are folded to small letters)" for letter in _capitals(regex)]
    found += [f"\\{escape}" for escape in _ESCAPE.findall(regex) if escape not in _ESCAPES]
    for match in _TOKEN.finditer(_CLASS.sub("[]", regex)):
        opened, other = match["open"], match["other"]
        if opened is not None and opened != "?:" and not (groups and not opened):
            found.append(f"({opened} (only (?: ) is read alike everywhere)")
        if other in _NARROWER:
            found.append(_NARROWER[other])
        if other == "^" and match.start() > 0:
            found.append("^ that is not at the start")
    return list(dict.fromkeys(found))


def _capitals(regex: str) -> list[str]:
    return re.findall("[A-Z]", _ESCAPE.sub("", regex))
