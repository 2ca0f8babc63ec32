"""How an operation refuses: one exception that carries a kind from the closed list of `spec/protocol.md`."""

from __future__ import annotations

from typing import Literal, TypeAlias

Kind: TypeAlias = Literal[
    "not_a_session",
    "entry_not_found",
    "not_on_path",
    "not_editable",
    "invalid_replacement",
    "invalid_session_id",
    "invalid_setting",
    "unsupported_entry",
    "malformed_input",
]


class Refusal(Exception):
    """An operation refuses its input. `kind` is part of the contract, the message is for people."""

    def __init__(self, kind: Kind, message: str) -> None:
        super().__init__(message)
        self.kind: Kind = kind


def malformed(what: str) -> Refusal:
    """Data too broken to work on: something was asked of a value that cannot have it."""
    return Refusal("malformed_input", what)
