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
    return best.family, _note(best, found), everything


def _completions(sessions: list[Session]) -> Iterator[str]:
    for session in sessions:
        for turn in session.turns:
            for attempt in turn.attempts:
                yield from (block.text for block in attempt.output if isinstance(block, RawBlock) and block.text)


def _note(best: Detection, found: list[Detection]) -> str:
    others = [
        f"{one.family or 'no known format'} {one.share:.0%}" for one in found if one is not best and one.share >= 0.01
    ]
    rest = f"; all are read so, though some look like {', '.join(others)}" if others else ""
    return (
        f"output format of the completions detected: {best.family} (confidence {best.confidence:.2f}, "
        f"{best.share:.0%} of those looked at){rest}; name it with --output-format"
    )
