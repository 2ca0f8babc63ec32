"""Secrets and personal details in a text: find them, or put placeholders in their place.

The rules know shapes, not meanings: a key that looks like a word passes. Every pattern is bounded, so a hostile text
costs time in proportion to its length. What is found is never shown whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_SHOWN = 6


@dataclass(frozen=True)
class Detail:
    """Something that does not belong into a public file: what it looks like, its first letters, and where it begins."""

    kind: str
    hint: str
    start: int


@dataclass(frozen=True)
class _Rule:
    kind: str
    pattern: re.Pattern[str]
    placeholder: str  # may use the pattern's groups
    harmless: re.Pattern[str] | None = None

    def found(self, text: str) -> Iterator[re.Match[str]]:
        for match in self.pattern.finditer(text):
            if self.harmless is None or not self.harmless.search(match[0]):
                yield match

    def redacted(self, text: str) -> str:
        def replaced(match: re.Match[str]) -> str:
            if self.harmless is not None and self.harmless.search(match[0]):
                return match[0]
            return match.expand(self.placeholder)

        return self.pattern.sub(replaced, text)


def find(text: str) -> list[Detail]:
    """What a text gives away, in the order of the rules. An overlap is reported once, by the first rule."""
    taken: list[range] = []
    found = []
    for rule in _RULES:
        for match in rule.found(text):
            if not any(match.start() in span or span.start in range(*match.span()) for span in taken):
                taken.append(range(*match.span()))
                found.append(Detail(rule.kind, match[0][:_SHOWN] + "…", match.start()))
    return found


def redact(text: str) -> str:
    """The text with a placeholder for whatever `find` finds; its result finds nothing more."""
    for rule in _RULES:
        text = rule.redacted(text)
    return text


def _rule(kind: str, pattern: str, placeholder: str, harmless: str | None = None) -> _Rule:
    return _Rule(kind, re.compile(pattern, re.ASCII), placeholder, re.compile(harmless) if harmless else None)


_PLACEHOLDER = "PLACEHOLDER"
_KEYS = (
    r"sk-(?=[A-Za-z_-]{0,60}[0-9])[A-Za-z0-9_-]{16,200}|(?:AKIA|ASIA)[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{30,50}|gh[opsur]_[A-Za-z0-9]{20,100}"
    r"|github_pat_[A-Za-z0-9_]{20,120}|glpat-[A-Za-z0-9_-]{16,60}|xox[abprs]-[A-Za-z0-9-]{10,100}"
    r"|(?:gsk|xai|hf|r8|pplx|nvapi|csk|fw)[_-](?=[A-Za-z]{0,60}[0-9])[A-Za-z0-9]{20,120}"
)
_IDS = (
    "req|request|chatcmpl|cmpl|msg|resp|gen|call|toolu|org|user|proj|project|sess|session|acct|key|run|thread|asst|file"
)

# The order matters: what is named precisely comes before what is only long.
_RULES = (
    _rule(
        "private key",
        r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^-]{0,8192}(?:-----END [A-Z ]{0,30}-----)?",
        _PLACEHOLDER,
    ),
    _rule("web token", r"\beyJ[A-Za-z0-9_-]{8,4096}\.[A-Za-z0-9_-]{4,4096}(?:\.[A-Za-z0-9_-]{0,4096})?", _PLACEHOLDER),
    _rule("key", rf"\b(?:{_KEYS})", _PLACEHOLDER),
    _rule("bearer token", r"\b([Bb]earer) [A-Za-z0-9._~+/=-]{16,4096}", rf"\1 {_PLACEHOLDER}"),
    _rule(
        "token in an address",
        r"([?&](?:key|api_key|apikey|token|access_token|sig|signature|secret)=)[^&\s\"'<>\\]{6,1024}",
        rf"\1{_PLACEHOLDER}",
        _PLACEHOLDER,
    ),
    _rule(
        "mail address",
        r"\b[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,4}\b",
        "user@example.com",
        r"@example\.(?:com|org|net)$",
    ),
    _rule(
        "account number",
        r"(\barn:aws[a-z-]{0,10}:[a-z0-9-]{0,40}:[a-z0-9-]{0,20}:)[0-9]{12}\b",
        r"\g<1>000000000000",
        r":0{12}$",
    ),
    _rule("project number", r"\b(project(?:s/|_number:|_id:))[0-9]{4,20}\b", rf"\1{_PLACEHOLDER}"),
    _rule(
        "UUID",
        r"\b[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}\b",
        "00000000-0000-0000-0000-000000000000",
        r"^[0-]+$",
    ),
    _rule("id", rf"\b({_IDS})([_-])(?=[A-Za-z]{{0,60}}[0-9])[A-Za-z0-9]{{10,64}}\b", rf"\1\2{_PLACEHOLDER}"),
    _rule(
        "home folder", r"(/home/|/Users/|[A-Za-z]:\\{1,4}Users\\{1,4})[^/\\\s\"'<>:]{1,64}", r"\1user", r"[/\\]user$"
    ),
    _rule(
        "network address",
        r"(?<![0-9.])(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?![0-9.])",
        "192.0.2.1",
        r"^(?:127|0|192\.0\.2|198\.51\.100|203\.0\.113)\.",
    ),
    _rule(
        "network address", r"(?<![0-9A-Fa-f:])(?:[0-9A-Fa-f]{1,4}:){5,7}[0-9A-Fa-f]{1,4}(?![0-9A-Fa-f:])", "2001:db8::1"
    ),
    _rule("long hexadecimal text", r"(?<![A-Za-z0-9])[0-9A-Fa-f]{32,512}(?![A-Za-z0-9])", _PLACEHOLDER, r"^0+$"),
    _rule(
        "long coded text",
        r"(?<![A-Za-z0-9+/_=-])(?=[A-Za-z+/_-]{0,200}[0-9])(?=[a-z0-9+/_-]{0,200}[A-Z])[A-Za-z0-9+/_-]{48,8192}={0,2}",
        _PLACEHOLDER,
        r"/[a-z]+[/-]",  # a path of words
    ),
)
