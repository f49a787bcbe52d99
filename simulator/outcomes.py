"""How the outputs of a workload unfold in rounds: drawn once per attempt, before and apart from all scheduling."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simulator.acceptance.base import AcceptanceModel, Outputs, Rounds
from simulator.acceptance.rounds import chain_rounds
from simulator.config import EngineConfig

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]
U16 = npt.NDArray[np.uint16]

DRAW_TOKENS = 1 << 20
"""Tokens whose rounds are drawn at once: bounds memory, changes nothing."""
CHUNK_ATTEMPTS = 128
"""Attempts whose lengths and blocks are computed at once, when the first of them starts to decode."""
CACHED_CHUNKS = 256


class RoundSlice(NamedTuple):
    """Rounds of one attempt from some position on; all arrays have one entry a round."""

    offset: int
    """Where they stand in the store of all rounds."""
    emitted: U16
    drafted: U16
    lengths: I32
    """Tokens of prompt and output before each round."""
    blocks: I32
    """KV blocks that the sequence needs during each round; never falling."""

    @property
    def end_length(self) -> int:
        """Tokens of prompt and output after the last round."""
        return int(self.lengths[-1]) + int(self.emitted[-1])


class _Chunk(NamedTuple):
    """Lengths and blocks of the rounds of neighbouring attempts."""

    first_round: int
    lengths: I32
    blocks: I32


class Outcomes:
    """The rounds of every attempt, in one store; rounds that scheduling changed are appended to it.

    *outputs* has prompt lengths as its context. *model* None, or no speculative tokens in *config*: each round emits
    one token. The first token is emitted by prefill and in no round.
    """

    def __init__(self, outputs: Outputs, model: AcceptanceModel | None, config: EngineConfig) -> None:
        if outputs.context_tokens is None:
            raise ValueError("outcomes need the prompt length of each attempt as context_tokens")
        self._outputs = outputs
        self._prompts = outputs.context_tokens
        self._model = model if config.num_speculative_tokens else None
        self._config = config
        self._extra: list[tuple[U16, U16]] = []
        self._chunks: dict[int, _Chunk] = {}
        parts = [self._drawn(first, last) for first, last in _draws(outputs.offsets)]
        counts, emitted, drafted = (np.concatenate(column) for column in zip(*parts, strict=True))
        self._bounds: I64 = np.concatenate([[0], np.cumsum(counts)])
        self._emitted: U16 = emitted
        self._drafted: U16 = drafted
        self._size = emitted.size

    def rounds(
        self, attempt: int, position: int, first_limit: int | None = None, limit: int | None = None
    ) -> RoundSlice:
        """Rounds of *attempt* from output token *position* on, cut to *limit* drafts, the first to *first_limit*."""
        if position == 1 and first_limit is None and limit is None:
            return self._planned(attempt)
        emitted, drafted = self._rounds(self._outputs_of(attempt, attempt + 1), position, first_limit, limit)[1:]
        offset = self._size
        self._extra.append((emitted, drafted))
        self._size += emitted.size
        prompt = int(self._prompts[attempt])
        lengths = prompt + position + np.cumsum(emitted, dtype=np.int32) - emitted
        return RoundSlice(offset, emitted, drafted, lengths, np.maximum.accumulate(self._blocks(lengths, drafted)))

    def store(self) -> tuple[U16, U16]:
        """Tokens emitted and drafts verified in all rounds."""
        emitted, drafted = zip((self._emitted, self._drafted), *self._extra, strict=True)
        return np.concatenate(emitted), np.concatenate(drafted)

    def _planned(self, attempt: int) -> RoundSlice:
        number = attempt // CHUNK_ATTEMPTS
        chunk = self._chunks.get(number)
        if chunk is None:
            chunk = self._chunks[number] = self._chunk(number)
            if len(self._chunks) > CACHED_CHUNKS:
                del self._chunks[next(iter(self._chunks))]
        low, high = int(self._bounds[attempt]), int(self._bounds[attempt + 1])
        within = slice(low - chunk.first_round, high - chunk.first_round)
        return RoundSlice(
            low, self._emitted[low:high], self._drafted[low:high], chunk.lengths[within], chunk.blocks[within]
        )

    def _chunk(self, number: int) -> _Chunk:
        first = number * CHUNK_ATTEMPTS
        bounds = self._bounds[first : first + CHUNK_ATTEMPTS + 1]
        low, high = int(bounds[0]), int(bounds[-1])
        counts = np.diff(bounds)
        emitted, drafted = self._emitted[low:high], self._drafted[low:high]
        before = np.cumsum(emitted, dtype=np.int32) - emitted
        starts = np.append(before, 0)[np.minimum(bounds[:-1] - low, before.size)]
        base = self._prompts[first : first + counts.size] + 1 - starts
        lengths = (before + np.repeat(base, counts)).astype(np.int32)
        blocks = self._blocks(lengths, drafted)
        if np.any(np.diff(blocks) < 0):  # also where one attempt ends and the next begins
            apart = np.repeat(np.arange(counts.size, dtype=np.int64) << 32, counts)
            blocks = (np.maximum.accumulate(blocks + apart) - apart).astype(np.int32)
        return _Chunk(low, lengths, blocks)

    def _blocks(self, lengths: I32, drafted: U16) -> I32:
        slots = lengths + drafted.astype(np.int32) + np.int32(self._config.num_lookahead_tokens)
        np.minimum(slots, self._config.max_model_len, out=slots)
        blocks: I32 = -(-slots // np.int32(self._config.block_size))
        return blocks

    def _outputs_of(self, first: int, last: int) -> Outputs:
        bounds = self._outputs.offsets[first : last + 1]
        labels = self._outputs.labels[bounds[0] : bounds[-1]]
        return Outputs(labels, bounds - bounds[0], self._outputs.keys[first:last], self._prompts[first:last])

    def _drawn(self, first: int, last: int) -> tuple[I64, U16, U16]:
        return self._rounds(self._outputs_of(first, last), 1)

    def _rounds(
        self, outputs: Outputs, position: int, first_limit: int | None = None, limit: int | None = None
    ) -> tuple[I64, U16, U16]:
        """Rounds per attempt, and tokens emitted and drafted in each."""
        if self._model is None:
            counts = np.maximum(np.diff(outputs.offsets) - position, 0)
            size = int(counts.sum())
            return counts, np.ones(size, dtype=np.uint16), np.zeros(size, dtype=np.uint16)
        gamma = self._config.num_speculative_tokens
        potential = self._model.potential(outputs, gamma)
        if limit is not None:
            potential = potential.cut(limit)
        if first_limit is not None:
            limits = np.full(potential.accepted.size, gamma, dtype=np.int16)
            limits[outputs.offsets[:-1] + position] = first_limit
            potential = potential.cut(limits)
        rounds = chain_rounds(potential, outputs.offsets, first=position)
        counts = np.diff(rounds.offsets)
        return counts, rounds.emitted.astype(np.uint16), self._within_model_len(outputs, rounds, counts)

    def _within_model_len(self, outputs: Outputs, rounds: Rounds, counts: I64) -> U16:
        """Drafts of each round: no more than leave room for the target's own token below max_model_len."""
        assert outputs.context_tokens is not None
        lengths = rounds.start + np.repeat(outputs.context_tokens - outputs.offsets[:-1], counts)
        room = np.maximum(self._config.max_model_len - 1 - lengths, 0)
        return np.minimum(rounds.drafted, room).astype(np.uint16)


def _draws(offsets: I64) -> list[tuple[int, int]]:
    """Ranges of attempts of about DRAW_TOKENS tokens, at least one attempt each."""
    count = offsets.size - 1
    bounds = [0]
    while bounds[-1] < count:
        wanted = int(np.searchsorted(offsets, offsets[bounds[-1]] + DRAW_TOKENS, side="right")) - 1
        bounds.append(min(count, max(wanted, bounds[-1] + 1)))
    return list(pairwise(bounds))
