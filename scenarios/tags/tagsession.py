"""Tags the outputs of one session and counts what they consist of; prompts are not looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from scenarios.options.read import ReadOptions
from scenarios.recordings.outputsonly import outputs_only
from scenarios.recordings.recording import raw_families, session_tagger
from scenarios.tags.tagreport import SessionStats, output_stats
from scenarios.tags.tagtally import KeyTally, OutputTally, ToolTally
from tokenclass.callparts import CallPart, call_parts
from tokenclass.classes import CLASS_OF_SUBCLASS, N_SUBCLASSES, PositionClass
from tokenclass.forced import byte_offsets, forced_tokens
from tokenclass.formats.registry import get_family
from tokenclass.formats.schema import Tools
from tokenclass.outputs import OutputRun
from tokenclass.tokenizers.base import clean
from traces.model import RawBlock, Session, Turn

UNREAD = "calls that the output format's grammar reads otherwise than recorded: left out of the forced share"

_CLASS = np.array(CLASS_OF_SUBCLASS, np.uint8)


@dataclass(slots=True, kw_only=True, eq=False)
class OutputLabels:
    """Run-length coded sub-classes of one attempt."""

    turn_id: str
    attempt: int
    values: NDArray[np.uint8]
    lengths: NDArray[np.int32]


@dataclass(slots=True, kw_only=True, eq=False)
class SessionTally:
    """What the outputs of one session consist of."""

    id: str
    agent: str | None
    outputs: OutputTally = field(default_factory=OutputTally)
    tools: dict[str | None, ToolTally] = field(default_factory=dict)
    """By name; None: calls in which no tool is named."""
    assumptions: dict[str, int] = field(default_factory=dict)
    labels: list[OutputLabels] = field(default_factory=list)
    """Every attempt in order; empty unless asked for."""
    stats: SessionStats | None = None
    """The session's own figures; None unless asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """What is kept of each session beside its counts."""

    labels: bool = False
    """The labels of every output."""
    stats: bool = False
    """The session's own figures."""


class SessionTagger:
    """Tags sessions one by one; what it says of one does not depend on the others."""

    def __init__(self, options: ReadOptions, detail: Detail) -> None:
        self._tagger = session_tagger(options)
        self._form = get_family(options.tool_call_format)
        self._raw_forms = raw_families(options)
        self._detail = detail

    def tally(self, session: Session) -> SessionTally:
        """Count *session*. Raises SimtoolError for outputs that nothing classifies."""
        tally = SessionTally(id=clean(session.id), agent=clean(session.agent) if session.agent else None)
        tools = Tools([{"name": tool.name, "parameters": tool.parameters} for tool in session.tools])

        def observe(turn: Turn, number: int, runs: Sequence[OutputRun]) -> None:
            if number == len(turn.attempts) - 1:
                self._count_calls(tally, turn, runs, tools)

        tagged = self._tagger.tag(outputs_only(session), observe)
        tally.outputs.add(tagged)
        for text, count in tagged.assumptions.items():
            tally.assumptions[text] = tally.assumptions.get(text, 0) + count
        if self._detail.stats:
            tally.stats = SessionStats(session_id=tally.id, agent=tally.agent, outputs=output_stats(tally.outputs))
        if self._detail.labels:
            tally.labels = [
                OutputLabels(
                    turn_id=clean(turn.id), attempt=at, values=attempt.labels.values, lengths=attempt.labels.lengths
                )
                for turn in tagged.turns
                for at, attempt in enumerate(turn.attempts)
            ]
        return tally

    def _count_calls(self, tally: SessionTally, turn: Turn, runs: Sequence[OutputRun], tools: Tools) -> None:
        labels = [run.labels.expand() for run in runs]
        in_calls = sum(int((_CLASS[label] == PositionClass.S).sum()) for label in labels)
        if not in_calls:
            return
        raw = any(isinstance(block, RawBlock) for block in turn.final.output)
        masks = (forced_tokens(runs, family, tools) for family in (self._raw_forms if raw else (self._form,)))
        forced = next((mask for mask in masks if mask is not None), None)
        if forced is not None:
            tally.outputs.forced.known_tokens += in_calls
            tally.outputs.forced.forced_tokens += int(forced.sum())
        elif tools.given:
            tally.assumptions[UNREAD] = tally.assumptions.get(UNREAD, 0) + 1
        at = 0
        for run, label in zip(runs, labels, strict=True):
            if run.ends is not None:
                mask = None if forced is None else forced[at : at + label.size]
                _count_run(tally.tools, run, label, mask)
            at += label.size


def _count_run(
    tallies: dict[str | None, ToolTally],
    run: OutputRun,
    labels: NDArray[np.uint8],
    forced: NDArray[np.bool_] | None,
) -> None:
    """Count the calls of a run of text; a token belongs where its first byte stands."""
    names, parts = call_parts(run.pieces)
    if not parts or run.ends is None:
        return
    borders = _token_borders(run, parts)
    sizes = [0] * len(names)
    for part, (first, last) in zip(parts, borders, strict=True):
        name = names[part.call]
        tally = tallies.setdefault(None if name is None else clean(name), ToolTally())
        inside = labels[first:last]
        tally.subclass_tokens += np.bincount(inside, minlength=N_SUBCLASSES)
        sizes[part.call] += inside.size
        if forced is not None:
            tally.forced.known_tokens += inside.size
            tally.forced.forced_tokens += int(forced[first:last].sum())
        if part.key is not None:
            tally.keys.setdefault(clean(part.key), KeyTally()).merge(KeyTally(count=1, tokens=inside.size))
    for name, size in zip(names, sizes, strict=True):
        tallies[None if name is None else clean(name)].calls.add([size])


def _token_borders(run: OutputRun, parts: Sequence[CallPart]) -> list[tuple[int, int]]:
    """First token of each part and the one after its last."""
    text = "".join(piece.text for piece in run.pieces)
    ends = run.ends if run.ends is not None else np.empty(0, np.int64)
    starts = np.concatenate(([0], ends[:-1]))
    offsets = byte_offsets(text, [border for part in parts for border in (part.start, part.end)])
    tokens = np.searchsorted(starts, offsets).tolist()
    return list(zip(tokens[::2], tokens[1::2], strict=True))
