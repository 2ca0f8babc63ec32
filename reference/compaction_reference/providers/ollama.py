"""Ollama, through its OpenAI-compatible route: Pi has no client for `/api/chat`. (RSP-38)"""

from __future__ import annotations

from dataclasses import replace

from . import openai_completions
from .openai_completions import UNFINISHED, WORDS, read, refusal
from .target import Request, Target

__all__ = ["API", "UNFINISHED", "WORDS", "read", "refusal", "request"]
API = "openai-completions"


def request(target: Target) -> Request:
    plain = openai_completions.request(target)
    return replace(plain, path=f"/v1{plain.path}")
