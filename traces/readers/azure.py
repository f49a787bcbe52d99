"""Azure LLM inference traces: CSV of time, context tokens and generated tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from traces.model import Session
from traces.readers.length_table import Columns, read_table
from traces.readlog import ReadLog
from traces.source import SourceFile
from traces.tables import header_of

_COLUMNS = Columns(arrival="timestamp", input="context_tokens", output="generated_tokens")


class AzureReader:
    """Reads the public Azure traces; times are wall-clock times without a zone, taken as UTC."""

    name = "azure"
    title = "Azure LLM inference trace CSV"

    def sniff(self, file: SourceFile, head: bytes) -> float:  # noqa: ARG002
        """Confidence from the header row."""
        names = header_of(head)
        return 0.95 if {"timestamp", "context_tokens", "generated_tokens"} <= set(names) else 0.0

    def read(self, files: Sequence[SourceFile], log: ReadLog) -> Iterator[Session]:
        """Yield a session of one turn a row."""
        for file in files:
            yield from read_table(file, _COLUMNS, log)


READER = AzureReader()
