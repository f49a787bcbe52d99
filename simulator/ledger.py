"""What happened on one replica, step by step: end times, and who pays for each step."""

from __future__ import annotations

from array import array

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]


class _Column:
    """An array that grows by doubling."""

    __slots__ = ("_data", "size")

    def __init__(self) -> None:
        self._data = np.empty(1024, dtype=np.float64)
        self.size = 0

    def extend(self, values: F64) -> None:
        end = self.size + values.size
        if end > self._data.size:
            grown = np.empty(max(end, 2 * self._data.size), dtype=np.float64)
            grown[: self.size] = self._data[: self.size]
            self._data = grown
        self._data[self.size : end] = values
        self.size = end

    def append(self, value: float) -> None:
        if self.size == self._data.size:
            self.extend(np.array([value]))
            return
        self._data[self.size] = value
        self.size += 1

    @property
    def values(self) -> F64:
        return self._data[: self.size]


class StepLedger:
    """Steps of one replica by index. Step i ends at `end_s[i]`; a decoding sequence pays `share_s[i]` for it."""

    def __init__(self) -> None:
        self._end = _Column()
        self._share = _Column()
        self.busy_s = 0.0
        """Sum of the durations of all steps."""

    def __len__(self) -> int:
        return self._end.size

    @property
    def end_s(self) -> F64:
        """End time of each step."""
        return self._end.values

    @property
    def share_s(self) -> F64:
        """Decode seconds that each decoding sequence pays for each step."""
        return self._share.values

    def add_step(self, end_s: float, duration_s: float, share_s: float) -> None:
        """Append one step."""
        self._end.append(end_s)
        self._share.append(share_s)
        self.busy_s += duration_s

    def add_steps(self, end_s: F64, durations_s: F64, n_seqs: int) -> None:
        """Append a run of steps without prefill, shared by *n_seqs* sequences."""
        self._end.extend(end_s)
        self._share.extend(durations_s / n_seqs)
        self.busy_s += float(durations_s.sum())


class _RowLog:
    """Rows of numbers with named columns."""

    _NAMES: tuple[str, ...] = ()

    def __init__(self) -> None:
        self._values = array("d")

    def table(self) -> dict[str, F64]:
        """Columns by name, in the order in which `add` takes them."""
        rows = np.array(self._values).reshape(-1, len(self._NAMES))
        return {name: rows[:, index].copy() for index, name in enumerate(self._NAMES)}


class WorkLog(_RowLog):
    """What one replica ran: a row for each prefill step and each run of decoding steps."""

    _NAMES = ("start_s", "end_s", "n_steps", "decoding_seqs", "prefill_tokens", "load_s")

    def add(
        self, start_s: float, end_s: float, n_steps: int, decoding_seqs: int, prefill_tokens: int, load_s: float
    ) -> None:
        """Append a row; *load_s* of it went into loading blocks from the host."""
        self._values.extend((start_s, end_s, n_steps, decoding_seqs, prefill_tokens, load_s))


class LoadLog(_RowLog):
    """Load of one replica over time: a row whenever the batch may have changed."""

    _NAMES = ("time_s", "num_requests_running", "num_requests_waiting", "used_blocks")

    def add(self, time_s: float, running: int, waiting: int, used_blocks: int) -> None:
        """Append a row."""
        self._values.extend((time_s, running, waiting, used_blocks))
