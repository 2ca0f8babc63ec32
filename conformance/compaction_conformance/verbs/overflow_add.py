"""`overflow add`: a response becomes a case of the corpus; what is not given is asked for on a terminal."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from compaction_conformance.corpus.cases import MAX_FILE_BYTES, corpus_dir
from compaction_conformance.errors import InvalidInput
from compaction_conformance.json_files import read_bytes
from compaction_conformance.overflow.adding import Draft, add_case
from compaction_conformance.paths import checkout_dir
from compaction_conformance.schema_words import printable
from compaction_conformance.schemas import all_schemas
from compaction_conformance.verbs import common

_MUST_BE_GIVEN = ("id", "provider", "api", "status", "label", "reason", "class", "grade", "source", "seen")


def add(verbs: common.Verbs) -> None:
    about = "make a case from a response; what is not given is asked for on a terminal"
    parser = common.add_verb(verbs, "add", main, about, corpus_group)
    parser.add_argument("body", metavar="FILE", help="the body as the provider sent it; - reads it from stdin")
    parser.add_argument("--family", metavar="NAME", help="the file the case belongs to, such as vllm (the provider)")
    parser.add_argument("--id", metavar="ID", help="id of the case, such as vllm-prompt-too-long")
    parser.add_argument("--provider", metavar="NAME", help="who answered, in the words of the report")
    parser.add_argument("--provider-id", metavar="NAME", help="the name in Pi's settings (the provider)")
    parser.add_argument("--api", choices=known("api"), metavar="STYLE", help=f"one of {', '.join(known('api'))}")
    parser.add_argument("--status", type=status, metavar="N", help="the HTTP status")
    parser.add_argument("--header", action="append", default=[], metavar="NAME: VALUE", help="a header that matters")
    parser.add_argument("--context-window", type=common.tokens, metavar="TOKENS", help="where the verdict needs it")
    parser.add_argument("--label", choices=known("label"), help="what it is")
    parser.add_argument("--of", choices=known("of"), help="what is too large (input)")
    parser.add_argument("--reason", metavar="TEXT", help="why the label is right")
    parser.add_argument("--class", choices=known("class"), metavar="CLASS", help=f"one of {', '.join(known('class'))}")
    parser.add_argument("--policy", metavar="TEXT", help="the label is a choice; which one")
    parser.add_argument("--grade", choices=known("grade"), metavar="GRADE", help=f"one of {', '.join(known('grade'))}")
    parser.add_argument("--source", metavar="URL", help='where it was seen; "ours" for a made-up one')
    parser.add_argument("--seen", metavar="DAY", help="YYYY-MM-DD, or as much of it as is known")
    parser.add_argument("--allow-similar", action="store_true", help="although a case differs in numbers alone")
    parser.add_argument("--dry-run", action="store_true", help="show the case and write nothing")


def main(options: argparse.Namespace) -> int:
    _check_words(options)
    body = stdin() if options.body == "-" else _bounded(read_bytes(Path(options.body)), options.body)
    given = _answers(options)
    folder = (options.corpus or corpus_dir()) if options.dry_run else corpus_to_change(options)
    draft = Draft(
        options.family or given["provider"], body, _members(options, given), given["status"], _headers(options)
    )
    added = add_case(draft, folder, allow_similar=options.allow_similar, write=not options.dry_run)
    for detail in added.redacted:
        common.say(f"replaced: {detail}")
    for warning in added.warnings:
        common.say(f"warning: {printable(warning.message)} [{warning.code}]")
    if options.dry_run:
        print(json.dumps(added.case, indent=2, ensure_ascii=True))
        return 0
    print(f"{printable(str(added.file))}: {added.case['id']} added")
    common.say("next: compaction-conformance overflow record --write")
    return 0


def _check_words(options: argparse.Namespace) -> None:
    """Raises `InvalidInput` for an argument that was no text: its bytes became halves of surrogate pairs."""
    for name, value in vars(options).items():
        if name != "body" and isinstance(value, str) and any("\ud800" <= char <= "\udfff" for char in value):
            where = f"--{name.replace('_', '-')}"
            raise InvalidInput("is not UTF-8", where=where, remedy="give it in UTF-8")


def _answers(options: argparse.Namespace) -> dict[str, Any]:
    """What was given, and what a person adds on a terminal. Raises `InvalidInput` when nobody can be asked."""
    given = {name: getattr(options, name) for name in _MUST_BE_GIVEN}
    missing = [name for name, value in given.items() if value is None]
    if missing and (options.body == "-" or not sys.stdin.isatty()):
        flags = " ".join(f"--{name}" for name in missing)
        raise InvalidInput("not enough is known of the response", where="overflow add", remedy=f"give {flags}")
    for name in missing:
        given[name] = _asked(name, status if name == "status" else str)
    return given


def _asked(name: str, convert: Callable[[str], Any]) -> Any:
    choices = known(name) if name in ("api", "label", "class", "grade") else []
    while True:
        try:
            answer = input(f"{name}{f' ({chr(32).join(choices)})' if choices else ''}: ").strip()
        except EOFError:
            raise InvalidInput("not enough is known of the response", remedy=f"give --{name}") from None
        try:
            if answer and (not choices or answer in choices):
                return convert(answer)
        except (ValueError, argparse.ArgumentTypeError):
            pass
        common.say(f"{name} cannot be {printable(answer)!r}")


def _members(options: argparse.Namespace, given: dict[str, Any]) -> dict[str, Any]:
    """The members of the case but its response, in any order."""
    members: dict[str, Any] = {
        "id": given["id"],
        "provider": given["provider"],
        "providerId": options.provider_id or given["provider"],
        "api": given["api"],
        "label": given["label"],
        "reason": given["reason"],
        "class": given["class"],
        "disputed": options.policy is not None,
        "evidence": {"grade": given["grade"], "source": given["source"], "seen": given["seen"]},
    }
    if given["label"] == "overflow":
        members["of"] = options.of or "input"
    elif options.of:
        raise InvalidInput("nothing is too large where nothing overflows", where="--of", remedy="leave it out")
    if options.policy is not None:
        members["policy"] = options.policy
    if options.context_window is not None:
        members["contextWindow"] = options.context_window
    return members


def _headers(options: argparse.Namespace) -> dict[str, str]:
    headers = {}
    for header in options.header:
        name, colon, value = header.partition(":")
        if not colon or not name.strip():
            raise InvalidInput(f"{printable(header)!r} is no header", where="--header", remedy="write 'name: value'")
        headers[name.strip()] = value.strip()
    return headers


# What the verbs of `overflow` share


def corpus_group(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--corpus", type=Path, metavar="DIR", help="folder of case files (the project's own)")


def corpus_to_change(options: argparse.Namespace) -> Path:
    """The folder that is named, or the project's own, which only a checkout has."""
    if options.corpus is not None:
        return Path(options.corpus)
    checkout_dir(otherwise="name a folder of your own with --corpus DIR")
    return corpus_dir()


def known(name: str) -> list[str]:
    """The values that the schemas allow."""
    if name == "api":
        return list(all_schemas()["definitions"]["$defs"]["apiStyle"]["enum"])
    properties = all_schemas()["overflow-case-file"]["$defs"]["case"]["properties"]
    if name == "grade":
        return list(properties["evidence"]["properties"]["grade"]["enum"])
    return list(properties[name]["enum"])


status = common.whole(100, 599)  # of HTTP


def stdin() -> bytes:
    """All of standard input, as far as it is bounded."""
    return _bounded(sys.stdin.buffer.read(MAX_FILE_BYTES + 1), "stdin")


def _bounded(content: bytes, where: str) -> bytes:
    if len(content) > MAX_FILE_BYTES:
        raise InvalidInput("is too large", where=where, remedy=f"at most {MAX_FILE_BYTES >> 20} MiB are read")
    return content
