"""The attempts of a run as columns, with the sessions of two runs numbered alike."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]

_KEY = ("session_id", "turn_id", "attempt")


@dataclass(frozen=True, kw_only=True, eq=False)
class Rows:
    """A table of attempts (see runtable.run_table). Session numbers stand for the same session in both runs."""

    table: pa.Table
    session: I64
    n_sessions: int
    """Sessions that are numbered, those without attempts here included."""

    def column(self, name: str) -> F64:
        """A column as floats; NaN where a figure is undefined."""
        values: F64 = self.table.column(name).to_numpy().astype(np.float64)
        return values

    def flags(self, name: str) -> Bool:
        """A column of yes and no."""
        values: Bool = self.table.column(name).to_numpy().astype(np.bool_)
        return values

    def by_session(self, values: npt.NDArray[Any] | None = None, of: Bool | None = None) -> F64:
        """Sum of *values* (None: the number) of the attempts *of* (None: all) in each session."""
        kept = slice(None) if of is None else of
        weights = None if values is None else values[kept].astype(np.float64)
        return np.bincount(self.session[kept], weights, self.n_sessions).astype(np.float64)

    @cached_property
    def done(self) -> Bool:
        """Attempts that ran to their end."""
        ran: Bool = ~np.isnan(self.column("finish_s")) & ~self.flags("refused")
        return ran

    @cached_property
    def accepted(self) -> Bool:
        """Attempts that were not rejected."""
        return self.flags("accepted")

    @cached_property
    def measured(self) -> Bool:
        """Attempts within the measured part of the run."""
        return self.flags("measured")

    @cached_property
    def measured_done(self) -> Bool:
        """Both."""
        return self.measured & self.done

    @cached_property
    def measured_sessions(self) -> Bool:
        """Sessions that have attempts, all of them measured."""
        present = self.by_session() > 0
        whole: Bool = present & (self.by_session(None, ~self.measured) == 0)
        return whole

    @cached_property
    def session_s(self) -> F64:
        """Seconds from the first arrival to the last finish of each session; NaN where it is not measured."""
        return np.where(self.measured_sessions, self.spans_s(np.ones_like(self.measured)), np.nan)

    def spans_s(self, of: Bool) -> F64:
        """Seconds from the first arrival to the last finish of each session's attempts *of*; 0 without any."""
        first = np.full(self.n_sessions, np.inf)
        last = np.full(self.n_sessions, -np.inf)
        np.minimum.at(first, self.session[of], self.column("arrival_s")[of])
        np.maximum.at(last, self.session[of], self.column("finish_s")[of])
        return np.where(np.isfinite(first), last - first, 0.0)

    @cached_property
    def duration_s(self) -> float:
        """From the first arrival to the last finish of what is measured."""
        if not self.measured.any():
            return 0.0
        return float(self.column("finish_s")[self.measured].max() - self.column("arrival_s")[self.measured].min())


def paired_rows(a: pa.Table, b: pa.Table) -> tuple[Rows, Rows]:
    """Both tables with sessions numbered by their ids, those of *a* first."""
    numbers: dict[str, int] = {}
    columns = [_numbered(table, numbers) for table in (a, b)]
    rows = [
        Rows(table=table, session=column, n_sessions=len(numbers))
        for table, column in zip((a, b), columns, strict=True)
    ]
    return rows[0], rows[1]


def own_rows(table: pa.Table) -> Rows:
    """A table with its sessions numbered by themselves."""
    numbers: dict[str, int] = {}
    column = _numbered(table, numbers)
    return Rows(table=table, session=column, n_sessions=len(numbers))


def _numbered(table: pa.Table, numbers: dict[str, int]) -> I64:
    encoded = table.column("session_id").combine_chunks().dictionary_encode()
    known = [numbers.setdefault(name, len(numbers)) for name in encoded.dictionary.to_pylist()]
    numbered: I64 = np.array(known, dtype=np.int64)[encoded.indices.to_numpy()]
    return numbered


def common_attempts(a: pa.Table, b: pa.Table) -> tuple[I64, I64]:
    """Row numbers, in both tables, of attempts with the same session, turn and number; the n-th of equals pairs."""
    if all(a.column(name).equals(b.column(name)) for name in _KEY):
        rows = np.arange(a.num_rows)
        return rows, rows
    where = {key: row for row, key in enumerate(_keys(a))}
    pairs = [(where[key], row) for row, key in enumerate(_keys(b)) if key in where]
    found = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1]


def _keys(table: pa.Table) -> list[tuple[str, str, int, int]]:
    seen: dict[tuple[str, str, int], int] = {}
    keys = []
    for key in zip(*(table.column(name).to_pylist() for name in _KEY), strict=True):
        count = seen.get(key, 0)
        seen[key] = count + 1
        keys.append((*key, count))
    return keys
