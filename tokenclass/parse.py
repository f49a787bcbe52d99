"""Labels one completion: reasoning, prose and tool calls, with the calls' sub-spans and forced runs."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from tokenclass.classes import PositionClass, Span, SubSpan
from tokenclass.formats.api_blocks import label_blocks
from tokenclass.formats.boundary import Segment, join_sub
from tokenclass.formats.channel_segment import ChannelSegmenter
from tokenclass.formats.cursor import Call
from tokenclass.formats.family import Family, ReasoningEnd
from tokenclass.formats.registry import get_family
from tokenclass.formats.schema import Json, Tools
from tokenclass.formats.segment import TagSegmenter

_LONG_TEXT = 1 << 20


@dataclass(frozen=True, slots=True)
class ParsedOutput:
    """What a completion consists of. Offsets are code points."""

    spans: list[Span]
    """Classes covering the text without gaps, neighbours differing."""
    sub: list[SubSpan]
    """Sub-classes covering exactly the S spans, touching neighbours differing."""
    calls: list[Call]
    """The complete calls in order: `name` and `arguments`."""
    forced: list[tuple[int, int]]
    """Runs inside S where the format and the tool's schema leave exactly one continuation.

    Counted: delimiters from the point where they differ from what else may stand there (the first character of a
    call's opener is the model's choice), and, when tools are given, the rest of a tool name, key or enum value
    once one candidate is left, the punctuation around keys, and the rest of `true`, `false` and `null`. Not
    counted: the end of a free string or number. White space is taken to follow the format's template, so it is
    forced where the punctuation around it is. Without tools only delimiters count.
    """


def segmenter(
    family: Family, tools: Tools, prompt_tail: str, reasoning_end: ReasoningEnd
) -> TagSegmenter | ChannelSegmenter:
    """A segmenter for one completion of *family*. Raises ValueError for an API family, which has blocks instead."""
    if family.api is not None:
        raise ValueError(f"family {family.name!r} is labelled by its recorded blocks: pass blocks")
    if family.channels is not None:
        return ChannelSegmenter(family.channels, tools)
    return TagSegmenter(family, tools, prompt_tail, reasoning_end)


def parse_output(
    text: str,
    family: str | Family,
    tools: Iterable[Json] | None = None,
    prompt_tail: str = "",
    *,
    reasoning_end: str = ReasoningEnd.STRICT,
    blocks: Sequence[Json] | None = None,
    tool_choice: str | None = None,
) -> ParsedOutput:
    """Label *text*, a raw completion of *family* (a name, an alias or a declaration).

    *tools* are the tools of the request; *prompt_tail* is what the chat template put at the end of the prompt
    (empty: unknown). *reasoning_end* says whether a tool call ends an open reasoning block ("tool-token") or
    only its end tag does while one follows ("strict"). *blocks* are the recorded blocks of an API family.
    *tool_choice* names the tool whose arguments alone were generated. Raises ValueError for an unknown family,
    and for an API family whose blocks are missing or differ from the text.
    """
    rules = get_family(family) if isinstance(family, str) else family
    known = Tools(tools, tool_choice)
    with _collector_paused(len(text)):
        if rules.api is not None and blocks is not None:
            return assemble(label_blocks(text, rules.api, blocks, known))
        return assemble(segmenter(rules, known, prompt_tail, ReasoningEnd(reasoning_end)).run(text, final=True))


@contextmanager
def _collector_paused(characters: int) -> Iterator[None]:
    """Pause the cycle collector for a long text: all that is allocated lives on, so its passes find nothing."""
    if characters < _LONG_TEXT or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def assemble(segments: Sequence[Segment]) -> ParsedOutput:
    """Join segments: neighbours of one class, and touching sub-spans of one sub-class, become one."""
    spans: list[Span] = []
    sub: list[SubSpan] = []
    calls: list[Call] = []
    forced: list[tuple[int, int]] = []
    for segment in segments:
        join_span(spans, segment.start, segment.end, segment.label)
        if segment.subs:
            join_sub(sub, segment.subs[0])
            sub.extend(segment.subs[1:])
        calls.extend(segment.calls)
        forced.extend(segment.forced)
    return ParsedOutput(spans, sub, calls, forced)


def join_span(spans: list[Span], start: int, end: int, label: PositionClass) -> None:
    """Append a span, growing the last one if it has the same class; an empty one is ignored."""
    if end <= start:
        return
    if spans and spans[-1].label is label:
        spans[-1] = Span(spans[-1].start, end, label)
    else:
        spans.append(Span(start, end, label))
