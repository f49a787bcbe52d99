"""Recorded token ids: texts with outputs in them, and what drafts of them a greedy target would accept.

At temperature 0 the recorded output says what the target accepts: a draft is accepted if it is the recorded token.
A negative id is a token whose content is hidden: nothing matches it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simulator.acceptance.base import I16, I64, Potential, check_gamma

I32 = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class RecordedTokens:
    """Texts end to end, each the context of its outputs and these outputs themselves.

    Text ``t`` owns ``ids[offsets[t]:offsets[t + 1]]``. Output ``a`` is ``ids[output_start[a]:output_end[a]]``, and its
    context is all of its text before it: turns of an agent whose prompts continue each other share one text. Outputs
    are in the order of `ids` and do not overlap.
    """

    ids: I32
    offsets: I64
    output_start: I64
    output_end: I64

    @classmethod
    def of(cls, contexts: Sequence[I32], outputs: Sequence[I32]) -> RecordedTokens:
        """A text for each output: one array of context ids and one of output ids each."""
        pairs = list(zip(contexts, outputs, strict=True))
        lengths = np.array([(len(one), len(other)) for one, other in pairs], dtype=np.int64).reshape(-1, 2)
        offsets = np.concatenate([[0], np.cumsum(lengths.sum(axis=1))]).astype(np.int64)
        pieces = [piece for pair in pairs for piece in pair]
        ids = np.concatenate(pieces).astype(np.int32) if pieces else np.zeros(0, dtype=np.int32)
        return cls(ids, offsets, offsets[:-1] + lengths[:, 0], offsets[1:])

    @property
    def output_offsets(self) -> I64:
        """Bounds of the outputs in flat arrays of output tokens alone."""
        return np.concatenate([[0], np.cumsum(self.output_end - self.output_start)]).astype(np.int64)

    @property
    def output_index(self) -> I64:
        """Index into `ids` of each output token."""
        lengths = self.output_end - self.output_start
        return np.arange(int(lengths.sum()), dtype=np.int64) + np.repeat(
            self.output_start - self.output_offsets[:-1], lengths
        )

    @property
    def left(self) -> I64:
        """Tokens from each output token to the end of its output, itself included."""
        return np.repeat(self.output_end, self.output_end - self.output_start) - self.output_index

    @property
    def text(self) -> I64:
        """Index of the text that owns each token of `ids`."""
        return np.repeat(np.arange(len(self.offsets) - 1, dtype=np.int64), np.diff(self.offsets))


def copied_from(tokens: RecordedTokens, source: I64, gamma: int) -> Potential:
    """Outcome of drafting, before each output token, the recorded text from *source* on up to that token.

    *source* indexes `ids`; -1 drafts nothing.
    """
    check_gamma(gamma)
    here = tokens.output_index
    drafted: I16 = np.where(source < 0, 0, np.minimum(here - source, gamma)).astype(np.int16)
    limit = np.minimum(drafted, tokens.left - 1)
    accepted = np.zeros(len(here), dtype=np.int16)
    alive = np.flatnonzero(limit > 0)
    for depth in range(gamma):
        alive = alive[limit[alive] > depth]
        wanted = tokens.ids[here[alive] + depth]
        alive = alive[(tokens.ids[source[alive] + depth] == wanted) & (wanted >= 0)]
        accepted[alive] += 1
    return Potential(accepted, drafted)


def end_to_end(parts: Sequence[Potential]) -> Potential:
    """The outcomes of several texts as those of one."""
    none = np.zeros(0, dtype=np.int16)
    accepted = np.concatenate([none, *(part.accepted for part in parts)])
    return Potential(accepted, np.concatenate([none, *(part.drafted for part in parts)]))


def grams(tokens: RecordedTokens, longest: int) -> Iterator[I64]:
    """For n = 1 .. *longest*: a number per token for the n tokens that end there, equal for equal ones of one text.

    -1 stands for tokens with fewer than n - 1 before them in their text, and for grams with a hidden token.
    """
    base = int(tokens.ids.max(initial=0)) + 1
    starts = tokens.offsets[:-1][np.diff(tokens.offsets) > 0]
    before = tokens.text
    shown = tokens.ids >= 0
    for _ in range(longest):
        gram = np.full(len(before), -1, dtype=np.int64)
        valid = (before >= 0) & shown
        _, gram[valid] = np.unique(before[valid] * base + tokens.ids[valid], return_inverse=True)
        yield gram
        before = np.roll(gram, 1)
        before[starts] = -1
