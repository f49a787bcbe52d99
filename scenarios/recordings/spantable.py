"""Reads the table of labels that tagging writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tokenclass.classes import SubClass
from tokenclass.tagged import LabelRuns
from traces.errors import TraceError

TABLE_KEY = b"simtool_tag_spans"
"""Names the version in a table's metadata."""
_PARQUET_MAGIC = b"PAR1"


def is_table(path: str) -> bool:
    """Whether *path* is a table of labels."""
    try:
        with Path(path).open("rb") as stream:
            if stream.read(len(_PARQUET_MAGIC)) != _PARQUET_MAGIC:
                return False
        return TABLE_KEY in (pq.read_schema(path).metadata or {})
    except (OSError, pa.ArrowException):
        return False


def table_labels(path: str) -> Iterator[LabelRuns]:
    """Yield the labels of the last attempt of each turn. Raises TraceError for a table of another form."""
    output: tuple[object, ...] = ()
    values: list[int] = []
    lengths: list[int] = []
    for row in _rows(path):
        session_id, turn_id, attempt, tokens, name = row
        if (session_id, turn_id, attempt) != output:
            if values and (session_id, turn_id) != output[:2]:
                yield _runs(values, lengths)
            output, values, lengths = (session_id, turn_id, attempt), [], []
        if name not in SubClass.__members__ or not isinstance(tokens, int) or tokens < 1:
            raise TraceError(path, None, f"{name!r} of {tokens!r} tokens is no span", "write it with `simtool tag`")
        values.append(SubClass[str(name)])
        lengths.append(tokens)
    if values:
        yield _runs(values, lengths)


def _rows(path: str) -> Iterator[tuple[object, ...]]:
    columns = ["session_id", "turn_id", "attempt", "tokens", "subclass"]
    try:
        with pq.ParquetFile(path) as table:
            for batch in table.iter_batches(columns=columns):
                yield from zip(*(batch.column(name).to_pylist() for name in columns), strict=True)
    except (OSError, KeyError, pa.ArrowException) as error:
        raise TraceError(
            path, None, f"not a readable table of labels: {error}", "write it with `simtool tag`"
        ) from error


def _runs(values: list[int], lengths: list[int]) -> LabelRuns:
    return LabelRuns.merged(np.array(values, np.uint8), np.array(lengths, np.int32))
