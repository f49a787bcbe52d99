"""A few labelled outputs of a recording, picked while it is read: what a report shows of the text."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from scenarios.tags.tagshow import ShownText, shown_parts
from tokenclass.classes import N_CLASSES, PositionClass
from tokenclass.outputs import Observe, OutputRun
from traces.model import Session, Turn
from traces.safetext import safe, safe_line

OUTPUTS = 3
FIRST_SESSIONS = 50
"""Outputs are picked from this many sessions, so that the choice does not wait for the end of a long recording."""
BEST_TOKENS = 200
"""Of outputs that show as many classes, those nearest to this length are taken."""
PART_CHARS = 1200
"""Characters of a run of one sub-class; what is beyond is counted, not kept."""
OUTPUT_CHARS = 6000


class ExcerptPart(msgspec.Struct, frozen=True, kw_only=True):
    """A run of text of one sub-class, or tokens without text."""

    label: str
    """Sub-class letter (D N K V T P R F); empty for tokens without text."""
    text: str
    """Characters that would steer a terminal or a page are written as escapes."""
    left_out_chars: int = 0
    hidden_tokens: int = 0


class ExcerptOutput(msgspec.Struct, frozen=True, kw_only=True):
    """One output."""

    session_id: str
    turn_id: str
    attempt: int
    class_tokens: dict[str, int]
    parts: list[ExcerptPart]


class ExcerptPicker:
    """Is shown the outputs of a recording and keeps the few that show most; those without text are never kept."""

    def __init__(self) -> None:
        self._sessions = 0
        self._seen = 0
        self._best: list[tuple[tuple[int, int, int], ExcerptOutput]] = []

    def observer(self, session: Session) -> Observe | None:
        """What looks at the outputs of *session*; None once enough sessions were seen."""
        self._sessions += 1
        if self._sessions > FIRST_SESSIONS:
            return None

        def observe(turn: Turn, number: int, runs: Sequence[OutputRun]) -> None:
            self._offer(session, turn, number, runs)

        return observe

    @property
    def outputs(self) -> list[ExcerptOutput]:
        """The outputs kept, in the order of the recording."""
        return [output for _, output in sorted(self._best, key=lambda pair: pair[0][2])]

    def _offer(self, session: Session, turn: Turn, number: int, runs: Sequence[OutputRun]) -> None:
        self._seen += 1
        if not any(run.pieces for run in runs):
            return
        tokens = np.sum([np.zeros(N_CLASSES, np.int64), *(run.labels.class_tokens() for run in runs)], axis=0)
        score = (-int(np.count_nonzero(tokens)), abs(int(tokens.sum()) - BEST_TOKENS), self._seen)
        if len(self._best) == OUTPUTS and score > self._best[-1][0]:
            return
        output = ExcerptOutput(
            session_id=safe_line(session.id),
            turn_id=safe_line(turn.id),
            attempt=number,
            class_tokens={one.name: int(count) for one, count in zip(PositionClass, tokens, strict=True) if count},
            parts=_parts(runs),
        )
        self._best = sorted([*self._best, (score, output)], key=lambda pair: pair[0])[:OUTPUTS]


def _parts(runs: Sequence[OutputRun]) -> list[ExcerptPart]:
    parts: list[ExcerptPart] = []
    room = OUTPUT_CHARS
    for one in shown_parts(runs):
        if not isinstance(one, ShownText):
            parts.append(ExcerptPart(label="", text="", hidden_tokens=sum(one.tokens.values())))
            continue
        kept = one.text[: min(PART_CHARS, room)]
        room -= len(kept)
        parts.append(ExcerptPart(label=one.label.name, text=safe(kept), left_out_chars=len(one.text) - len(kept)))
    return parts
