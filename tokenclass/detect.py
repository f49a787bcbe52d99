"""Finds out in which output format the raw completions of a trace are written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from tokenclass.classes import PositionClass
from tokenclass.formats.boundary import Segment
from tokenclass.formats.family import Family, ReasoningEnd
from tokenclass.formats.registry import FAMILIES
from tokenclass.formats.schema import Json, Tools
from tokenclass.parse import segmenter

MAX_TEXTS = 300
"""Completions looked at; of a longer trace, this many evenly spaced ones."""
MAX_CHARS = 50_000
"""Characters looked at of each completion."""
_MARKUP = re.compile(
    r"<\|[\w./:\"]{2,60}\|>|<[｜|][^｜|<>\n]{2,40}[｜|]>|</?[\w.:|｜]*(?:tool_?call|function_?call|invoke)s?\b[^<>\n]*>"
    r"|</?(?:function|parameter|arg_key|arg_value)\b[^<>\n]*>|\[TOOL_CALLS\]|\[/?TOOL_REQUEST\]|\bfunctools\s*\["
    r"|^\s*[\[{]\s*\{?\s*\"(?:name|tool_name|function|tool)\"\s*:|<(?:[\w.]+:)?(?:tool_use|call)\b[^<>\n]*>"
)


@dataclass(frozen=True, slots=True)
class Detection:
    """One format found in a trace, or the finding that some completions follow none."""

    family: str | None
    """None: no known format; *reason* says what was seen instead."""
    confidence: float
    """In [0, 1]: (1 - 2^-n) * (c + w / 2) / n for n completions that speak for it, c of them by complete calls
    and w by weaker marks (reasoning tags, cut calls, calls without delimiters)."""
    share: float
    """Of the completions looked at, the part that this finding covers; those without any markup go with the
    format found most often."""
    reason: str
    equivalent: tuple[str, ...] = ()
    """Other families that label these completions alike."""


class _Score(NamedTuple):
    calls: int
    broken: int
    """Call regions that yield no call, negated."""
    call_chars: int
    reasoning_chars: int
    leftover: int
    """Marks left in the prose, negated."""

    @property
    def speaks(self) -> bool:
        return self.calls > 0 or self.reasoning_chars > 0 or (self.call_chars > 0 and self.broken == 0)

    def explains(self, best: _Score) -> bool:
        """Whether nothing is left unexplained that the best reading explains."""
        if not self.speaks or self.broken or self.leftover < best.leftover:
            return False
        drafts_only = self.leftover == 0 and self.reasoning_chars > best.reasoning_chars
        return (self.calls > 0) == (best.calls > 0) or drafts_only


@dataclass(frozen=True, slots=True)
class _Reading:
    families: frozenset[str]
    """Families that explain the completion; empty if none reads anything in it."""
    strong: bool
    """Whether it has complete calls behind an opener of their own, not just reasoning tags or brackets."""
    marked: bool
    """Whether something in it looks like markup."""


def detect_family(texts: Iterable[str], tools: Iterable[Json] | None = None) -> list[Detection]:
    """The formats of *texts*, the raw completions of one trace, most frequent first.

    A mixed trace gives several. Completions with call-like markup that no format explains, or a trace without
    any evidence, give a finding without family. API families cannot be told from text and are never found.
    """
    chosen = _sample([text for text in texts if text.strip()])
    known = Tools(tools)
    readings = [_read(text[:MAX_CHARS], known) for text in chosen]
    unread = [index for index, reading in enumerate(readings) if reading.marked and not reading.families]
    plain = sum(not reading.marked and not reading.families for reading in readings)
    total = max(len(readings), 1)
    found = _group(readings)
    detections = []
    for position, (name, members, equivalent) in enumerate(found):
        covered = len(members) + (plain if position == 0 else 0)
        detections.append(_detection(name, [readings[index] for index in members], covered / total, equivalent))
    if unread:
        excerpt = _MARKUP.search(chosen[unread[0]])
        shown = excerpt[0].strip()[:60] if excerpt else ""
        reason = f"markup like that of tool calls which no known format explains, such as {shown!r}"
        detections.append(Detection(None, 1 - 0.5 ** len(unread), len(unread) / total, reason))
    if not detections:
        reason = "no completions" if not readings else "no evidence: neither reasoning tags nor tool calls in the text"
        detections.append(Detection(None, 0.0, 1.0 if readings else 0.0, reason))
    return detections


def best_family(text: str, candidates: Sequence[Family], tools: Tools) -> Family:
    """The one of *candidates* that explains the completion *text* best; the first of equals, and where none does."""
    scores = [_score(text[:MAX_CHARS], family, tools) for family in candidates]
    best = max(scores)
    return candidates[scores.index(best)] if best.speaks else candidates[0]


def _sample(texts: Sequence[str]) -> Sequence[str]:
    if len(texts) <= MAX_TEXTS:
        return texts
    return [texts[index * len(texts) // MAX_TEXTS] for index in range(MAX_TEXTS)]


def _detection(name: str, readings: Sequence[_Reading], share: float, equivalent: tuple[str, ...]) -> Detection:
    calls = sum(reading.strong for reading in readings)
    n = len(readings)
    confidence = (1 - 0.5**n) * (calls + (n - calls) / 2) / n
    reason = f"{calls} completions with its calls, {n - calls} with weaker marks"
    return Detection(name, confidence, share, reason, equivalent)


def _group(readings: Sequence[_Reading]) -> list[tuple[str, list[int], tuple[str, ...]]]:
    """Cover the readings by few families, those with most calls first: name, readings, families that do as well."""
    left = {index for index, reading in enumerate(readings) if reading.families}
    groups = []
    while left:
        support = {name: [i for i in sorted(left) if name in readings[i].families] for name in FAMILIES}
        strength = {name: sum(readings[i].strong for i in members) for name, members in support.items()}
        name = max(FAMILIES, key=lambda n: (strength[n], 0 if strength[n] else len(support[n])))
        members = support[name]
        alike = tuple(other for other in FAMILIES if other != name and support[other] == members)
        groups.append((name, members, alike))
        left.difference_update(members)
    return sorted(groups, key=lambda group: -len(group[1]))


def _read(text: str, tools: Tools) -> _Reading:
    """The families that explain *text*."""
    scores: dict[str, _Score] = {}
    cache: dict[Family, _Score] = {}
    candidates, opened = _candidates(text)
    for family in candidates:
        spelling = _spelling(family)
        if spelling not in cache:
            cache[spelling] = _score(text, spelling, tools)
        scores[family.name] = cache[spelling]
    best = max(scores.values(), default=None)
    if best is None or not best.speaks:
        return _Reading(frozenset(), strong=False, marked=_MARKUP.search(text) is not None)
    families = frozenset(name for name, score in scores.items() if score == best or score.explains(best))
    return _Reading(families, strong=opened and best.calls > 0, marked=True)


def _spelling(family: Family) -> Family:
    """The family without its name and prompt: equal for families that text alone cannot tell apart."""
    reasoning = family.reasoning
    return Family(
        name="",
        calls=family.calls,
        reasoning=msgspec.structs.replace(reasoning, always=False) if reasoning else None,
        channels=family.channels,
        calls_in_reasoning=family.calls_in_reasoning,
        glued=family.glued,
    )


def _candidates(text: str) -> tuple[list[Family], bool]:
    """Families one of whose literals occurs in *text*, and whether a call opener does: bare calls count only else."""
    raw = [family for family in FAMILIES.values() if family.api is None]
    opened = [family for family in raw if any(literal in text for literal in _call_literals(family))]
    bare = [] if opened else [family for family in raw if family.calls and re.search(family.calls.pattern(), text)]
    tagged = [family for family in raw if family.reasoning and _has_reasoning(family, text)]
    names = {family.name for family in (*opened, *bare, *tagged)}
    return [family for family in raw if family.name in names], bool(opened)


def _call_literals(family: Family) -> tuple[str, ...]:
    if family.channels is not None:
        return (family.channels.message,)
    return family.calls.openers() if family.calls else ()


def _has_reasoning(family: Family, text: str) -> bool:
    reasoning = family.reasoning
    return reasoning is not None and any(
        re.search(pattern, text) for pattern in (reasoning.opener_pattern(), reasoning.closer_pattern())
    )


def _score(text: str, family: Family, tools: Tools) -> _Score:
    segments = segmenter(family, tools, "", ReasoningEnd.STRICT).run(text, final=True)
    calls = broken = call_chars = reasoning_chars = leftover = 0
    for index, segment in enumerate(segments):
        size = segment.end - segment.start
        following = segments[index + 1].label if index + 1 < len(segments) else None
        if segment.label is PositionClass.R or (segment.label is PositionClass.S and following is PositionClass.R):
            reasoning_chars += size
        elif segment.label is PositionClass.F:
            leftover += len(_MARKUP.findall(text[segment.start : segment.end]))
        else:
            good = _good_calls(segment, tools)
            calls += good
            broken += not good and following is not None
            call_chars += size
    return _Score(calls, -broken, call_chars, reasoning_chars, -leftover)


def _good_calls(segment: Segment, tools: Tools) -> int:
    def counts(call: dict[str, object]) -> bool:
        arguments = call["arguments"]
        return tools.allows(call["name"]) and not (isinstance(arguments, dict) and "" in arguments)

    return sum(map(counts, segment.calls))
