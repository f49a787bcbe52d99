"""Acceptance by sub-class, and its autocorrelation, from recordings whose attempts carry the rounds an engine ran."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from simulator.acceptance.base import F64, I64
from tokenclass.classes import N_SUBCLASSES
from tokenclass.tagged import TaggedAttempt, TaggedSession


@dataclass(slots=True, eq=False)
class RoundCounts:
    """Drafts checked and accepted by sub-class and depth, shape (N_SUBCLASSES, gamma), over recorded rounds.

    A round of k accepted drafts checked k + 1, or k if it accepted its whole depth or reached the end of the output.
    """

    gamma: int
    tested: F64 = field(init=False)
    hit: F64 = field(init=False)
    after: F64 = field(init=False)
    """Drafts checked right after another of the same sub-class: by sub-class, whether that one was accepted, and
    whether this one was; shape (N_SUBCLASSES, 2, 2)."""
    rounds: int = 0
    attempts: int = 0
    unusable: int = 0
    """Attempts whose rounds do not add up to their output: counted in other tokens than the target's."""

    def __post_init__(self) -> None:
        self.tested, self.hit = np.zeros((2, N_SUBCLASSES, max(self.gamma, 1)))
        self.after = np.zeros((N_SUBCLASSES, 2, 2))

    def add(self, session: TaggedSession) -> None:
        """Count the rounds of all attempts of *session* that carry any."""
        for turn in session.turns:
            for attempt in turn.attempts:
                if attempt.accepted_per_round:
                    self._add(attempt, np.array(attempt.accepted_per_round, dtype=np.int64))

    def _add(self, attempt: TaggedAttempt, accepted: I64) -> None:
        labels = attempt.labels.expand()
        covered = int(accepted.sum()) + len(accepted)
        wanted = len(labels) - 1
        if accepted.max() > self.gamma or not wanted <= covered <= wanted + accepted[-1]:
            self.unusable += 1
            return
        self.attempts += 1
        self.rounds += len(accepted)
        start = 1 + np.cumsum(accepted + 1) - (accepted + 1)
        right = np.minimum(accepted, len(labels) - start)
        checked = np.maximum(right, np.minimum(np.minimum(accepted + 1, self.gamma), len(labels) - 1 - start))
        ends = np.cumsum(checked)
        depth = np.arange(ends[-1]) - np.repeat(ends - checked, checked)
        token = np.repeat(start, checked) + depth
        hit = depth < np.repeat(right, checked)
        np.add.at(self.tested, (labels[token], depth), 1)
        np.add.at(self.hit, (labels[token[hit]], depth[hit]), 1)
        next_to = (np.diff(token) == 1) & (labels[token[1:]] == labels[token[:-1]])
        before, now = hit[:-1][next_to].astype(np.int64), hit[1:][next_to].astype(np.int64)
        np.add.at(self.after, (labels[token[1:][next_to]], before, now), 1)


def deepest_round(session: TaggedSession) -> int:
    """Most drafts that a recorded round of *session* accepted."""
    return max(
        (max(attempt.accepted_per_round or (0,)) for turn in session.turns for attempt in turn.attempts), default=0
    )
