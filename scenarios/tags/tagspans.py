"""The labels of every output as a Parquet table: one row a run of one sub-class."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from scenarios.recordings.spantable import TABLE_KEY
from scenarios.tags.tagsession import OutputLabels, SessionTally
from tokenclass.classes import CLASS_OF_SUBCLASS, SubClass
from traces.atomic import whole_file

TABLE_VERSION = "1"
_GROUP_ROWS = 65_536
_CLASS_NAMES = np.array([label.name for label in CLASS_OF_SUBCLASS], object)
_SUBCLASS_NAMES = np.array([sub.name for sub in SubClass], object)

SCHEMA = pa.schema(
    [
        ("session_id", pa.string()),
        ("turn_id", pa.string()),
        ("attempt", pa.int32()),
        ("start_token", pa.int64()),
        ("tokens", pa.int32()),
        ("class", pa.string()),
        ("subclass", pa.string()),
    ],
    metadata={TABLE_KEY: TABLE_VERSION},
)
"""Attempts count from 0, and so do tokens within an output; R and F have no finer class than themselves."""


class SpanWriter:
    """Writes sessions in groups of rows, so that memory does not grow with the trace."""

    def __init__(self, writer: pq.ParquetWriter) -> None:
        self._writer = writer
        self._tables: list[pa.Table] = []
        self._rows = 0

    def add(self, tally: SessionTally) -> None:
        """Write the labels of *tally*."""
        for output in tally.labels:
            self._tables.append(_table(tally.id, output))
            self._rows += output.lengths.size
        if self._rows >= _GROUP_ROWS:
            self.flush()

    def flush(self) -> None:
        """Write what is held back."""
        if self._tables:
            self._writer.write_table(pa.concat_tables(self._tables).combine_chunks())
        self._tables, self._rows = [], 0


@contextmanager
def span_writer(target: Path) -> Iterator[SpanWriter]:
    """A writer of *target*, which appears whole when the block ends well; equal tallies give equal bytes."""
    with whole_file(target) as partial, pq.ParquetWriter(partial, SCHEMA, compression="zstd") as writer:
        spans = SpanWriter(writer)
        yield spans
        spans.flush()


def _table(session_id: str, output: OutputLabels) -> pa.Table:
    rows = output.lengths.size
    starts = np.cumsum(output.lengths, dtype=np.int64) - output.lengths
    columns = [
        pa.repeat(session_id, rows),
        pa.repeat(output.turn_id, rows),
        pa.repeat(pa.scalar(output.attempt, pa.int32()), rows),
        pa.array(starts, pa.int64()),
        pa.array(output.lengths, pa.int32()),
        pa.array(_CLASS_NAMES[output.values], pa.string()),
        pa.array(_SUBCLASS_NAMES[output.values], pa.string()),
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMA)
