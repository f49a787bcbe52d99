"""Counts of rounds that were run, by label and by draft position: the sampled twin of the exact expectation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulator.acceptance.base import F64, I64, U8, Outputs, Rounds
from simulator.exact import RoundsByLabel


@dataclass(frozen=True, slots=True)
class SpecDecodeCounts:
    """What vLLM's speculative-decoding counters would show after the rounds."""

    num_drafts: int
    """Rounds that drafted a token at least."""
    num_draft_tokens: int
    num_accepted_tokens: int
    num_accepted_tokens_per_pos: I64

    @property
    def mean_acceptance_length(self) -> float | None:
        """1 + accepted tokens / drafts, pooled over rounds that drafted; None if none did."""
        return 1 + self.num_accepted_tokens / self.num_drafts if self.num_drafts else None

    @property
    def draft_acceptance_rate(self) -> float | None:
        """Accepted tokens / draft tokens; None if none were drafted."""
        return self.num_accepted_tokens / self.num_draft_tokens if self.num_draft_tokens else None


def spec_decode_counts(rounds: Rounds, gamma: int) -> SpecDecodeCounts:
    """Counters over all *rounds*; drafts past an output's last token count as drafted and not as accepted."""
    histogram = np.bincount(rounds.accepted, minlength=gamma + 1)
    return SpecDecodeCounts(
        num_drafts=int(np.count_nonzero(rounds.drafted)),
        num_draft_tokens=int(rounds.drafted.sum()),
        num_accepted_tokens=int(rounds.accepted.sum()),
        num_accepted_tokens_per_pos=np.cumsum(histogram[::-1])[::-1][1:],
    )


def tally(rounds: Rounds, outputs: Outputs, n_labels: int) -> RoundsByLabel:
    """Rounds and drafts of *rounds* by the labels of *outputs*, values 0 .. *n_labels* - 1."""
    labels = outputs.labels
    useful = np.minimum(rounds.drafted, outputs.left[rounds.start] - 1)
    tested = _tokens_from(rounds.start, np.minimum(rounds.accepted + 1, useful))
    emitted = _tokens_from(rounds.start, rounds.emitted)
    share = np.repeat(1 / rounds.emitted, rounds.emitted)
    return RoundsByLabel(
        started=_count(labels[rounds.start], n_labels),
        share=_count(labels[emitted], n_labels, share),
        accepted_from=_count(labels[rounds.start], n_labels, rounds.accepted),
        tested=_count(labels[tested], n_labels),
        hit=_count(labels[_tokens_from(rounds.start, rounds.accepted)], n_labels),
    )


def _tokens_from(start: I64, counts: I64) -> I64:
    """Indices start, start + 1, ... of *counts* tokens for each start."""
    before = np.cumsum(counts) - counts
    return np.repeat(start - before, counts) + np.arange(int(counts.sum()), dtype=np.int64)


def _count(labels: U8, n_labels: int, weights: F64 | I64 | None = None) -> F64:
    return np.bincount(labels, weights=weights, minlength=n_labels).astype(np.float64)
