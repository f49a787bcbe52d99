"""Processed traces of Vidur and of SplitwiseSim: CSV of arrival, prefill tokens and decode tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from traces.model import Session
from traces.readers.length_table import Columns, read_table, with_present
from traces.readlog import ReadLog
from traces.source import SourceFile
from traces.tables import header_of

_VIDUR = Columns(arrival="arrived_at", input="num_prefill_tokens", output="num_decode_tokens")
_SPLITWISE = Columns(arrival="arrival_timestamp", input="prompt_size", output="token_size")


class VidurReader:
    """Reads both column sets; times are seconds since the trace's start, absent in Vidur's length-only tables."""

    name = "vidur"
    title = "Vidur and SplitwiseSim request CSV"

    def sniff(self, file: SourceFile, head: bytes) -> float:  # noqa: ARG002
        """Confidence from the header row."""
        return 0.95 if _columns(header_of(head)) is not None else 0.0

    def read(self, files: Sequence[SourceFile], log: ReadLog) -> Iterator[Session]:
        """Yield a session of one turn a row. Raises TraceError for a table of other columns."""
        for file in files:
            yield from read_table(file, _columns(header_of(file.head())) or _VIDUR, log)


READER = VidurReader()


def _columns(names: tuple[str, ...]) -> Columns | None:
    for columns in (_VIDUR, _SPLITWISE):
        if columns.input in names and columns.output in names:
            return with_present(columns, names)
    return None
