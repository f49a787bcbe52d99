"""Segments of a completion, and what belongs to a segment that has just ended: blanks and end-of-turn tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tokenclass.classes import PositionClass, SubClass, SubSpan
from tokenclass.formats.cursor import Call
from tokenclass.formats.literals import BLANKS

LOOKAHEAD = 128
"""A finished region is certain once this many characters behind it are known; longer than any tag."""
END_OF_TURN = (
    "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "</s>", "<|endoftext|>", "<|end_of_text|>", "<|eot|>", "<|eom|>",
    "<｜end▁of▁sentence｜>", "<|message_sep|>", "<end_of_turn>", "<turn|>", "<|END_OF_TURN_TOKEN|>", "<|role_end|>",
    "<|user|>", "<|observation|>", "<|plamo:tag|>", "<|assistant_end|>", "<|end|>", "<|return|>", "<eos>", "[e~[",
    "<seed:eos>", "<|end_of_msg|>", "<|tool_response>", "<start_function_response>", "<|EOT|>", "<|hy_eos|>",
)  # fmt: skip
"""Tokens that end a turn; a recorded one takes the class of the segment before it."""


_TURN_SIGNS = frozenset(token[0] for token in END_OF_TURN)


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of text of one class; *subs*, *calls* and *forced* are those of a call region.

    Touching *subs* differ in label, and none is empty.
    """

    start: int
    end: int
    label: PositionClass
    subs: tuple[SubSpan, ...] = ()
    calls: tuple[Call, ...] = ()
    forced: tuple[tuple[int, int], ...] = ()


def with_tail(text: str, end: int, glued: tuple[str, ...], openers: tuple[str, ...]) -> tuple[int, list[SubSpan]]:
    """Where a segment that stops at *end* really ends, and the sub-spans of what is added.

    Blanks belong to the segment before them unless a literal of *glued* begins with them; an end-of-turn token
    does, too, unless one of *openers* begins there.
    """
    subs: list[SubSpan] = []
    while True:
        blank = end
        while blank < len(text) and text[blank] in BLANKS:
            blank += 1
        for literal in glued:
            lead = len(literal) - len(literal.lstrip())
            if blank - end >= lead and text.startswith(literal, blank - lead):
                blank -= lead
        token = None
        if text[blank : blank + 1] in _TURN_SIGNS:
            token = next((t for t in END_OF_TURN if text.startswith(t, blank)), None)
        join_sub(subs, SubSpan(end, blank, SubClass.P))
        if token is None or text.startswith(openers, blank):
            return blank, subs
        end = blank + len(token)
        join_sub(subs, SubSpan(blank, end, SubClass.D))


def join_sub(subs: list[SubSpan], sub: SubSpan) -> None:
    """Append *sub*, growing the last one if it touches and has the same label; an empty one is ignored."""
    if sub.end <= sub.start:
        return
    if subs and subs[-1].label is sub.label and subs[-1].end == sub.start:
        subs[-1] = SubSpan(subs[-1].start, sub.end, sub.label)
    else:
        subs.append(sub)


def joined(*runs: Sequence[SubSpan]) -> tuple[SubSpan, ...]:
    """Sub-spans of consecutive stretches as one sequence; those of each stretch are joined already."""
    subs: list[SubSpan] = []
    for run in runs:
        if run:
            join_sub(subs, run[0])
            subs.extend(run[1:])
    return tuple(subs)
