"""What JavaScript's JSON parser says about a text that is no JSON. Pi's clients store its words. (RSP-26)"""

from __future__ import annotations

import re

from ..ecma import utf16_length, utf16_slice

MAX_LENGTH = 1 << 20
_SPACE = re.compile(r"[ \t\n\r]*")
_LINE_END = re.compile(r"\r\n|\r|\n")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]+|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*')
_HEXADECIMAL = re.compile("[0-9a-fA-F]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)?(?:\.[0-9]*)?(?:[eE][+-]?[0-9]*)?")
_CLOSERS = {"{": "}", "[": "]"}
_AFTER = {"}": "',' or '}' after property value", "]": "',' or ']' after array element"}


class _Bad(Exception):
    """`words` None: an unexpected character, or the end."""

    def __init__(self, at: int, words: str | None = None) -> None:
        self.at, self.words = at, words


def complaint(text: str) -> str:
    """The parser's words about the first thing that is wrong; positions are counted in UTF-16 units."""
    if len(text) > MAX_LENGTH:
        return f"The text is no JSON of at most {MAX_LENGTH} characters"
    try:
        _scan(text)
    except _Bad as bad:
        if bad.words:
            return f"{bad.words} JSON at {_place(text, bad.at)}"
        return _unexpected(text, bad.at)
    return "The JSON text is nested too deeply"


def _scan(text: str) -> None:
    """Walk through the text with a stack of what closes the open brackets, so that depth costs no recursion."""
    closers: list[str] = []
    at = _space(text, 0)
    while True:
        if closer := _CLOSERS.get(text[at : at + 1]):
            closers.append(closer)
            at = _space(text, at + 1)
            if text[at : at + 1] != closer:
                at = _name(text, at, "Expected property name or '}'") if closer == "}" else at
                continue
        else:
            at = _space(text, _scalar(text, at))
        while closers and text[at : at + 1] == closers[-1]:
            closers.pop()
            at = _space(text, at + 1)
        if not closers:
            break
        if text[at : at + 1] != ",":
            raise _Bad(at, f"Expected {_AFTER[closers[-1]]} in")
        at = _space(text, at + 1)
        if closers[-1] == "}":
            at = _name(text, at, "Expected double-quoted property name")
    if at < len(text):
        raise _Bad(at, "Unexpected non-whitespace character after")


def _name(text: str, at: int, words: str) -> int:
    if text[at : at + 1] != '"':
        raise _Bad(at, f"{words} in")
    at = _space(text, _string(text, at))
    if text[at : at + 1] != ":":
        raise _Bad(at, "Expected ':' after property name in")
    return _space(text, at + 1)


def _scalar(text: str, at: int) -> int:
    first = text[at : at + 1]
    if first == '"':
        return _string(text, at)
    for word in ("true", "false", "null"):
        if first == word[0]:
            for offset, letter in enumerate(word):
                if text[at + offset : at + offset + 1] != letter:
                    raise _Bad(at + offset)
            return at + len(word)
    if first == "-" or (first.isascii() and first.isdigit()):
        return _number(text, at)
    raise _Bad(at)


def _string(text: str, at: int) -> int:
    end = _skip(_STRING, text, at)
    if text[end : end + 1] == '"':
        return end + 1
    if text[end:] in ("", "\\"):
        raise _Bad(len(text), None if text[end:] else "Unterminated string in")
    if text[end] != "\\":
        raise _Bad(end, "Bad control character in string literal in")
    if text[end + 1] != "u":
        raise _Bad(end + 1, "Bad escaped character in")
    raise _Bad(_skip(_HEXADECIMAL, text, end + 2), "Bad Unicode escape in")


def _number(text: str, at: int) -> int:
    end = _skip(_NUMBER, text, at)
    written = text[at:end].lstrip("-")
    if not written[:1].isdigit():
        raise _Bad(at + 1, "No number after minus sign in")
    if written == "0" and text[end : end + 1].isdigit():
        raise _Bad(end, "Unexpected number in")
    if re.search(r"\.(?![0-9])", written):
        raise _Bad(text.index(".", at) + 1, "Unterminated fractional number in")
    if written[-1] in "eE+-":
        raise _Bad(end, "Exponent part is missing a number in")
    return end


def _space(text: str, at: int) -> int:
    return _skip(_SPACE, text, at)


def _skip(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


def _place(text: str, at: int) -> str:
    lines = _LINE_END.split(text[:at])
    return f"position {utf16_length(text[:at])} (line {len(lines)} column {utf16_length(lines[-1]) + 1})"


def _unexpected(text: str, at: int) -> str:
    """An unexpected character is shown with up to ten units on either side."""
    if at >= len(text):
        return "Unexpected end of JSON input"
    if text[at] in '"-0123456789':
        kind = "string" if text[at] == '"' else "number"
        return f"Unexpected {kind} in JSON at {_place(text, at)}"
    length, position = utf16_length(text), utf16_length(text[:at])
    start, end = 0, length
    if length > 20:
        start = position - 10 if position >= 10 else 0
        end = position + 10 if position < length - 10 else length
    before, after = "..." if length > 20 and position >= 10 else "", "..." if end < length else ""
    shown = f'{before}"{utf16_slice(text, start, end)}"{after}'
    return f"Unexpected token '{utf16_slice(text, position, position + 1)}', {shown} is not valid JSON"
