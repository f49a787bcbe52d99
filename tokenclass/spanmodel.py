"""A model of the spans of another trace, from which tokens without text get their labels.

Its outputs stand in groups of about equal length. A draw takes an output out of the group of its own length, each by
its number of tokens, and fits it to its length so that each of its tokens stands for as many drawn ones on average.
So the classes of draws of one length have the token shares of their group on average, and draws of all the lengths of
the model together the shares of the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tokenclass.generators import generators
from tokenclass.identity import generator
from tokenclass.tagged import LabelRuns
from traces.errors import SimtoolError

_GROUP = 32
"""Outputs in a group, more where lengths are equal."""
_STRETCH = 1.5
"""How much longer or shorter spans are made to fit an output to another length; beyond it is cut or repeated."""


@dataclass(frozen=True, slots=True)
class SpanModel:
    """The outputs of a trace in the order of their lengths."""

    source: str
    """What it was fitted to, for the note of the assumption."""
    seed: int
    runs: LabelRuns
    """Those of all outputs in the order of their lengths, one after another."""
    begins: NDArray[np.int64]
    """Shape (outputs + 1,): runs before each output."""
    upto: NDArray[np.int64]
    """Shape (outputs + 1,): tokens before each output."""
    groups: NDArray[np.int64]
    """First output of each group, and the number of outputs."""
    bounds: NDArray[np.float64]
    """Lengths between the groups."""

    @property
    def assumption(self) -> str:
        """What is assumed where it is drawn from."""
        return f"output tokens without text: classes and spans drawn as in {self.source} (--mix-from)"

    def draw(self, tokens: int, *identity: str) -> NDArray[np.uint8]:
        """Sub-class labels of *tokens* tokens; the same seed and *identity* give the same labels."""
        return self._drawn(tokens, generator(self.seed, *identity))

    def draw_all(self, tokens: NDArray[np.int64], identities: Sequence[str]) -> NDArray[np.uint8]:
        """The labels of many outputs end to end, each as `draw` gives them."""
        rngs = generators(self.seed, identities)
        drawn = [self._drawn(count, rng) for count, rng in zip(tokens.tolist(), rngs, strict=True)]
        return np.concatenate([np.empty(0, np.uint8), *drawn])

    def _drawn(self, tokens: int, rng: np.random.Generator) -> NDArray[np.uint8]:
        if tokens > _STRETCH * int(self.upto[-1] - self.upto[-2]):
            return self._joined(tokens, rng)
        group = int(np.searchsorted(self.bounds, tokens))
        first, last = self.groups[group : group + 2].tolist()
        output, place = self._pick(first, last, rng)
        size = output.n_tokens
        if tokens <= size * _STRETCH and size <= tokens * _STRETCH:
            return _fitted(output, tokens, rng.random())
        return np.take(output.expand(), np.arange(place, place + tokens), mode="wrap")

    def _output(self, at: int) -> LabelRuns:
        begin, end = self.begins[at : at + 2].tolist()
        return LabelRuns(self.runs.values[begin:end], self.runs.lengths[begin:end])

    def _pick(self, first: int, last: int, rng: np.random.Generator) -> tuple[LabelRuns, int]:
        """The output of one of the tokens of outputs *first* to *last*, each being as likely, and its place there."""
        token = int(rng.integers(self.upto[first], self.upto[last]))
        at = int(np.searchsorted(self.upto, token, side="right")) - 1
        return self._output(at), token - int(self.upto[at])

    def _joined(self, tokens: int, rng: np.random.Generator) -> NDArray[np.uint8]:
        """Whole outputs one after another, begun at any token of one: longer than any output of the model."""
        count = self.begins.size - 1
        output, place = self._pick(0, count, rng)
        parts = [output.expand()[place:]]
        drawn = parts[0].size
        while drawn < tokens:
            parts.append(self._output(int(rng.integers(count))).expand())
            drawn += parts[-1].size
        return np.concatenate(parts)[:tokens]


class SpanModelBuilder:
    """Gathers the outputs of a trace."""

    def __init__(self) -> None:
        self._outputs: list[LabelRuns] = []

    def add(self, labels: LabelRuns) -> None:
        """Take one output; an empty one tells nothing."""
        if labels.n_tokens:
            self._outputs.append(labels)

    def build(self, source: str, seed: int = 0) -> SpanModel:
        """The model of what was taken. Raises SimtoolError when that was nothing."""
        if not self._outputs:
            raise SimtoolError(
                f"--mix-from {source}: no output of it has known classes (name a trace with text, or use --class-mix)"
            )
        outputs = sorted(self._outputs, key=lambda labels: labels.n_tokens)
        sizes = np.array([labels.n_tokens for labels in outputs], np.int64)
        groups = _groups(sizes)
        return SpanModel(
            source=source,
            seed=seed,
            runs=LabelRuns(
                np.concatenate([labels.values for labels in outputs]),
                np.concatenate([labels.lengths for labels in outputs]),
            ),
            begins=np.cumsum([0, *(labels.values.size for labels in outputs)], dtype=np.int64),
            upto=np.cumsum([0, *sizes.tolist()], dtype=np.int64),
            groups=np.append(groups, sizes.size),
            bounds=np.sqrt(sizes[groups[1:] - 1] * sizes[groups[1:]].astype(np.float64)),
        )


def _groups(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where groups of outputs of rising *sizes* begin; those of one size are in one group, the last is no small one."""
    begins = [0]
    for at in (np.flatnonzero(np.diff(sizes)) + 1).tolist():
        if at - begins[-1] >= _GROUP and sizes.size - at >= _GROUP:
            begins.append(at)
    return np.array(begins, np.int64)


def _fitted(output: LabelRuns, tokens: int, phase: float) -> NDArray[np.uint8]:
    """Labels of *output* made *tokens* long: ends of spans move in proportion, rounded by *phase* in [0, 1)."""
    ends = np.cumsum(output.lengths, dtype=np.int64)
    if ends[-1] != tokens:
        ends = np.minimum(np.floor(ends * (tokens / int(ends[-1])) + phase).astype(np.int64), tokens)
        ends[-1] = tokens
    return output.values.repeat(np.diff(ends, prepend=0))
