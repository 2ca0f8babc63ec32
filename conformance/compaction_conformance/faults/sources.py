"""Addresses of reports. What a changelog alone tells of has the changelog's address, and `seen` names the release."""

from __future__ import annotations

_GITHUB = "https://github.com"


def gh(path: str) -> str:
    return f"{_GITHUB}/{path}"


def pi(number: int, kind: str = "issues") -> str:
    return f"{_GITHUB}/earendil-works/pi/{kind}/{number}"


def changelog() -> str:
    return f"{_GITHUB}/earendil-works/pi/blob/main/packages/coding-agent/CHANGELOG.md"
