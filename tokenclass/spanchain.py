"""A model of the spans of another trace, from which tokens without text get their labels."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from tokenclass.classes import N_SUBCLASSES
from tokenclass.identity import generator
from tokenclass.tagged import LabelRuns
from traces.errors import SimtoolError

_EDGE = N_SUBCLASSES
"""State before the first span of an output and after its last one."""
_CHUNK = 64


@dataclass(frozen=True, slots=True)
class SpanChain:
    """A first-order chain of spans: which sub-class follows which, and how long its spans are.

    An output goes through the chain until it has its tokens; where the chain comes to the end of a modelled
    output sooner, it begins a new one.
    """

    source: str
    """What it was fitted to, for the note of the assumption."""
    seed: int
    follows: tuple[tuple[float, ...], ...]
    """Row of each state: cumulative probabilities of the next one."""
    lengths: tuple[NDArray[np.int64], ...]
    """Span lengths met of each sub-class, in increasing order, each as often as it was met."""

    @property
    def assumption(self) -> str:
        """What is assumed where it is drawn from."""
        return f"output tokens without text: classes and spans drawn as in {self.source} (--mix-from)"

    def draw(self, tokens: int, *identity: str) -> NDArray[np.uint8]:
        """Sub-class labels of *tokens* tokens; the same seed and *identity* give the same labels."""
        rng = generator(self.seed, *identity)
        values: list[int] = []
        sizes: list[int] = []
        state, drawn = _EDGE, 0
        while drawn < tokens:
            steps, picks = rng.random((2, _CHUNK)).tolist()
            for step, pick in zip(steps, picks, strict=True):
                state = bisect_right(self.follows[state], step)
                if state == _EDGE:
                    continue
                known = self.lengths[state]
                values.append(state)
                sizes.append(int(known[int(pick * known.size)]))
                drawn += sizes[-1]
                if drawn >= tokens:
                    break
        return np.repeat(np.array(values, np.uint8), sizes)[:tokens]


class SpanChainBuilder:
    """Counts the spans of a trace's outputs."""

    def __init__(self) -> None:
        self._follows = np.zeros((_EDGE + 1, _EDGE + 1), np.int64)
        self._lengths: list[list[int]] = [[] for _ in range(N_SUBCLASSES)]

    def add(self, labels: LabelRuns) -> None:
        """Count one output; an empty one tells nothing."""
        if not labels.values.size:
            return
        states = np.concatenate(([_EDGE], labels.values.astype(np.int64), [_EDGE]))
        np.add.at(self._follows, (states[:-1], states[1:]), 1)
        for value, length in zip(labels.values.tolist(), labels.lengths.tolist(), strict=True):
            self._lengths[value].append(length)

    def build(self, source: str, seed: int = 0) -> SpanChain:
        """The chain of what was counted. Raises SimtoolError when that was nothing."""
        if not self._follows[_EDGE].any():
            raise SimtoolError(
                f"--mix-from {source}: no output of it has known classes (name a trace with text, or use --class-mix)"
            )
        return SpanChain(
            source=source,
            seed=seed,
            follows=tuple(_cumulative(row) for row in self._follows.tolist()),
            lengths=tuple(np.sort(np.array(lengths, np.int64)) for lengths in self._lengths),
        )


def _cumulative(counts: Sequence[int]) -> tuple[float, ...]:
    """Cumulative probabilities; a state that never occurs has none and is never reached."""
    total = sum(counts)
    return tuple(part / total for part in accumulate(counts)) if total else ()
