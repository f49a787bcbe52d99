"""Claude Code sessions: rows of replies and results in files that copy, fork and nest each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from traces.lengths import unique
from traces.model import Session
from traces.readers.claude_rows import agent_of, claude_rows, confidence, first_session, session_of
from traces.readers.claude_sessions import tree_sessions
from traces.readers.claude_tree import MAIN, Tree
from traces.readlog import ReadLog
from traces.records import Json, as_dict, first_text
from traces.source import SourceFile

_SYNTHETIC = "<synthetic>"
_SAID = ("user", "assistant")


class ClaudeCodeReader:
    """Reads a session a thread: the main thread, and each sub-agent's with the session that started it.

    Files of one session are held together in memory; replies that a fork or a resumed session copies from
    another file are part of its prompts but no calls of its own.
    """

    name = "claude-code"
    title = "Claude Code session JSONL, web export, stream-json output; sub-agents, forks"

    def sniff(self, file: SourceFile, head: bytes) -> float:  # noqa: ARG002
        """Rows of users and assistants with messages and the marks of Claude Code."""
        return confidence(head)

    def read(self, files: Sequence[SourceFile], log: ReadLog) -> Iterator[Session]:
        """Yield the sessions of each group of files, main threads before their sub-agents."""
        groups: dict[str, list[SourceFile]] = {}
        for file in files:
            groups.setdefault(first_session(file), []).append(file)
        seen: set[str] = set()
        taken: set[str] = set()
        for name, members in groups.items():
            tree = Tree(seen, log)
            for file in members:
                _read_file(tree, file, name, log)
            yield from tree_sessions(tree, lambda wanted: unique(wanted, taken), log)


READER = ClaudeCodeReader()


def _read_file(tree: Tree, file: SourceFile, name: str, log: ReadLog) -> None:
    for number, (line, row) in enumerate(claude_rows(file, log), start=1):
        if tree.repeated(row):
            log.duplicate("Claude Code row that another file or line holds already")
            continue
        session, agent = session_of(row, name), agent_of(row, file)
        if agent is None and row.get("isSidechain") is True:
            thread = tree.sidechain(session, row)
        else:
            thread = tree.thread(session, agent or MAIN)
        kind = row.get("type")
        if kind == "stream_event":
            log.duplicate("Claude Code stream event of a reply that is recorded whole")
            tree.streamed(thread, as_dict(row.get("event")))
            continue
        if kind not in _SAID:
            log.omit(f"Claude Code row of type {kind}" if isinstance(kind, str) else "Claude Code row without a type")
            tree.pass_over(thread, row)
            continue
        message, reason = _message(row)
        if reason is not None:
            log.invalid(file.name, line, reason, kind=reason)
            tree.pass_over(thread, row)
        elif kind == "assistant" and (message.get("model") == _SYNTHETIC or row.get("isApiErrorMessage") is True):
            log.omit("reply that the client made up (errors, interruptions)")
            tree.pass_over(thread, row)
        elif kind == "assistant":
            tree.reply(thread, row, message, f"{name}:{number}")
        else:
            tree.heard(thread, row, message)


def _message(row: Json) -> tuple[Json, str | None]:
    """The message of *row*, and what is wrong with it."""
    message = as_dict(row.get("message"))
    if not message:
        return message, f"{first_text(row.get('type'))} row without a message"
    if not isinstance(message.get("content"), (str, list)):
        return message, f"{first_text(row.get('type'))} row whose message has no content"
    return message, None
