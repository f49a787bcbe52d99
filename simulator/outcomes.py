"""How the outputs of a workload unfold in rounds: drawn once per attempt, before and apart from all scheduling."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simulator.acceptance.base import AcceptanceModel, Outputs, Potential, Rounds
from simulator.acceptance.rounds import chain_rounds
from simulator.config import EngineConfig
from simulator.longcolumns import SparseColumn, apart, let_go
from simulator.potentials import PotentialStore

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]
U16 = npt.NDArray[np.uint16]

DRAW_TOKENS = 1 << 20
"""Tokens whose rounds are drawn at once: bounds memory, changes nothing."""
CHUNK_ROUNDS = 1 << 14
"""About how many rounds are laid out at once, when the first attempt among theirs starts to decode."""
CACHED_CHUNKS = 64


class RoundSlice(NamedTuple):
    """Rounds of one attempt from some position on."""

    offset: int
    """Where they stand in the store of all rounds."""
    size: int
    table: I32
    """A column a round. Rows: tokens emitted, tokens verified beside the target's own, blocks wanted beyond those of
    the round before (0 for the first), tokens of prompt and output before the round, KV blocks needed during it (never
    falling), tokens verified that are no drafts."""
    end_length: int
    """Tokens of prompt and output after the last round."""

    @property
    def drafted(self) -> I32:
        """Drafts verified in each round."""
        drafted: I32 = self.table[1] - self.table[5]
        return drafted

    @property
    def verified(self) -> I32:
        """Tokens verified beside the target's own in each round: drafts and others."""
        verified: I32 = self.table[1]
        return verified

    @property
    def lengths(self) -> I32:
        """Tokens of prompt and output before each round."""
        lengths: I32 = self.table[3]
        return lengths

    @property
    def blocks(self) -> I32:
        """KV blocks that the sequence needs during each round."""
        blocks: I32 = self.table[4]
        return blocks


NO_ROUNDS = RoundSlice(0, 0, np.empty((6, 0), dtype=np.int32), 0)


class _Chunk(NamedTuple):
    """The rounds of neighbouring attempts, laid out."""

    first_attempt: int
    first_round: int
    bounds: list[int]
    """Where the rounds of each attempt begin in the table, and where the last one's end."""
    table: I32
    end_lengths: list[int]


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
        self._columns = tuple(SparseColumn(np.uint16) for _ in range(3))
        self._potentials = PotentialStore(config.num_speculative_tokens)
        self._chunks: dict[int, _Chunk] = {}
        if self._model is None:
            counts = np.maximum(np.diff(outputs.offsets) - 1, 0)
            self._emitted, self._verified, self._undrafted = _one_each(int(counts.sum()))
        else:
            counts = self._draw()
            self._emitted, self._verified, self._undrafted = (column.array() for column in self._columns)
        self._bounds: I64 = apart(np.concatenate([[0], np.cumsum(counts)]))
        self._size = int(self._bounds[-1])
        self._chunk_attempts = max(1, CHUNK_ROUNDS * len(outputs) // max(1, self._size))

    def rounds(
        self, attempt: int, position: int, first_limit: int | None = None, limit: int | None = None
    ) -> RoundSlice:
        """Rounds of *attempt* from output token *position* on, cut to *limit* drafts, the first to *first_limit*."""
        if position == 1 and first_limit is None and limit is None:
            return self._planned(attempt)
        columns = self._changed(attempt, position, first_limit, limit)
        emitted = columns[0]
        offset = self._size
        self._size += emitted.size
        if self._model is not None:
            self._append(columns)
        if not emitted.size:
            return NO_ROUNDS
        table = self._table(columns, self._prompts[attempt] + position)
        np.maximum.accumulate(table[4], out=table[4])
        np.subtract(table[4, 1:], table[4, :-1], out=table[2, 1:])
        return RoundSlice(offset, emitted.size, table, int(table[3, -1]) + int(table[0, -1]))

    def store(self) -> tuple[U16, U16, U16]:
        """Tokens emitted, tokens verified and those of them that are no drafts in all rounds (read-only)."""
        if self._model is None:
            return _one_each(self._size)
        emitted, verified, undrafted = (column.array() for column in self._columns)
        return emitted, verified, undrafted

    def _append(self, parts: Sequence[U16]) -> None:
        for column, part in zip(self._columns, parts, strict=True):
            column.append(part)

    def _planned(self, attempt: int) -> RoundSlice:
        number = attempt // self._chunk_attempts
        chunk = self._chunks.get(number)
        if chunk is None:
            chunk = self._chunks[number] = self._chunk(number)
            if len(self._chunks) > CACHED_CHUNKS:
                del self._chunks[next(iter(self._chunks))]
        within = attempt - chunk.first_attempt
        low, high = chunk.bounds[within], chunk.bounds[within + 1]
        return RoundSlice(chunk.first_round + low, high - low, chunk.table[:, low:high], chunk.end_lengths[within])

    def _chunk(self, number: int) -> _Chunk:
        first = number * self._chunk_attempts
        bounds = self._bounds[first : first + self._chunk_attempts + 1]
        low, high = int(bounds[0]), int(bounds[-1])
        counts = np.diff(bounds)
        bounds = bounds - low
        emitted = self._emitted[low:high]
        before = np.concatenate([[0], np.cumsum(emitted, dtype=np.int64)])[bounds]
        base = self._prompts[first : first + counts.size] + 1
        columns = emitted, self._verified[low:high], self._undrafted[low:high]
        table = self._table(columns, np.repeat(base - before[:-1], counts))
        let_go(self._emitted, self._verified, self._undrafted)
        blocks, further, starts = table[4], table[2], bounds[:-1][counts > 0]
        np.subtract(blocks[1:], blocks[:-1], out=further[1:])
        further[starts] = 0
        if further.min(initial=0) < 0:
            apart = np.repeat(np.arange(counts.size, dtype=np.int64) << 32, counts)
            blocks[:] = np.maximum.accumulate(blocks + apart) - apart
            np.subtract(blocks[1:], blocks[:-1], out=further[1:])
            further[starts] = 0
        return _Chunk(first, low, bounds.tolist(), table, (base + np.diff(before)).tolist())

    def _table(self, columns: tuple[U16, U16, U16], base: I64) -> I32:
        """RoundSlice.table without its row of further blocks; *base* is added to the tokens emitted before."""
        table = np.zeros((6, columns[0].size), dtype=np.int32)
        table[[0, 1, 5]] = columns
        lengths, blocks = table[3], table[4]
        np.cumsum(table[0], out=lengths)
        lengths += (base - columns[0]).astype(np.int32)
        np.add(lengths, table[1] + np.int32(self._config.num_lookahead_tokens), out=blocks)
        np.minimum(blocks, self._config.max_model_len, out=blocks)
        blocks += np.int32(self._config.block_size - 1)
        blocks //= np.int32(self._config.block_size)
        return table

    def _outputs_of(self, first: int, last: int) -> Outputs:
        bounds = self._outputs.offsets[first : last + 1]
        labels = self._outputs.labels[bounds[0] : bounds[-1]]
        return Outputs(labels, bounds - bounds[0], self._outputs.keys[first:last], self._prompts[first:last])

    def _draw(self) -> I64:
        """Draw the rounds of all attempts into the columns; return how many each has."""
        assert self._model is not None
        counts = [np.empty(0, dtype=np.int64)]
        for first, last in _draws(self._outputs.offsets):
            outputs = self._outputs_of(first, last)
            potential = self._model.potential(outputs, self._config.num_speculative_tokens)
            self._potentials.append(potential)
            count, *parts = self._rounds(outputs, potential, 1)
            counts.append(count)
            self._append(parts)
            let_go(self._outputs.labels)
        return np.concatenate(counts)

    def _changed(self, attempt: int, position: int, first_limit: int | None, limit: int | None) -> tuple[U16, U16, U16]:
        """Tokens emitted, verified and verified without being drafts in each round of *attempt* from *position* on."""
        low, high = self._outputs.offsets[attempt : attempt + 2].tolist()
        if self._model is None:
            return _one_each(max(0, high - low - position))
        outputs, gamma = self._outputs_of(attempt, attempt + 1), self._config.num_speculative_tokens
        potential = self._potentials.of(low, high)
        if potential is None:
            potential = self._model.potential(outputs, gamma)
        if limit is not None:
            potential = potential.cut(limit)
        if first_limit is not None:
            limits = np.full(potential.accepted.size, gamma, dtype=np.int16)
            limits[position] = first_limit
            potential = potential.cut(limits)
        return self._rounds(outputs, potential, position)[1:]

    def _rounds(self, outputs: Outputs, potential: Potential, position: int) -> tuple[I64, U16, U16, U16]:
        """Rounds per attempt, and tokens emitted, verified and verified without being drafts in each."""
        rounds = chain_rounds(potential, outputs.offsets, first=position)
        counts = np.diff(rounds.offsets)
        return counts, rounds.emitted.astype(np.uint16), *self._within_model_len(outputs, rounds, counts)

    def _within_model_len(self, outputs: Outputs, rounds: Rounds, counts: I64) -> tuple[U16, U16]:
        """Tokens that each round verifies, and those of them that are no drafts.

        No more than leave room for the target's own token below max_model_len.
        """
        assert outputs.context_tokens is not None
        lengths = rounds.start + np.repeat(outputs.context_tokens - outputs.offsets[:-1], counts)
        room = np.maximum(self._config.max_model_len - 1 - lengths, 0)
        drafted = np.minimum(rounds.drafted, room)
        if rounds.undrafted is None:
            return drafted.astype(np.uint16), np.broadcast_to(np.uint16(0), drafted.size)
        undrafted = np.minimum(rounds.undrafted, room - drafted)
        return (drafted + undrafted).astype(np.uint16), undrafted.astype(np.uint16)


def _one_each(count: int) -> tuple[U16, U16, U16]:
    """The columns of *count* rounds without speculation; takes no memory."""
    none = np.broadcast_to(np.uint16(0), count)
    return np.broadcast_to(np.uint16(1), count), none, none


def _draws(offsets: I64) -> list[tuple[int, int]]:
    """Ranges of attempts of about DRAW_TOKENS tokens, at least one attempt each."""
    count = offsets.size - 1
    bounds = [0]
    while bounds[-1] < count:
        wanted = int(np.searchsorted(offsets, offsets[bounds[-1]] + DRAW_TOKENS, side="right")) - 1
        bounds.append(min(count, max(wanted, bounds[-1] + 1)))
    return list(pairwise(bounds))
