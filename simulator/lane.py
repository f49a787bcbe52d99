"""The decoding sequences of one replica, as totals per future step.

A round's outcome does not depend on scheduling. So when a sequence starts to decode, what it will emit, draft and
allocate in each coming step is added to arrays indexed by step, and a run of steps costs the same whatever the batch.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from simulator.config import EngineConfig
from simulator.ledger import SegmentLog
from simulator.outcomes import RoundSlice
from simulator.scheduler import Sequence

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]


class OutcomeSource(Protocol):
    """Knows how outputs unfold: the engine's oracle, which the scheduler never sees."""

    def rounds(
        self, attempt: int, position: int, first_limit: int | None = None, limit: int | None = None
    ) -> RoundSlice:
        """Rounds of *attempt* from output token *position* on, cut to *limit* drafts, the first to *first_limit*."""
        ...


class _Decoder(NamedTuple):
    sequence: Sequence
    first_step: int
    last_step: int
    position: int
    rounds: RoundSlice


class DepthCounts:
    """How many sequences draft how deep in each future step."""

    def __init__(self, gamma: int) -> None:
        self._base = 0
        self._counts = np.zeros((gamma + 1, 1024), dtype=np.int32)

    def add(self, drafted: npt.NDArray[np.int32], step: int, sign: int) -> None:
        """Add (or take away) a sequence that drafts *drafted* tokens in the steps from *step* on."""
        if step - self._base + drafted.size > self._counts.shape[1]:
            kept = self._counts[:, step - self._base :]
            self._counts = np.zeros((len(kept), max(kept.shape[1], 2 * drafted.size)), dtype=np.int32)
            self._counts[:, : kept.shape[1]] = kept
            self._base = step
        self._counts[drafted, np.arange(drafted.size) + (step - self._base)] += sign

    def deepest(self, step: int, n_steps: int) -> I64:
        """The greatest depth in each of *n_steps* steps from *step* on."""
        window = self._counts[:, step - self._base : step - self._base + n_steps] > 0
        depth = np.arange(len(window), dtype=np.int64)
        deepest: I64 = np.max(window * depth[:, None], axis=0)
        return deepest


class DecodeLane:
    """All decoding sequences of a replica. `step` is the index of the coming step."""

    def __init__(self, config: EngineConfig, outcomes: OutcomeSource) -> None:
        self.step = 0
        self.context_tokens = 0
        """KV entries that the coming step reads: the tokens of all decoding sequences."""
        self.segments = SegmentLog()
        self._config = config
        self._outcomes = outcomes
        self._decoders: dict[int, _Decoder] = {}
        self._finishes: list[tuple[int, int]] = []
        self._base = 0
        self._totals = np.zeros((3, 4096), dtype=np.int32)
        self._granted = False
        self._stalled: dict[int, Sequence] = {}
        self._limit: int | None = None
        self._depths = DepthCounts(config.num_speculative_tokens) if config.has_draft_depths else None

    def __len__(self) -> int:
        return len(self._decoders)

    def join(self, sequence: Sequence, position: int, *, first_limit: int | None = None) -> bool:
        """Let *sequence* decode from output token *position* on, from the coming step; False if nothing is left."""
        rounds = self._outcomes.rounds(sequence.id, position, first_limit, self._limit)
        if not rounds.size:
            return False
        decoder = _Decoder(sequence, self.step, self.step + rounds.size - 1, position, rounds)
        self._decoders[sequence.id] = decoder
        self._add(decoder, 0, sequence.table.held, sign=1)
        heapq.heappush(self._finishes, (decoder.last_step, sequence.id))
        self.context_tokens += sequence.prompt_tokens + position
        return True

    def demand(self) -> tuple[int, int]:
        """Tokens to verify and new KV blocks wanted in the coming step."""
        if not self._decoders:
            return 0, 0
        index = self.step - self._base
        return len(self._decoders) + self._totals.item(1, index), self._totals.item(2, index)

    def grant(self) -> None:
        """The coming step's blocks are allocated; holds until `advance`."""
        self._granted = True

    def withdraw(self, sequence: Sequence) -> bool:
        """Take *sequence* out before it finishes; bring its generated tokens and held blocks up to date."""
        if self._stalled.pop(sequence.id, None) is not None:
            return True
        decoder = self._decoders.pop(sequence.id, None)
        if decoder is None:
            return False
        done = self.step - decoder.first_step
        last = done if self._granted else done - 1
        held = sequence.table.held
        if last >= 0:
            held = max(held, int(decoder.rounds.blocks[last]))
        self._add(decoder, done, held, sign=-1)
        length = int(decoder.rounds.lengths[done])
        self.context_tokens -= length
        self._record(decoder, done)
        sequence.table.held = held
        sequence.generated_tokens = length - sequence.prompt_tokens
        sequence.computed_tokens = sequence.prefill_tokens - 1
        return True

    def steps_to_next_finish(self) -> int:
        """Steps until some sequence has emitted its last token; the lane must not be empty."""
        while True:
            step, number = self._finishes[0]
            decoder = self._decoders.get(number)
            if decoder is not None and decoder.last_step == step:
                return step - self.step + 1
            heapq.heappop(self._finishes)

    def window(self, n_steps: int) -> I32:
        """Tokens emitted, drafts verified and blocks wanted in each of the next *n_steps* steps: a view, 3 rows."""
        start = self.step - self._base
        return self._totals[:, start : start + n_steps]

    def emitted(self) -> int:
        """Tokens emitted in the coming step."""
        return self._totals.item(0, self.step - self._base) if self._decoders else 0

    def draft_passes(self, n_steps: int) -> I64:
        """Sequential draft passes in each of the next *n_steps* steps: the depth of the deepest round."""
        if self._depths is not None:
            return self._depths.deepest(self.step, n_steps)
        passes: I64 = (self.window(n_steps)[1] > 0) * self._config.num_speculative_tokens
        return passes

    def passes(self) -> int:
        """Sequential draft passes in the coming step."""
        if not self._decoders or not self._totals.item(1, self.step - self._base):
            return 0
        if self._depths is not None:
            return self._depths.deepest(self.step, 1).item(0)
        return self._config.num_speculative_tokens

    def limit_drafts(self, gamma: int) -> None:
        """Cut all rounds from the coming step on to *gamma* drafts."""
        limit = gamma if gamma < self._config.num_speculative_tokens else None
        if limit == self._limit:
            return
        self._limit = limit
        for decoder in list(self._decoders.values()):
            self.withdraw(decoder.sequence)
            self.join(decoder.sequence, decoder.sequence.generated_tokens)

    def advance(self, n_steps: int, emitted: int) -> list[Sequence]:
        """Let *n_steps* steps pass, none of them beyond the next finish; return the sequences that finish.

        *emitted* tokens are emitted in these steps, as `window` has them.
        """
        self.context_tokens += emitted
        self.step += n_steps
        self._granted = False
        finished = []
        while self._finishes and self._finishes[0][0] < self.step:
            step, number = heapq.heappop(self._finishes)
            decoder = self._decoders.get(number)
            if decoder is None or decoder.last_step != step:
                continue
            finished.append(self._finish(decoder))
        if self._stalled:
            self.resume_stalled()
        return finished

    def fit(self, budget: int) -> None:
        """Cut the coming step to *budget* tokens.

        Sequences are served in order of admission; one that gets fewer tokens than it drafts verifies only those,
        one that gets nothing waits for the next step.
        """
        left = budget
        for decoder in sorted(self._decoders.values(), key=lambda one: one.sequence.order):
            wanted = 1 + int(decoder.rounds.verified[self.step - decoder.first_step])
            if wanted > left:
                sequence = decoder.sequence
                self.withdraw(sequence)
                if left:
                    self.join(sequence, sequence.generated_tokens, first_limit=left - 1)
                else:
                    self._stalled[sequence.id] = sequence
            left -= min(wanted, left)

    def sync_tables(self) -> None:
        """Bring the held blocks of all decoding sequences up to date."""
        for decoder in self._decoders.values():
            done = self.step - decoder.first_step - (not self._granted)
            if done >= 0:
                table = decoder.sequence.table
                table.held = max(table.held, int(decoder.rounds.blocks[done]))

    def resume_stalled(self) -> bool:
        """Let the sequences go on that `fit` left out; whether there were any."""
        stalled, self._stalled = self._stalled, {}
        for sequence in stalled.values():
            self.join(sequence, sequence.generated_tokens)
        return bool(stalled)

    def _finish(self, decoder: _Decoder) -> Sequence:
        sequence = decoder.sequence
        del self._decoders[sequence.id]
        self._record(decoder, decoder.rounds.size)
        length = decoder.rounds.end_length
        self.context_tokens -= length
        sequence.table.held = max(sequence.table.held, decoder.rounds.table.item(4, -1))
        sequence.generated_tokens = length - sequence.prompt_tokens
        sequence.computed_tokens = length - 1
        return sequence

    def _record(self, decoder: _Decoder, n_rounds: int) -> None:
        if n_rounds:
            rounds = decoder.rounds
            self.segments.add((decoder.sequence.id, decoder.first_step, rounds.offset, n_rounds, decoder.position))

    def _add(self, decoder: _Decoder, done: int, held: int, *, sign: int) -> None:
        """Add (or take away) what *decoder* does from its round *done* on to the totals.

        *held* blocks are allocated before that round; a sequence that was cut back may hold more than it needs.
        """
        rounds = decoder.rounds
        count = rounds.size - done
        start = self.step - self._base
        if start + count > self._totals.shape[1]:
            self._reserve(count)
            start = self.step - self._base
        if self._depths is not None:
            self._depths.add(rounds.drafted[done:], self.step, sign)
        steps = rounds.table[:3, done:] if done else rounds.table[:3]
        first = rounds.table.item(4, done) - held
        if first < 0:
            steps = steps.copy()
            steps[2, 1:] = np.diff(np.maximum(rounds.blocks[done:], held))
            first = 0
        first -= steps.item(2, 0)
        span = self._totals[:, start : start + count]
        if sign > 0:
            span += steps
            span[2, 0] += first
        else:
            span -= steps
            span[2, 0] -= first

    def _reserve(self, n_steps: int) -> None:
        """Make room for *n_steps* steps from the coming one on, dropping those that are past."""
        kept = self._totals[:, self.step - self._base :]
        self._totals = np.zeros((3, max(kept.shape[1], self._totals.shape[1], 2 * n_steps)), dtype=np.int32)
        self._totals[:, : kept.shape[1]] = kept
        self._base = self.step
