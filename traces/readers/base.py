"""What most readers of JSON recordings share: sniffing by structure, and one file after another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import PurePath

from traces.conversation import Conversation
from traces.model import HiddenHead, Session, SpawnLink, ToolSpec
from traces.readlog import ReadLog
from traces.records import Json, head_objects, head_values
from traces.source import SourceFile


class JsonReader(ABC):
    """A reader of JSON or JSON lines whose files are recordings of their own."""

    name: str
    title: str

    def sniff(self, file: SourceFile, head: bytes) -> float:  # noqa: ARG002
        """Confidence from the objects that *head* shows; never from the name alone."""
        objects = head_objects(head)
        return self.score(objects) if objects else 0.0

    @abstractmethod
    def score(self, rows: list[Json]) -> float:
        """Confidence in [0, 1] from the first objects of a file."""

    def read(self, files: Sequence[SourceFile], log: ReadLog) -> Iterator[Session]:
        """Yield the sessions of each file in turn."""
        for file in files:
            yield from self.read_file(file, log)

    def read_file(self, file: SourceFile, log: ReadLog) -> Iterator[Session]:
        """Yield the sessions of one file."""
        raise NotImplementedError


def first_value(head: bytes) -> object:
    """The first JSON value that a file's *head* shows, an array included; None without one."""
    values = head_values(head)
    return values[0] if values else None


def stem(file: SourceFile) -> str:
    """Name of *file* without folder and suffix: the id of a session that has none recorded."""
    name = PurePath(file.name).name.removesuffix(".gz").removesuffix(".zst")
    return PurePath(name).stem or "session"


def finished(
    conversation: Conversation,
    log: ReadLog,
    *,
    tools: Sequence[ToolSpec] = (),
    head: HiddenHead | None = None,
    parent: SpawnLink | None = None,
    agent: str | None = None,
) -> Iterator[Session]:
    """Yield the session of *conversation*, or count it as omitted when no reply of a model is in it."""
    session = conversation.session(tools=tools, head=head, parent=parent, agent=agent)
    if session is None:
        log.omit("session without a model reply")
    else:
        yield session
