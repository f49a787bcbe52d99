"""Hermes agent sessions: one JSON document with chat messages, system prompt and tools."""

from __future__ import annotations

from collections.abc import Iterator

from traces.clock import unix_seconds
from traces.conversation import Conversation, text_blocks
from traces.model import HiddenHead, Session
from traces.readers.base import JsonReader, finished, stem
from traces.readers.spoken import ReplyFacts, add_chat_message
from traces.readers.tools import tool_specs
from traces.readlog import ReadLog
from traces.records import Json, as_dict, dicts, documents, first_text
from traces.source import SourceFile


class HermesAgentReader(JsonReader):
    """Reads Hermes agent sessions."""

    name = "hermes-agent"
    title = "Hermes agent sessions (JSON)"

    def score(self, rows: list[Json]) -> float:
        """A session header whose messages stand in the same document."""
        first = rows[0]
        header = "session_id" in first and ("session_start" in first or "platform" in first)
        return 0.9 if header and isinstance(first.get("messages"), list) else 0.0

    def read_file(self, file: SourceFile, log: ReadLog) -> Iterator[Session]:
        """Yield the one session of each document."""
        for number, value in documents(file, log):
            session = as_dict(value)
            if not isinstance(session.get("messages"), list):
                log.invalid(file.name, number, "the document holds no messages", kind="document without messages")
                continue
            conversation = Conversation(first_text(session.get("session_id")) or stem(file), log)
            conversation.seen_at(unix_seconds(session.get("session_start")))
            system = first_text(session.get("system_prompt"))
            conversation.say("system", text_blocks(system))
            for message in dicts(session["messages"]):
                if message.get("role") == "session_meta":
                    log.omit("Hermes row that is no message")
                    continue
                reason = first_text(message.get("finish_reason"))
                facts = ReplyFacts(model=first_text(session.get("model")), finish_reason=reason)
                at_s = unix_seconds(message.get("timestamp"))
                add_chat_message(conversation, _named(message), log, at_s, facts)
            head = None if system else HiddenHead(key="hermes-agent")
            yield from finished(conversation, log, tools=tool_specs(session.get("tools")), head=head)


READER = HermesAgentReader()


def _named(message: Json) -> Json:
    name = first_text(message.get("tool_name"))
    return {**message, "name": name} if name else message
