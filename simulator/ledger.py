"""What happened on one replica, step by step: end times, and who pays for each step."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Table = dict[str, npt.NDArray[Any]]
"""Columns by name."""
Kinds = dict[str, type[np.float64 | np.int32]]


class StepLedger:
    """Steps of one replica by index. Step i ends at `end_s[i]`; a decoding sequence pays `share_s[i]` for it."""

    def __init__(self) -> None:
        self._rows = np.empty((2, 1024))
        self._size = 0
        self.busy_s = 0.0
        """Sum of the durations of all steps."""

    def __len__(self) -> int:
        return self._size

    @property
    def end_s(self) -> F64:
        """End time of each step."""
        return self._rows[0, : self._size]

    @property
    def share_s(self) -> F64:
        """Decode seconds that each decoding sequence pays for each step."""
        return self._rows[1, : self._size]

    def add_step(self, end_s: float, duration_s: float, share_s: float) -> None:
        """Append one step."""
        place = self._room_for(1)
        self._rows[0, place] = end_s
        self._rows[1, place] = share_s
        self.busy_s += duration_s

    def add_steps(self, end_s: F64, durations_s: F64, n_seqs: int) -> None:
        """Append a run of steps without prefill, shared by *n_seqs* sequences."""
        place = self._room_for(end_s.size)
        rows = self._rows[:, place : self._size]
        rows[0] = end_s
        np.divide(durations_s, n_seqs, out=rows[1])
        self.busy_s += float(np.add.reduce(durations_s))

    def _room_for(self, count: int) -> int:
        """Make room for *count* further steps; return where they begin."""
        place = self._size
        self._size += count
        if self._size > self._rows.shape[1]:
            grown = np.empty((2, max(self._size, 2 * self._rows.shape[1])))
            grown[:, :place] = self._rows[:, :place]
            self._rows = grown
        return place


class SegmentLog:
    """Rounds of an attempt that ran in successive steps, a row for each such run of rounds."""

    def __init__(self) -> None:
        values = array("q")
        self._values = values
        self.add: Callable[[tuple[int, int, int, int, int]], None] = values.extend
        """Append (attempt, first step, offset, number of rounds, position): round ``offset + i`` of the store ran in
        step ``first step + i``; the first of them began with output token *position*."""

    def take_rows(self) -> I64:
        """Empty the log; return a row a segment, columns as `add` takes them, sorted by attempt and step."""
        rows = np.frombuffer(self._values or b"", dtype=np.int64).reshape(-1, 5)
        ordered = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
        del rows
        del self._values[:]
        return ordered


class _RowLog:
    """Rows of numbers with named columns."""

    _COLUMNS: ClassVar[Kinds] = {}

    def __init__(self) -> None:
        values = array("d")
        self._values = values
        self.add: Callable[[tuple[float, ...]], None] = values.extend
        """Append a row, given in the order of the columns."""

    def take_table(self) -> Table:
        """Empty the log; return its columns by name."""
        rows = np.frombuffer(self._values or b"").reshape(-1, len(self._COLUMNS))
        table = {name: rows[:, at].astype(kind) for at, (name, kind) in enumerate(self._COLUMNS.items())}
        del rows
        del self._values[:]
        return table


class WorkLog(_RowLog):
    """What one replica ran: a row for each prefill step and each run of decoding steps.

    *load_s* of it went into loading blocks from the host.
    """

    _COLUMNS: ClassVar[Kinds] = {
        "start_s": np.float64,
        "end_s": np.float64,
        "n_steps": np.int32,
        "decoding_seqs": np.int32,
        "prefill_tokens": np.int32,
        "load_s": np.float64,
    }


class LoadLog(_RowLog):
    """Load of one replica over time: a row whenever the batch may have changed."""

    _COLUMNS: ClassVar[Kinds] = {
        "time_s": np.float64,
        "num_requests_running": np.int32,
        "num_requests_waiting": np.int32,
        "used_blocks": np.int32,
    }
