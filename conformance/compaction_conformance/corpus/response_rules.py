"""Which rules of the chapter RSP a case of the corpus is about, read off its style and shape.

The case files hold the ids, so that a port needs no program to know them. `overflow record --write` puts them there,
and the lint compares.
"""

from __future__ import annotations

from typing import Any

from compaction_conformance.corpus.cases import Case
from compaction_conformance.guarded_json import JsonError, parse

RECORDED = "pi-0.87"
_LIMIT = 4000  # UTF-16 units
_NAMED_ENDS = ("Provider finish_reason:", "Provider stopped with:", "Unhandled stop reason:", "Response incomplete:")
_IN_STREAM = {
    "openai-completions": "RSP-30",
    "openai-responses": "RSP-31",
    "anthropic-messages": "RSP-33",
    "bedrock-converse-stream": "RSP-34",
    "ollama": "RSP-38",
}
_ENDS = {"stop": "RSP-01", "length": "RSP-02", "toolUse": "RSP-03"}
_NO_JSON = object()


def rules_of(case: Case) -> tuple[str, ...]:
    """The rule that the case is about, then others that it touches. None before Pi's answer is recorded, and none for a
    response that no rule is about."""
    response = case.response
    if response.status is None or response.end != "close":
        return (_of_transport(case),)
    if RECORDED not in case.answers:
        return ()
    first = _of_refusal(case) if not 200 <= response.status < 300 else _of_stream(case)
    if not first:
        return ()
    if case.kind in ("silent", "length-stop") and first in _ENDS.values():
        return (first, "RSP-04") if first == "RSP-03" else ("RSP-04", first)
    return (first, "RSP-39") if _is_cut_anew(case) and first != "RSP-39" else (first,)


def _of_transport(case: Case) -> str:
    status, silent = case.response.status, case.response.end == "stall"
    if status is not None and status >= 300:
        return "RSP-43"
    if silent and case.api == "bedrock-converse-stream":
        return "RSP-44"
    if status is not None:
        return "RSP-42"
    return "RSP-41" if silent else "RSP-40"


def _of_refusal(case: Case) -> str:
    text = case.response.text
    value = _parsed(text)
    of_api = {
        "google-generative-ai": _of_google,
        "mistral-conversations": _of_mistral,
        "bedrock-converse-stream": _of_bedrock,
        "anthropic-messages": _of_anthropic,
    }
    return of_api.get(case.api, _of_openai)(case, text, value)


def _of_google(case: Case, text: str, value: Any) -> str:
    return "RSP-21" if not text else "RSP-19" if value is _NO_JSON else "RSP-14"


def _of_mistral(case: Case, text: str, value: Any) -> str:
    return "RSP-15" if text.strip() else "RSP-21"


def _of_bedrock(case: Case, text: str, value: Any) -> str:
    if not text:
        return "RSP-21"
    if value is _NO_JSON:
        return "RSP-26"
    return "RSP-25" if isinstance(_member(value, "error"), dict) else "RSP-16"


def _of_anthropic(case: Case, text: str, value: Any) -> str:
    if not text:
        return "RSP-20"
    if value is _NO_JSON:
        return "RSP-18"
    return "RSP-13" if isinstance(_member(value, "message"), str) else "RSP-12"


def _of_openai(case: Case, text: str, value: Any) -> str:
    error = _member(value, "error")
    if not text:
        return "RSP-20"
    if value is _NO_JSON:
        return "RSP-18"
    if isinstance(error, str) and error:
        return "RSP-17"
    if not isinstance(error, dict):
        return "RSP-22"
    if "[truncated " in (case.answers[RECORDED].error_message or "") and _units(text) > _LIMIT:
        return "RSP-23"
    if _member(_member(error, "metadata"), "raw"):
        return "RSP-24"
    return "RSP-11" if case.api == "openai-responses" else "RSP-10"


def _of_stream(case: Case) -> str:
    """Empty where no rule is about it."""
    answer = case.answers[RECORDED]
    words = answer.error_message or ""
    if answer.stop_reason != "error":
        return "RSP-39" if _is_cut_anew(case) else _ENDS.get(answer.stop_reason, "")
    if words.startswith(_NAMED_ENDS):
        return "RSP-05"
    if '"stop_reason":"refusal"' in case.response.text:
        return "RSP-06"
    if case.api == "google-generative-ai" and '"error":' in case.response.text:
        return "RSP-35"
    if case.api == "mistral-conversations" and case.response.text.startswith("data: {"):
        return "RSP-36"
    if case.api != "ollama" and ("ended without" in words or "ended before" in words):
        return "RSP-37"
    return "RSP-32" if "event: response.failed" in case.response.text else _IN_STREAM.get(case.api, "")


def _is_cut_anew(case: Case) -> bool:
    """Whether pieces of the body end elsewhere than events do, or its lines in CR LF."""
    response = case.response
    if not response.streamed or case.api in ("bedrock-converse-stream", "ollama"):
        return False
    return b"\r\n\r\n" in response.body or any(not chunk.endswith(b"\n\n") for chunk in response.chunks[:-1])


def _parsed(text: str) -> Any:
    try:
        return parse(text).value
    except JsonError:
        return _NO_JSON


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None
