"""What happened on one replica, step by step: end times, and who pays for each step."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from simulator.longcolumns import LongColumn, let_go

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Table = dict[str, npt.NDArray[Any]]
"""Columns by name."""
Kinds = dict[str, type[np.float64 | np.int32]]

_HELD_ROWS = 1 << 14
"""Rows that are gathered before they go to their columns."""
_HELD_FIGURES = 1 << 14
"""The same in figures of a table, held as objects: a list takes them sooner than an array does."""


class StepLedger:
    """Steps of one replica by index. Step i ends at `end_s[i]`; a decoding sequence pays `share_s[i]` for it."""

    def __init__(self) -> None:
        self._ends_s = np.empty(_HELD_ROWS)
        self._shares_s = np.empty(_HELD_ROWS)
        self._held = 0
        self._columns = LongColumn(np.float64), LongColumn(np.float64)
        self.busy_s = 0.0
        """Sum of the durations of all steps."""

    def __len__(self) -> int:
        return len(self._columns[0]) + self._held

    def take(self) -> tuple[F64, F64]:
        """End time of each step, and the decode seconds that each decoding sequence pays for it."""
        self._settle()
        end_s, share_s = (column.array() for column in self._columns)
        return end_s, share_s

    def add_step(self, end_s: float, duration_s: float, share_s: float) -> None:
        """Append one step."""
        at = self._room_for(1)
        self._ends_s[at] = end_s
        self._shares_s[at] = share_s
        self.busy_s += duration_s

    def add_steps(self, end_s: F64, durations_s: F64, n_seqs: int) -> None:
        """Append a run of steps without prefill, shared by *n_seqs* sequences."""
        count = end_s.size
        at = self._room_for(count)
        self._ends_s[at : at + count] = end_s
        np.divide(durations_s, float(n_seqs), out=self._shares_s[at : at + count])
        self.busy_s += float(np.add.reduce(durations_s))

    def _room_for(self, count: int) -> int:
        """Where *count* further steps go."""
        at = self._held
        if at + count > self._ends_s.size:
            self._settle()
            at = 0
            if count > self._ends_s.size:
                self._ends_s, self._shares_s = np.empty(count), np.empty(count)
        self._held = at + count
        return at

    def _settle(self) -> None:
        for column, values in zip(self._columns, (self._ends_s, self._shares_s), strict=True):
            column.append(values[: self._held])
        self._held = 0


class SegmentLog:
    """Rounds of an attempt that ran in successive steps, a row for each such run of rounds."""

    def __init__(self) -> None:
        self._held: list[int] = []
        self._rows = LongColumn(np.int64)

    def add(self, row: tuple[int, int, int, int, int]) -> None:
        """Append (attempt, first step, offset, number of rounds, position).

        Round ``offset + i`` of the store ran in step ``first step + i``; the first of them began with output token
        *position*.
        """
        self._held.extend(row)
        if len(self._held) >= _HELD_FIGURES:
            self._settle()

    def take_rows(self) -> I64:
        """Empty the log; return a row a segment, columns as `add` takes them, sorted by attempt and step."""
        self._settle()
        rows = self._rows.array().reshape(-1, 5)
        order = np.lexsort((rows[:, 1], rows[:, 0]))
        let_go(rows)
        ordered = LongColumn(np.int64)
        for first in range(0, order.size, _HELD_ROWS):
            ordered.append(rows[order[first : first + _HELD_ROWS]])
            let_go(rows)
        self._rows = LongColumn(np.int64)
        return ordered.array().reshape(-1, 5)

    def _settle(self) -> None:
        self._rows.append(np.array(self._held, dtype=np.int64))
        self._held.clear()


class _RowLog:
    """Rows of numbers with named columns."""

    _COLUMNS: ClassVar[Kinds] = {}

    def __init__(self) -> None:
        self._values: list[float] = []
        self._columns = {name: LongColumn(kind) for name, kind in self._COLUMNS.items()}

    def add(self, row: tuple[float, ...]) -> None:
        """Append *row*, given in the order of the columns."""
        self._values.extend(row)
        if len(self._values) > _HELD_FIGURES:
            self._settle()

    def take_table(self) -> Table:
        """Empty the log; return its columns by name."""
        self._settle()
        return {name: column.array() for name, column in self._columns.items()}

    def _settle(self) -> None:
        rows = np.array(self._values, np.float64).reshape(-1, len(self._columns))
        for column, values in zip(self._columns.values(), rows.T, strict=True):
            column.append(values)
        self._values.clear()


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
