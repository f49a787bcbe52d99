"""Finds the output format of recorded completion text, where the user does not name it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from tokenclass.detect import Detection, detect_family
from traces.errors import SimtoolError
from traces.model import RawBlock, Session

LOOKED_AT_SESSIONS = 200
"""Sessions that are read ahead to see their completions."""
LOOKED_AT_TURNS = 2000
MIXED_SHARE = 0.05
MIXED_CONFIDENCE = 0.5
"""Share and confidence from which on a further format makes a trace a mixed one."""


def detected_format(sessions: Iterator[Session]) -> tuple[str | None, str | None, Iterator[Session]]:
    """The output format of the raw completions among the first sessions, a note on it, and all the sessions.

    No format and no note where there is no raw completion text. Raises SimtoolError where there is some and no known
    format explains it.
    """
    ahead: list[Session] = []
    turns = 0
    for session in sessions:
        ahead.append(session)
        turns += len(session.turns)
        if len(ahead) >= LOOKED_AT_SESSIONS or turns >= LOOKED_AT_TURNS:
            break
    everything = chain(ahead, sessions)
    texts = list(_completions(ahead))
    if not texts:
        return None, None, everything
    tools = [
        {"name": tool.name, "parameters": dict(tool.parameters)} for session in ahead[:1] for tool in session.tools
    ]
    found = detect_family(texts, tools or None)
    best = next((one for one in found if one.family is not None), None)
    if best is None:
        reason = found[0].reason if found else "no sign of any"
        raise SimtoolError(
            f"the completions follow no known output format: {reason} (name one with --output-format, or declare "
            "your own with --format-file)"
        )
    chosen = [one for one in found if one.family is not None and _counts(one, best)]
    return ",".join(str(one.family) for one in chosen), _note(chosen, found), everything


def _completions(sessions: list[Session]) -> Iterator[str]:
    for session in sessions:
        for turn in session.turns:
            for attempt in turn.attempts:
                yield from (block.text for block in attempt.output if isinstance(block, RawBlock) and block.text)


def _counts(one: Detection, best: Detection) -> bool:
    """Whether a format found beside the most frequent one is more than a stray look-alike."""
    return one is best or (one.share >= MIXED_SHARE and one.confidence >= MIXED_CONFIDENCE)


def _note(chosen: list[Detection], found: list[Detection]) -> str:
    names = ", ".join(
        f"{one.family} (confidence {one.confidence:.2f}, {one.share:.0%} of those looked at)" for one in chosen
    )
    strays = [
        f"{one.family or 'no known format'} {one.share:.0%}" for one in found if one not in chosen and one.share >= 0.01
    ]
    each = "; each is read in the one that explains it best" if len(chosen) > 1 else ""
    rest = f"; some look like {', '.join(strays)}" if strays else ""
    return f"output format of the completions detected: {names}{each}{rest}; name it with --output-format"
