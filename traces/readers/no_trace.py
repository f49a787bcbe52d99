"""Files that stand beside traces and hold nothing that a model generated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from traces.model import Session
from traces.readers.base import first_value
from traces.readlog import ReadLog
from traces.records import Json, dicts
from traces.source import SourceFile

_KINDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("SWE-bench predictions (patches only)", ("instance_id", "model_patch", "model_name_or_path")),
    ("Grok session summary (its messages are in other files)", ("session_summary", "num_chat_messages")),
    ("Kimi session state (its messages are in wire.jsonl)", ("agents", "workDir", "lastPrompt")),
    ("Claude Code sub-agent description", ("agentType",)),
    ("Claude Code index of sessions (their rows are in other files)", ("version", "entries", "originalPath")),
    ("Claude Code result total (use --output-format stream-json for the calls)", ("subtype", "num_turns", "result")),
    ("Codex exec events (they do not tell calls apart: use the rollout file)", ("thread_id", "type=thread.started")),
    ("code review verdict", ("findings", "overall_correctness")),
)
"""What a file is, and the keys, or keys with their values, that tell it."""


class NoTraceReader:
    """Recognises companions of traces, so that they are named as such instead of failing as unknown."""

    name = "no-trace"
    title = "Companion files without model output (recognised, nothing read)"

    def sniff(self, file: SourceFile, head: bytes) -> float:  # noqa: ARG002
        """The keys of a known companion."""
        return 0.7 if _kind(head) is not None else 0.0

    def read(self, files: Sequence[SourceFile], log: ReadLog) -> Iterator[Session]:
        """Yield nothing; count each file by what it is."""
        for file in files:
            log.omit(_kind(file.head()) or "file without model output")
        yield from ()


READER = NoTraceReader()


def _kind(head: bytes) -> str | None:
    value = first_value(head)
    rows: list[Json] = dicts(value if isinstance(value, list) else [value])
    if not rows:
        return None
    marks = {*rows[0], *(f"{key}={value}" for key, value in rows[0].items() if isinstance(value, str))}
    return next((kind for kind, keys in _KINDS if set(keys) <= marks), None)
