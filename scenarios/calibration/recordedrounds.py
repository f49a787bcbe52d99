"""Acceptance by class from recordings whose attempts carry the rounds that an engine ran."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from simulator.acceptance.base import F64
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
    rounds: int = 0
    attempts: int = 0
    unusable: int = 0
    """Attempts whose rounds do not add up to their output: counted in other tokens than the target's."""

    def __post_init__(self) -> None:
        self.tested, self.hit = np.zeros((2, N_SUBCLASSES, max(self.gamma, 1)))

    def add(self, session: TaggedSession) -> None:
        """Count the rounds of all attempts of *session* that carry any."""
        for turn in session.turns:
            for attempt in turn.attempts:
                if attempt.accepted_per_round:
                    self._add(attempt, attempt.accepted_per_round)

    def _add(self, attempt: TaggedAttempt, accepted: tuple[int, ...]) -> None:
        labels = attempt.labels.expand()
        covered = sum(accepted) + len(accepted)
        wanted = len(labels) - 1
        if max(accepted) > self.gamma or not wanted <= covered <= wanted + accepted[-1]:
            self.unusable += 1
            return
        self.attempts += 1
        self.rounds += len(accepted)
        start = 1
        for count in accepted:
            right = labels[start : start + count]
            np.add.at(self.hit, (right, np.arange(right.size)), 1)
            checked = labels[start : start + max(right.size, min(count + 1, self.gamma, len(labels) - 1 - start))]
            np.add.at(self.tested, (checked, np.arange(checked.size)), 1)
            start += count + 1


def deepest_round(session: TaggedSession) -> int:
    """Most drafts that a recorded round of *session* accepted."""
    return max(
        (max(attempt.accepted_per_round or (0,)) for turn in session.turns for attempt in turn.attempts), default=0
    )
