"""What a round from each token of a workload would come to, kept: scheduling may move the rounds, never their draws."""

from __future__ import annotations

import numpy as np

from simulator.acceptance.base import Potential
from simulator.longcolumns import LongColumn, SparseColumn, let_go


class PotentialStore:
    """The potential of rounds of *gamma* drafts, token by token.

    Rounds that verify tokens beside drafts are not kept: few models have them, and they take more room.
    """

    def __init__(self, gamma: int) -> None:
        self._gamma = gamma
        kind = np.uint8 if gamma <= np.iinfo(np.uint8).max else np.int16
        self._columns = LongColumn(kind), SparseColumn(kind)
        """Accepted drafts, and how many fewer than *gamma* are drafted."""
        self._arrays: tuple[np.ndarray[tuple[int], np.dtype[np.int16]], ...] | None = None
        self._whole = True

    def append(self, potential: Potential) -> None:
        """Keep the rounds from the tokens that follow."""
        beside = potential.beside
        self._whole = self._whole and beside.idle is None and beside.jump is None
        if self._whole:
            accepted, missing = self._columns
            accepted.append(potential.accepted)
            missing.append(self._gamma - potential.drafted)

    def of(self, first: int, end: int) -> Potential | None:
        """The rounds from the tokens *first* to *end*, which are all kept or none; None: they must be drawn again."""
        if not self._whole:
            return None
        if self._arrays is None:
            accepted, missing = (column.array() for column in self._columns)
            self._arrays = accepted, missing
        accepted, missing = self._arrays
        found = Potential(accepted[first:end].astype(np.int16), self._gamma - missing[first:end].astype(np.int16))
        let_go(accepted, missing)
        return found
