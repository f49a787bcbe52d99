"""Small recordings for the tests of agent readers, and how to read them."""

from __future__ import annotations

import json
from collections.abc import Iterable

from traces.model import Block, Session, TextBlock, ToolCallBlock, Turn, prompt_messages
from traces.readlog import ReadLog
from traces.registry import Reader
from traces.source import SourceFile


def lines(*rows: object) -> bytes:
    """*rows* as JSON lines."""
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def read(
    reader: Reader, *data: bytes | object, names: Iterable[str] = (), skip: bool = False
) -> tuple[list[Session], ReadLog]:
    """Sessions and log of files with the given bytes, or documents, which *reader* must recognise."""
    named = [*names, *(f"run{number}.json" for number in range(len(data)))]
    contents = (item if isinstance(item, bytes) else json.dumps(item).encode() for item in data)
    files = [SourceFile(None, name, content) for name, content in zip(named, contents, strict=False)]
    assert all(reader.sniff(file, file.head()) > 0.5 for file in files)
    log = ReadLog(skip_invalid=skip)
    return list(reader.read(files, log)), log


def one(reader: Reader, *data: bytes | object) -> tuple[Session, ReadLog]:
    """The only session of the given files."""
    sessions, log = read(reader, *data)
    assert len(sessions) == 1
    return sessions[0], log


def outputs(turn: Turn) -> tuple[Block, ...]:
    """Output of a turn's attempt that counts."""
    return turn.final.output


def call_names(session: Session) -> list[str]:
    """Names of the tools that a session's turns call, in order."""
    return [b.name for turn in session.turns for b in outputs(turn) if isinstance(b, ToolCallBlock)]


def prompt_texts(session: Session, turn: Turn) -> list[tuple[str, str]]:
    """(role, text of the first block) of a turn's prompt; calls show their name."""
    found = []
    for message in prompt_messages(session, turn):
        block = message.blocks[0]
        text = block.name if isinstance(block, ToolCallBlock) else getattr(block, "text", None) or ""
        found.append((message.role, text))
    return found


def texts(blocks: Iterable[Block]) -> list[str]:
    """Texts of the text blocks."""
    return [block.text for block in blocks if isinstance(block, TextBlock)]
