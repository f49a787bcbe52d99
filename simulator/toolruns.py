"""Tools that run after turns: how long each takes, and how long the next turn waits for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simulator import rng
from simulator.longcolumns import ScalarColumn

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class ToolRuns:
    """All tool runs of a workload, flat: turn t owns runs ``offsets[t]:offsets[t + 1]``, which run side by side."""

    names: tuple[str, ...]
    tool: I32
    """Index in *names* of each run's tool."""
    duration_s: F64
    """NaN: not recorded."""
    offsets: I64

    @property
    def turn(self) -> I64:
        """The turn of each run."""
        return np.repeat(np.arange(self.offsets.size - 1), np.diff(self.offsets))

    def drawn(self, names: Sequence[tuple[str, str]], seed: int) -> F64:
        """Durations drawn anew, each from those recorded of its own tool; NaN for a tool that has none.

        *names* has session and turn id of each turn, which the draws are keyed by.
        """
        turn = self.turn
        within = np.arange(self.tool.size) - self.offsets[turn]
        keys = np.array([rng.key(seed, *names[t], "tool wait") for t in turn.tolist()], np.uint64)
        unit = rng.uniform(keys, within.astype(np.uint64)) if keys.size else np.empty(0)
        result = np.full(self.tool.size, np.nan)
        for number in np.unique(self.tool):
            runs = self.tool == number
            known = np.sort(self.duration_s[runs & ~np.isnan(self.duration_s)])
            if known.size:
                result[runs] = known[(unit[runs] * known.size).astype(np.int64)]
        return result

    def slowest(self, duration_s: F64, replaced: I64) -> F64:
        """Longest of *duration_s* after each turn without its ``replaced[turn]`` longest ones, 0 where none is left.

        Unknown durations must have been filled.
        """
        turns = self.offsets.size - 1
        turn = self.turn
        order = np.lexsort((-duration_s, turn))
        rank = np.arange(order.size) - self.offsets[turn]
        left = rank >= replaced[turn]
        result = np.zeros(turns)
        np.maximum.at(result, turn[left], duration_s[order][left])
        return result


class ToolRunsBuilder:
    """Collects tool runs turn by turn."""

    def __init__(self) -> None:
        self._index: dict[str, int] = {}
        self._tool = ScalarColumn("i")
        self._duration = ScalarColumn("d")
        self._offsets = ScalarColumn("q", [0])

    def add_turn(self, runs: Sequence[tuple[str, float | None]]) -> None:
        """Add the runs after the next turn, as (tool, seconds)."""
        for name, duration_s in runs:
            self._tool.append(self._index.setdefault(name, len(self._index)))
            self._duration.append(float("nan") if duration_s is None else duration_s)
        self._offsets.append(len(self._tool))

    def add_turns_without(self, count: int) -> None:
        """Add *count* turns after which no tool runs."""
        self._offsets.extend(np.full(count, len(self._tool)))

    def build(self) -> ToolRuns:
        """All runs added."""
        return ToolRuns(tuple(self._index), self._tool.array(), self._duration.array(), self._offsets.array())

    def settle(self) -> None:
        """Let columns go to files if they are large."""
        for column in (self._tool, self._duration, self._offsets):
            column.settle()
