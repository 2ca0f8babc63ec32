"""The rules, read from the chapters of `spec/`: they are the single source of ids, titles and levels."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from compaction_conformance.errors import InvalidInput
from compaction_conformance.json_files import read_text

DEFAULT_PROFILE = "coding-agent"
LEVELS = ("MUST", "SHOULD", "QUIRK")

_HEADING = re.compile(r"### (?P<id>[A-Z]{3}-[0-9]{2,3}) · (?P<title>.+)")
_LEVEL_LINE = re.compile(r"(?P<level>[A-Z]+) · (?P<editions>[^·]+) · (?P<evidence>[a-z]+)")
_READING = re.compile(r"- `(?P<name>[a-z][a-z0-9-]*)`: (?P<text>.+)")
_LABEL = re.compile(r"\*(?:Why|Source|Readings):\*")
_EVIDENCE = ("observed", "read", "seed", "ours")


@dataclass(frozen=True)
class Requirement:
    """One numbered rule. `readings` maps the names of a QUIRK's acceptable answers to their texts; `notes` are tables
    and paragraphs that stand between, line by line; `line` is that of its heading in `file`."""

    id: str
    title: str
    level: str
    editions: tuple[str, ...]
    evidence: str
    sentence: str
    why: str
    source: str
    readings: dict[str, str]
    chapter: str
    notes: tuple[str, ...] = ()
    file: Path = Path()
    line: int = 0


@dataclass(frozen=True)
class Chapter:
    """`profile` is the family of rules that the chapter belongs to."""

    slug: str
    title: str
    profile: str
    requirements: tuple[Requirement, ...]
    file: Path = Path()


@dataclass(frozen=True)
class Spec:
    chapters: tuple[Chapter, ...]

    @cached_property
    def requirements(self) -> dict[str, Requirement]:
        return {rule.id: rule for chapter in self.chapters for rule in chapter.requirements}

    @cached_property
    def profiles(self) -> dict[str, str]:
        """The profile of every chapter, by slug."""
        return {chapter.slug: chapter.profile for chapter in self.chapters}

    def check_choice(self, edition: str, profile: str | None) -> None:
        """Raises `InvalidInput` for an edition or a profile that no rule is of; None stands for every profile."""
        if edition not in self.editions:
            raise InvalidInput(f"unknown edition {edition!r}", remedy=f"known: {', '.join(self.editions)}")
        known = sorted(set(self.profiles.values()))
        if profile is not None and profile not in known:
            raise InvalidInput(f"unknown profile {profile!r}", remedy=f"known: {', '.join(known)}")

    @cached_property
    def editions(self) -> tuple[str, ...]:
        return tuple(sorted({edition for rule in self.requirements.values() for edition in rule.editions}))


def load_spec(directory: Path) -> Spec:
    """Read every `NN-name.md`, in order. Raises `InvalidInput` for a rule out of shape or an id used twice."""
    chapters = tuple(_load_chapter(path) for path in sorted(directory.glob("[0-9][0-9]-*.md")))
    if not chapters:
        raise InvalidInput(
            "no chapter found", where=str(directory), remedy="point to a folder with NN-chapter.md files"
        )
    seen: dict[str, str] = {}
    for chapter in chapters:
        for rule in chapter.requirements:
            if rule.id in seen:
                raise InvalidInput(
                    f"{rule.id} is used twice ({seen[rule.id]} and {chapter.slug})", where=str(directory)
                )
            seen[rule.id] = chapter.slug
    return Spec(chapters)


def _load_chapter(path: Path) -> Chapter:
    lines = read_text(path).splitlines()
    slug = path.stem[3:]
    title = lines[0].removeprefix("# ").strip() if lines else slug
    starts = [number for number, line in enumerate(lines) if line.startswith("### ")]
    ends = [*starts, len(lines)][1:]
    rules = tuple(
        _load_requirement(path, start, lines[start:end], slug) for start, end in zip(starts, ends, strict=True)
    )
    return Chapter(slug, title, _profile(lines[: starts[0]] if starts else lines), rules, path)


def _profile(introduction: list[str]) -> str:
    """A chapter says `*Profile:* name` before its first rule when it is not about the coding agent."""
    for line in introduction:
        if line.startswith("*Profile:* "):
            return line.removeprefix("*Profile:* ").strip()
    return DEFAULT_PROFILE


def _load_requirement(path: Path, start: int, block: list[str], chapter: str) -> Requirement:
    where = f"{path}:{start + 1}"
    heading, level = _HEADING.fullmatch(block[0]), _LEVEL_LINE.fullmatch(block[1]) if len(block) > 1 else None
    if heading is None:
        raise InvalidInput(f"heading out of shape: {block[0]!r}", where=where, remedy="write '### ABC-01 · The fact'")
    if level is None or level["level"] not in LEVELS or level["evidence"] not in _EVIDENCE:
        raise InvalidInput(
            f"{heading['id']} has no valid level line",
            where=where,
            remedy="write 'MUST · pi-0.87 · observed' (MUST|SHOULD|QUIRK; observed|read|seed|ours) below the heading",
        )
    paragraphs = [" ".join(text.split()) for text in _blocks(block[2:])]
    if not paragraphs:
        raise InvalidInput(
            f"{heading['id']} has no sentence", where=where, remedy="state the rule below the level line"
        )
    readings = {match["name"]: match["text"] for line in block if (match := _READING.match(line))}
    quirk = level["level"] == "QUIRK"
    if quirk and not readings:
        raise InvalidInput(f"{heading['id']} lists no readings", where=where, remedy="add '- `pi`: what Pi does' lines")
    return Requirement(
        id=heading["id"],
        title=heading["title"].strip(),
        level=level["level"],
        editions=tuple(edition.strip() for edition in level["editions"].split(",")),
        evidence=level["evidence"],
        sentence=paragraphs[0],
        why=_labelled(paragraphs, "*Why:*"),
        source=_labelled(paragraphs, "*Source:*"),
        readings=readings if quirk else {},
        chapter=chapter,
        notes=tuple(_notes(_blocks(block[2:])[1:], quirk)),
        file=path,
        line=start + 1,
    )


def _blocks(lines: list[str]) -> list[str]:
    """The paragraphs and tables of a rule, up to the next section of the chapter."""
    text = "\n".join(lines).partition("\n## ")[0]
    return [block.strip("\n") for block in text.split("\n\n") if block.strip()]


def _notes(blocks: list[str], quirk: bool) -> Iterator[str]:
    """What is neither reason nor source nor, of a QUIRK, a list of readings."""
    for block in blocks:
        if not _LABEL.match(block) and not (quirk and _READING.match(block)):
            yield block


def _labelled(paragraphs: list[str], label: str) -> str:
    for paragraph in paragraphs:
        _, found, rest = paragraph.partition(label)
        if found:
            return re.split(r"\*(?:Why|Source|Readings):\*", rest)[0].strip()
    return ""
