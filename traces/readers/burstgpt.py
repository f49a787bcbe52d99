"""BurstGPT: CSV of time in seconds, model, request and response tokens, with or without conversation ids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from traces.model import Session
from traces.readers.length_table import Columns, read_table, with_present
from traces.readlog import ReadLog
from traces.source import SourceFile
from traces.tables import header_of

_COLUMNS = Columns(
    arrival="timestamp",
    input="request_tokens",
    output="response_tokens",
    model="model",
    session="session_id",
    elapsed="elapsed_time",
)


class BurstGptReader:
    """Reads BurstGPT tables; rows with zero response tokens are failed requests and are omitted."""

    name = "burstgpt"
    title = "BurstGPT CSV"

    def sniff(self, file: SourceFile, head: bytes) -> float:  # noqa: ARG002
        """Confidence from the header row."""
        names = header_of(head)
        return 0.95 if {"timestamp", "request_tokens", "response_tokens"} <= set(names) else 0.0

    def read(self, files: Sequence[SourceFile], log: ReadLog) -> Iterator[Session]:
        """Yield a session of one turn a row, or one a conversation where the table has a session column."""
        for file in files:
            yield from read_table(file, with_present(_COLUMNS, header_of(file.head())), log)


READER = BurstGptReader()
