"""Mutants that no vector can tell from the reference, and why: one row a reason.

A row is tried on every mutant that no vector killed. So a mutant that fits a row and is killed all the same counts as
killed, and a reason never hides a vector.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from compaction_conformance.mutation.mutants import Mutant

_RAISED = r"malformed|Refusal|ValueError|IndexError|AssertionError|Thrown|Stopped|SummaryFailed|SummaryAborted"


@dataclass(frozen=True)
class Reason:
    """`name` for tables, `text` for people. Each pattern that is given has to be found: in `module:function`, in the
    statement around the change, in what was there before, and in what is there now."""

    name: str
    text: str
    place: str = ""
    statement: str = ""
    before: str = ""
    after: str = ""

    def fits(self, mutant: Mutant) -> bool:
        pairs = (
            (self.place, f"{mutant.module}:{mutant.function}"),
            (self.statement, mutant.statement),
            (self.before, mutant.before),
            (self.after, mutant.after),
        )
        return all(re.search(pattern, text, re.DOTALL) for pattern, text in pairs)


REASONS = (
    Reason(
        "message",
        "the message of a refusal is free (spec/protocol.md, Errors)",
        statement=rf"\b(?:raise|return)\b.*\b(?:{_RAISED})\(|super\(\)\.__init__\(",
        after=r"^XX|^'XX|^\"XX|\bNone\b|^f?\"|^$",
    ),
    Reason(
        "message",
        "the words in which a failure is told are free",
        statement=r"accept(?:ed)?\(|_checked\(|no reason given|Unknown error|text = f\"The call",
        after=r"XX|, None\)$|\bNone\b",
    ),
    Reason("types", "a name for a type, which nothing asks for at run time", statement=r": TypeAlias ="),
    Reason("depth", "how many levels deep a value may be is free", place=r"^calling:$", before=r"^20_000$"),
    Reason("handshake", "what an adapter says of itself is not judged", place=r":describe$"),
    Reason(
        "made ids",
        "ids and times that are made are compared by identity and order, not by value (spec/protocol.md, Values)",
        place=r":_?time_ordered_id$|:_random_id$|:_now$|:now_ms$|:Makers\.|:iso_text$|:new_routing_id$|:text_after_appends$",
    ),
    Reason("prompt", "the wording of prompts is free", place=r"^prompts:"),
    Reason(
        "prompt",
        "which instructions are sent is free; their headings are the same",
        statement=r"prompts\.(?:LIVE_)?UPDATE",
    ),
    Reason(
        "truth",
        "`None` is as false as `False`, and only the truth is asked for",
        before=r"= False$|^False$",
        after=r"= None$|^None$",
    ),
    Reason(
        "truth",
        "an empty text is as false as `None`, and only the truth is asked for",
        before=r"= None$",
        after=r'= ""$',
    ),
    Reason(
        "truth",
        "the argument is only asked for its truth",
        before=r"=False\b|, False\)",
        after=r"=None\b|, None\)|, \)",
    ),
    Reason(
        "truth", "the leaf is only asked whether there is one", place=r"branch_summary:collect$", statement=r"leaf_id ="
    ),
    Reason("speed", "a shortcut whose long way gives the same", place=r":utf16_length$", before=r"isascii"),
    Reason(
        "strict",
        "the lists have the same length, which `strict` only asserts",
        statement=r"strict=True",
        before=r"strict=True|^True$",
    ),
    Reason("nan", "an absent time gives no number either way", before=r'timestamp", (?:math\.nan|float\()'),
    Reason(
        "defaults",
        "every operation gives the argument, so that its default is not used",
        statement=r"^def .* -> |^class |^(?:\w+): [\w .|]+ = \S+$",
    ),
    Reason(
        "shown nowhere",
        "the sentence behind a verdict is for people, and no operation shows it",
        place=r"recommended_overflow:(?:decide|_naming)$",
    ),
    Reason(
        "unused",
        "the argument is not used there",
        statement=r"_tokens_for_threshold\(|_gather\(|_prepare_retry\(",
        before=r"\(c, |_gather\(|^True$|^False$|\(message, ",
        after=r"None|^True$|^False$",
    ),
    Reason(
        "no project",
        "`None` stands for empty project settings",
        statement=r"settings\(|resolve\(",
        before=r", \{\}",
        after=r", None",
    ),
    Reason(
        "always a leaf",
        "the leaf of a running session always has an id",
        place=r"^control",
        statement=r'leaf\.get\("leafId"',
    ),
    Reason("waits", "a wait of a scenario has no length", statement=r"\.sleep\("),
    Reason(
        "not in a trace",
        "a trace does not show this member of a message",
        place=r"Controller\.(?:store|_store_note|_user)$|turns:(?:_not_run|_with_tool_changes)$",
        before=r'^"(?:display|details|timestamp|toolCallId|toolName|content|type|text|name)"$|^pick\(message,',
    ),
    Reason(
        "not in a trace",
        "a trace does not show whether instructions replace the usual ones; chapter BRS judges it",
        place=r"^control\.navigation",
        before=r"replaceInstructions|branch_summary\.Options\(",
    ),
    Reason(
        "not looked at",
        "no hook of a scenario looks at what it is told",
        statement=r"handler\(|ask\(c\.around",
        after=r"None\)|XX",
    ),
    Reason("set anew", "it is set before it is read", place=r"Controller\.__init__$|Asking$"),
    Reason(
        "last",
        "the loop is the last thing that is done",
        before=r"^break$",
        after=r"^return$",
        place=r"Controller\.run$",
    ),
    Reason(
        "errors alone",
        "only errors are tried again, and for them the window does not count (OVF-09)",
        place=r"Controller\._is_retryable$",
    ),
    Reason(
        "no model",
        "without a model nothing runs (CTL-10)",
        place=r"^control",
        before=r"\bmodel\b.*\bis None\b|\bif c\.model\b|^0$",
        statement=r"\bmodel\b",
    ),
    Reason("usage told", "every answer of a scenario tells its usage", statement=r'message\.get\("usage"\)'),
    Reason(
        "quirk",
        "which of its readings a QUIRK takes is free (HCO-16)",
        place=r"harness\.tokens:(?:of_message|_with_arguments)$",
    ),
    Reason(
        "quirk",
        "which of its readings a QUIRK takes is free (SUM-18)",
        place=r"serialization:_call$",
        before=r"isinstance\(given",
    ),
    Reason(
        "written over",
        "the member is written again below",
        place=r"^session:$",
        before=r'"(?:firstKeptEntryId|name|replacement)"',
    ),
    Reason(
        "empty",
        "without a split the first part of a turn is empty",
        place=r"summary:requests_for$",
        before=r"isSplitTurn",
    ),
    Reason("window of 0", "nothing fits into a window of 0 in any case", place=r"summary:fits$"),
    Reason(
        "searched again",
        "past the start the search meets its first entry again",
        place=r"cut_point:(?:find_projected|_budget_reached_at)$",
        statement=r", -1, -1\)",
        before=r"^1$",
    ),
    Reason("stored", "what is stored is never omitted", place=r"^cut_point:find$", before=r"^False$"),
    Reason(
        "same text",
        "joining what was split gives the same text",
        place=r"harness\.session_file:open_file$",
        before=r"text if finished",
    ),
    Reason("folder", "the working directory of a new file is free (HSE-24)", place=r"_file:_created$", before=r'^"/"$'),
    Reason("quirk", "which of its readings a QUIRK takes is free (HSU-11)", place=r"^harness\.summary:compact$"),
    Reason("no header", "neither text begins with a header", place=r"harness\.session_file:open_file$", before=r'^""$'),
    Reason(
        "quirk",
        "which of its readings a QUIRK takes is free (TRE-11)",
        place=r"^tree:(?:Index\.find|tree)$",
        statement=r"isinstance\(entry_id|own_id",
    ),
    Reason("quirk", "which of its readings a QUIRK takes is free (SYS-14)", statement=r"timeless ="),
    Reason(
        "quirk",
        "which of its readings a QUIRK takes is free (PRJ-55)",
        place=r"projection:_replaced$",
        before=r"content",
    ),
    Reason(
        "made ids",
        "an id that is made is new, whatever is asked",
        place=r"^tree:Index\.__contains__$|session:_labels_anew$",
    ),
    Reason("no session id", "no operation gives the id of a new session", place=r"session:check_session_id$"),
    Reason("two roles", "only the other two roles are asked for", place=r"session:_edited_role$", before=r'"custom"'),
    Reason(
        "written over", "the version is written again by the next step", place=r"session_file:_with_ids$", before=r"^2$"
    ),
    Reason(
        "written over", "a version of 3 or above has left before", place=r"session_file:migrate$", before=r"^3$|< 3"
    ),
    Reason(
        "always a header",
        "a file without a header is refused before",
        place=r"session_file:migrate$",
        before=r"\{\}\)$",
    ),
    Reason(
        "header", "line 0 is the header and never kept", place=r"session_file:_name_first_kept$", before=r"^0$|<= place"
    ),
    Reason("objects", "settings are objects (spec/schemas)", place=r"retry:section$", before=r"isinstance\(each"),
    Reason("capped", "the delay is capped long before", place=r"retry:delay_ms$", before=r"^1000$|is_safe_integer"),
    Reason(
        "not told", "the error of an aborted reply is told nowhere", place=r"retry:complete$", before=r'"errorMessage"'
    ),
    Reason(
        "never empty",
        "something follows the compaction, so there is an entry",
        place=r"preparation:prepare$",
        before=r"len\(since\)",
    ),
    Reason(
        "no entry",
        "no entry has that id, so that the last one stands in",
        place=r"projection:walk_from$",
        before=r"is LAST",
    ),
    Reason(
        "no compaction",
        "without a compaction nothing is asked of what it keeps",
        place=r"projection:fold$",
        before=r"Fold\(None",
    ),
    Reason(
        "over http",
        "responses are judged by the overflow corpus, not by vectors",
        place=r"^operations:",
        statement=r"httpx|providers|overflow/classify\"",
    ),
    Reason("keys", "a key only has to differ from others", place=r"ecma:map_key$", before=r'^"'),
    Reason("quirk", "which of its readings a QUIRK takes is free (TOK-20)", place=r"ecma:length$"),
    Reason("quirk", "which of its readings a QUIRK takes is free (TRG-06)", place=r"ecma:to_number$"),
    Reason("no index", "a longer number is above the largest index", place=r"ecma:is_array_index$", before=r"^10$"),
    Reason("no number", "JSON writes neither infinity nor NaN", place=r"ecma:number_text$", statement=r"Infinity"),
    Reason("zero", "zero is written before", place=r"ecma:number_text$", before=r"< 0"),
    Reason("exact", "the same number comes out", place=r"^dates:", before=r"^6$|// timedelta|\* \(-1"),
    Reason(
        "quirk",
        "which of its readings a QUIRK takes is free (ECM-21)",
        place=r"^dates:milliseconds$",
    ),
    Reason(
        "doubles",
        "numbers are compared as doubles, and written as doubles",
        place=r"ecma:(?:parse_json|_parse_integer)$",
        before=r"parse_int=|int\(digits\)|^16$|< 16",
    ),
    Reason("not in a trace", "a request for a summary is shown without its model", place=r"Model\.as_json$"),
    Reason(
        "one way",
        "any other word than that of an overflow means the same",
        place=r"compacting:_recovery$",
        before=r'^"length"$',
    ),
)


def reason_for(mutant: Mutant) -> Reason | None:
    """The first row that fits."""
    return next((reason for reason in REASONS if reason.fits(mutant)), None)
