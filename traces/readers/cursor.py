"""Cursor agent transcripts: rows of {role, message} without times, ids or tool results of their own."""

from __future__ import annotations

from collections.abc import Iterator

from traces.conversation import Conversation
from traces.model import HiddenHead, Session
from traces.readers.base import JsonReader, finished, stem
from traces.readers.spoken import add_blocks_message
from traces.readlog import ReadLog
from traces.records import Json, as_dict, objects
from traces.source import SourceFile


class CursorReader(JsonReader):
    """Reads Cursor transcripts; each assistant row is a reply."""

    name = "cursor"
    title = "Cursor agent transcripts (JSONL)"

    def score(self, rows: list[Json]) -> float:
        """Rows that hold a role and a message of parts, and no envelope around them."""
        said = [row for row in rows if "role" in row]
        bare = all(isinstance(as_dict(row.get("message")).get("content"), list) and "type" not in row for row in said)
        return 0.9 if said and bare else 0.0

    def read_file(self, file: SourceFile, log: ReadLog) -> Iterator[Session]:
        """Yield the one session of a transcript."""
        conversation = Conversation(stem(file), log)
        for number, row in objects(file, log):
            message = row.get("message")
            if isinstance(message, dict) and "role" in row:
                add_blocks_message(conversation, {**message, "role": row["role"]}, log)
            elif "type" in row:
                log.omit("Cursor event that is no message")
            else:
                log.invalid(file.name, number, "the row is no message and no event", kind="row of no known type")
        yield from finished(conversation, log, head=HiddenHead(key="cursor"))


READER = CursorReader()
