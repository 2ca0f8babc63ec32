"""An error text as plain words, whatever wrapped it (chapter OVR, "Reading the text").

A provider's sentence reaches the agent inside JSON, inside JSON that is a string in other JSON, inside HTML, behind
the prefixes of gateways, in any letter case and broken into lines anywhere. `sentences` takes all of that away.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

HEAD, TAIL = 49_152, 16_384  # of a longer text only so many characters are read, from its start and from its end
LONGEST = 60  # words; a longer sentence is read in parts that overlap by half

_ESCAPE = re.compile(r"\\+(?:u([0-9a-f][0-9a-f][0-9a-f][0-9a-f])|[nrtbf])?")
_TAG = re.compile(r"<[/!]?[a-z][^<>]*>")
_ENTITY = re.compile(r"&(?:amp;)*(?:(amp|lt|gt|quot|apos|nbsp)|#([0-9]+)|#x([0-9a-f]+));")
_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'", "nbsp": " "}
_HALF_WIDTH = {code + 0xFEE0: code for code in range(0x21, 0x7F)} | {0x3000: 0x20}  # full-width ASCII, as ASCII
_ADDRESS = re.compile(r"(?:https?://|www\.)[^ \"'<>]*")
_APOSTROPHE = re.compile(r"(?<=[a-z])['’](?=(?:s|t|re|ve|ll|d|m)(?![a-z0-9]))")
_TOKEN = re.compile(
    r"(?P<number>[0-9]+(?:[,._][0-9]+)+)"
    r"|(?P<word>[a-z0-9\xdf-\u024f]+)"
    r"|(?P<sign>[<>]=?|[=+≤≥])"
    r"|(?P<foreign>[^\x00-\u024f\u2000-\u206f\u3000-\u303f\uff00-\uffef]+)"
    r"|(?P<minus>-)"
    r"|(?P<field>[\"'] ?[,}\]]|[{}])"
    r"|(?P<stop>[.!?;。！？；])"
)


def sentences(text: str) -> list[str]:
    """The sentences of an error text: words in small letters and numbers in digits, all between single spaces.

    A field of JSON counts as a sentence. Every sentence begins and ends with a space. Raises nothing.
    """
    if len(text) > HEAD + TAIL:
        text = f"{text[:HEAD]} {text[-TAIL:]}"
    found: list[list[str]] = [[]]
    for word in _words(_unwrapped(text)):
        if word:
            found[-1].append(word)
        else:
            found.append([])
    return [part for words in found for part in _parts(words)]


def _unwrapped(text: str) -> str:
    """The text without escapes, tags, entities and web addresses."""
    text = _ESCAPE.sub(_unescaped, text.lower())
    text = _ENTITY.sub(_character, _TAG.sub(" ", " ".join(text.split())))
    return _APOSTROPHE.sub("", _ADDRESS.sub(" ", text.translate(_HALF_WIDTH).lower()))


def _unescaped(match: re.Match[str]) -> str:
    """`\\u0041` stands for its character, `\\n` and its like for a space, other backslashes for nothing."""
    if match[1]:
        return chr(int(match[1], 16))
    return " " if match[0][-1] != "\\" else ""


def _character(match: re.Match[str]) -> str:
    if match[1]:
        return _ENTITIES[match[1]]
    number = int(match[2][-7:]) if match[2] else int(match[3][-6:], 16)
    return chr(number) if number < 0x110000 else " "


def _words(text: str) -> Iterator[str]:
    """The words, numbers and signs of a text in their order; an empty one where a sentence ends."""
    for match in _TOKEN.finditer(text):
        token, kind, rest = match[0], match.lastgroup, text[match.end() : match.end() + 1]
        if kind == "number":
            yield from _numbers(token)
        elif kind == "word":
            yield f"{token[:-1]}000" if token[-1] == "k" and token[:-1].isdigit() else token
        elif kind == "field" or (kind == "stop" and not (token == "." and rest.isascii() and rest.isalnum())):
            yield ""
        elif kind == "minus":
            if rest.isdigit() and not text[match.start() - 1 : match.start()].isalnum():
                yield "minus"
        elif kind != "stop":
            yield {"≤": "<=", "≥": ">="}.get(token, token)


def _numbers(token: str) -> list[str]:
    """`131,072` and `131_072` are one number, `130900.0` is 130900, `1,8192` is two numbers."""
    groups = re.split("[,_]", token)
    if len(groups) > 1 and len(groups[0]) <= 3 and all(len(group) == 3 for group in groups[1:]):
        return ["".join(groups)]
    return [group.removesuffix(".0") for group in groups]


def _parts(words: list[str]) -> list[str]:
    starts = range(0, max(len(words) - LONGEST // 2, 1), LONGEST // 2)
    return [f" {' '.join(words[start : start + LONGEST])} " for start in starts if words]
