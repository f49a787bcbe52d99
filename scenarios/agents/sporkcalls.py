"""What each turn called, and what starting some of its calls early would overlap with the rest of its generation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from scenarios.ask import Asked
from simulator.sessions import run_durations
from simulator.workload import NO_PARENT

F64 = npt.NDArray[np.float64]
Bool = npt.NDArray[np.bool_]
Names = tuple[str, ...]


class TurnCalls:
    """The calls of each turn that was served, with their waits under the replay's load."""

    def __init__(self, asked: Asked) -> None:
        """Raises ValueError for a workload that does not name its tools."""
        work, replay = asked.workload, asked.replay
        runs = work.tool_runs
        if runs is None:
            raise ValueError("the workload does not name its tools")
        final = work.turn_attempts[1:] - 1
        self.workload = work
        self.served: Bool = replay.done[final]
        self.calls = np.where(self.served, np.diff(runs.offsets), 0)
        self.calling: Bool = self.calls > 0
        self.known: Bool = np.bincount(runs.turn[~np.isnan(runs.duration_s)], minlength=work.n_turns) > 0
        self.left_s = np.nan_to_num(np.where(self.served, replay.finish_s[final] - replay.first_token_s[final], 0.0))
        """Generation that is left when a guess is made."""
        self.spawning = np.zeros(work.n_turns, dtype=np.bool_)
        self.spawning[work.session_parent[work.session_parent != NO_PARENT]] = True
        self.session_s = np.nan_to_num(replay.session_end_s - replay.session_start_s)
        load = replay.config.load
        waits = run_durations(runs, work, load, replay.config.seed) / load.tool_speedup
        self.waiting: Bool = np.bincount(runs.turn, waits, work.n_turns) > 0
        """Turns after which a tool runs for any time, recorded or not."""
        bounds = list(pairwise(runs.offsets.tolist()))
        self.names: list[Names] = [tuple(runs.names[tool] for tool in runs.tool[low:high]) for low, high in bounds]
        """Tools of each turn in the order of its calls."""
        self._waits: list[list[float]] = [waits[low:high].tolist() for low, high in bounds]

    def saved_s(self, turn: int, early: Sequence[bool]) -> float:
        """How much earlier the tools of *turn* are over if the calls marked *early* start with its first token."""
        if self.spawning[turn] or not self.served[turn]:
            return 0.0
        waits, left_s = self._waits[turn], float(self.left_s[turn])
        slowest = max(waits, default=0.0)
        ends = [max(0.0, wait - left_s) if one else wait for wait, one in zip(waits, early, strict=True)]
        return slowest - min(slowest, max(ends, default=0.0))

    def expected_saved_s(self, turn: int, accuracy: float) -> float:
        """The mean of `saved_s` where each call is guessed with probability *accuracy*, independently.

        With F the distribution of the slowest tool's end, a product over calls, the mean is the sum over its steps.
        """
        if self.spawning[turn] or not self.served[turn]:
            return 0.0
        waits, left_s = self._waits[turn], float(self.left_s[turn])
        slowest = max(waits, default=0.0)
        ends = [(max(0.0, wait - left_s), wait) for wait in waits]
        total = below = 0.0
        for value in sorted({end for pair in ends for end in pair}):
            reached = 1.0
            for early, late in ends:
                reached *= accuracy * (early <= value) + (1 - accuracy) * (late <= value)
            total += (slowest - min(slowest, value)) * (reached - below)
            below = reached
        return total


def matched(called: Names, guessed: Names) -> list[bool]:
    """Which of the calls *called* are among those *guessed*; of equal calls the first ones count as guessed."""
    left = Counter(guessed)
    found = []
    for name in called:
        found.append(left[name] > 0)
        left[name] -= 1
    return found
