"""One request to a provider, whatever comes back made into the assistant message that an agent stores."""

from __future__ import annotations

from types import ModuleType

from .. import overflow, retry
from ..errors import malformed
from ..types import Json, Message
from . import (
    anthropic_messages,
    bedrock_converse,
    google_generative_ai,
    mistral,
    ollama,
    openai_completions,
    openai_responses,
)
from .connection import Answer, Lost, post
from .failure import Failed
from .reply import Reply
from .target import Target

STYLES: dict[str, ModuleType] = {
    "openai-completions": openai_completions,
    "openai-responses": openai_responses,
    "anthropic-messages": anthropic_messages,
    "google-generative-ai": google_generative_ai,
    "mistral-conversations": mistral,
    "bedrock-converse-stream": bedrock_converse,
    "ollama": ollama,
}
DEFAULT_TIMEOUT_MS = 5000
_UNKNOWN = "An unknown error occurred"
_TOO_DEEP = "The response is nested too deeply"


def ask(target: Target) -> Message:
    """Send one small request, once, and read the response. Raises ValueError for an API style that is not known."""
    if target.api not in STYLES:
        raise ValueError(f"there is no API style {target.api!r}; known: {', '.join(STYLES)}")
    style, reply = STYLES[target.api], Reply()
    try:
        with post(target, style.request(target)) as answer:
            _read(style, answer, target, reply)
    except Failed as failed:
        reply.stop(failed.stop_reason, failed.text)
    except Lost as lost:
        reply.stop(*_lost(style, lost))
    except RecursionError:
        reply.stop("error", _TOO_DEEP)
    return reply.message(target, getattr(style, "API", target.api))


def _read(style: ModuleType, answer: Answer, target: Target, reply: Reply) -> None:
    """(RSP-37)"""
    if not 200 <= answer.status < 300:
        raise Failed(style.refusal(answer, target))
    style.read(answer, reply)
    if not reply.stop_reason:
        raise Failed(style.UNFINISHED)
    if reply.stop_reason == "error":
        raise Failed(reply.error or _UNKNOWN)


def _lost(style: ModuleType, lost: Lost) -> tuple[str, str]:
    """(RSP-40 to RSP-44)"""
    words = style.WORDS
    if lost.started:
        text = words.silent if lost.silent else words.dropped
    else:
        text = words.no_answer if lost.silent else words.no_response
    return "aborted" if lost.silent and words.silence_aborts else "error", text


def classify(params: Json) -> Json:
    """`overflow/classify`: how the stored reply ends, and the verdict on it."""
    timeout = params.get("timeoutMs", DEFAULT_TIMEOUT_MS) / 1000
    try:
        message = ask(Target(params["baseUrl"], params["api"], params["provider"], params["model"], timeout))
    except ValueError as error:
        raise malformed(str(error)) from None
    told = overflow.is_overflow(message, params.get("contextWindow"))
    return {
        "stopReason": message["stopReason"],
        "errorMessage": message.get("errorMessage"),
        "overflow": told,
        "retryable": not told and retry.is_retryable(message),
    }
