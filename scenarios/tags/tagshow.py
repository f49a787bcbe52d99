"""Finds one turn of a recording and gives its output as labelled text."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from scenarios.options.read import ReadOptions
from scenarios.options.replay import OptionError
from scenarios.recordings.outputsonly import outputs_only
from scenarios.recordings.recording import known_format, open_recording, session_tagger, with_default_mix
from tokenclass.classes import PositionClass, SubClass
from tokenclass.outputs import OutputRun
from traces.model import Session, Turn, Verdict

_NAMED = 5
"""Ids that an error names."""


@dataclass(frozen=True, slots=True)
class ShownText:
    """A run of text of one sub-class."""

    text: str
    label: SubClass


@dataclass(frozen=True, slots=True)
class ShownHidden:
    """Tokens without text: how many of each class."""

    tokens: dict[PositionClass, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownAttempt:
    """One draw of the turn's output."""

    rejected: bool
    class_tokens: dict[PositionClass, int]
    parts: list[ShownText | ShownHidden]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownTurn:
    """A turn with its place in the recording; numbers count from 1."""

    session_id: str
    turn_id: str
    session_number: int
    turn_number: int
    attempts: list[ShownAttempt]
    assumptions: dict[str, int]
    omissions: dict[str, int]
    """Up to the turn: what follows it may not have been read."""


def show_turn(paths: Sequence[str], options: ReadOptions, wanted: str) -> ShownTurn:
    """The turn that *wanted* names, SESSION/TURN, each by its id or its number from 1; ids go before numbers.

    Raises OptionError naming near ids when there is none, TraceError or SimtoolError for unusable recordings.
    """
    recording = open_recording(paths, options)
    sessions, options = known_format(recording, options)
    tagger = session_tagger(options)
    session_number, session, turn_number = _find(sessions, wanted)
    turn = session.turns[turn_number - 1]
    attempts: list[list[OutputRun]] = []

    def observe(_: Turn, __: int, runs: Sequence[OutputRun]) -> None:
        attempts.append(list(runs))

    alone = replace(session, turns=(replace(turn, parent=None),))
    tagged = tagger.tag(outputs_only(alone), observe)
    labels = tagged.turns[0].attempts
    assumptions = {**recording.notes(), **with_default_mix(tagged.assumptions, options)}
    return ShownTurn(
        session_id=session.id,
        turn_id=turn.id,
        session_number=session_number,
        turn_number=turn_number,
        attempts=[
            ShownAttempt(
                rejected=label.verdict is Verdict.REJECTED,
                class_tokens=dict(zip(PositionClass, label.labels.class_tokens().tolist(), strict=True)),
                parts=list(shown_parts(runs)),
            )
            for label, runs in zip(labels, attempts, strict=True)
        ],
        assumptions=assumptions,
        omissions=dict(recording.log.omitted),
    )


def _find(sessions: Iterable[Session], wanted: str) -> tuple[int, Session, int]:
    """The session's number, the session and the turn's number that *wanted* names."""
    pairs = [(wanted[:at], wanted[at + 1 :]) for at, char in enumerate(wanted) if char == "/"]
    if not pairs:
        raise OptionError(f"--show {wanted!r} is not SESSION/TURN (ids, or numbers from 1 as in 3/7)")
    by_number: tuple[int, Session, int] | None = None
    ids: list[str] = []
    turn_ids: list[str] = []
    for number, session in enumerate(sessions, start=1):
        ids.append(session.id)
        for session_name, turn_name in pairs:
            if session_name not in (session.id, str(number)):
                continue
            turn_number = _turn_number(session, turn_name)
            if turn_number is None:
                turn_ids += [f"{session_name}/{turn.id}" for turn in session.turns]
            elif session_name == session.id:
                return number, session, turn_number
            else:
                by_number = by_number or (number, session, turn_number)
    if by_number is not None:
        return by_number
    raise OptionError(_not_found(wanted, pairs, ids, turn_ids))


def _turn_number(session: Session, name: str) -> int | None:
    for number, turn in enumerate(session.turns, start=1):
        if turn.id == name:
            return number
    return int(name) if name.isdecimal() and 1 <= int(name) <= len(session.turns) else None


def _not_found(wanted: str, pairs: Sequence[tuple[str, str]], ids: Sequence[str], turn_ids: Sequence[str]) -> str:
    if turn_ids:
        near = difflib.get_close_matches(wanted, turn_ids, n=_NAMED, cutoff=0.3) or turn_ids[:_NAMED]
        return (
            f"--show {wanted!r}: the session has no such turn, by id or by number from 1 to {len(turn_ids)}; "
            f"near: {', '.join(near)}"
        )
    near = list(dict.fromkeys(match for name, _ in pairs for match in _near(name, ids)))[:_NAMED]
    return (
        f"--show {wanted!r}: no such session, by id or by number from 1 to {len(ids)}; "
        f"{'near' if near else 'there are'}: {', '.join(near or ids[:_NAMED])}"
    )


def _near(name: str, ids: Sequence[str]) -> list[str]:
    return difflib.get_close_matches(name, ids, n=_NAMED) or [known for known in ids if name and name in known]


def shown_parts(runs: Iterable[OutputRun]) -> Iterator[ShownText | ShownHidden]:
    """The runs of an output, in order: neighbouring text of one sub-class together."""
    for run in runs:
        if run.hidden is not None:
            tokens = run.labels.class_tokens().tolist()
            yield ShownHidden({label: count for label, count in zip(PositionClass, tokens, strict=True) if count})
            continue
        text, label = "", SubClass.F
        for piece in run.pieces:
            if piece.label is not label and text:
                yield ShownText(text, label)
                text = ""
            text, label = text + piece.text, piece.label
        if text:
            yield ShownText(text, label)
