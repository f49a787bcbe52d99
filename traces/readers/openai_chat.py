"""OpenAI chat completions: request and response rows, batch files, streamed chunks, and lists of messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from traces.conversation import Conversation
from traces.model import Message, Session
from traces.readers.anthropic_messages import prompt_messages
from traces.readers.api_reader import ApiReader, Said
from traces.readers.api_rows import ApiRow
from traces.readers.base import finished
from traces.readers.exchange import exchange_of
from traces.readers.message_list import add_messages, converter, is_messages
from traces.readers.openai_messages import Reply, assistant_blocks, chat_messages, chat_usage, completion
from traces.readers.openai_stream import is_chunk, merged_chunks
from traces.readers.tools import tool_specs
from traces.readlog import ReadLog
from traces.records import Json, as_dict, dicts, first_text

_LOGGED = ("response", "response_body", "output", "completion", "choices", "custom_id", "result", "chunks", "resp")

_BARE = 0.8
"""Confidence in replies without requests."""


class OpenAIChatReader(ApiReader):
    """Reads calls that carry their whole prompt; a row of messages alone has a call an assistant message."""

    name = "openai-chat"
    title = "OpenAI chat JSON or JSONL: request and response rows, batch files, chunks, message lists"

    def score(self, rows: list[Json]) -> float:
        """Chunks, choices, or messages with roles."""
        row = rows[0]
        if is_chunk(row):
            return _BARE
        exchange = exchange_of(row)
        if dicts(exchange.response.get("choices")) or any(is_chunk(event) for event in exchange.events):
            return 0.85 if exchange.request else _BARE
        if isinstance(row.get("input") or row.get("prompt"), str):
            return 0.3
        if not is_messages(exchange.request.get("messages")):
            return 0.3 if "role" in row and "content" in row and len(rows) > 1 else 0.0
        if exchange.request is row:
            return 0.6
        spoken = exchange.said is not None or exchange.response.get("role") == "assistant"
        return 0.8 if spoken or exchange.custom_id is not None else 0.3

    def is_event(self, row: Json) -> bool:
        """A chat completion chunk."""
        return is_chunk(row)

    def merged(self, events: Iterable[Json]) -> Json:
        """The completion that chunks stream."""
        listed = list(events)
        return merged_chunks(listed) if any(is_chunk(event) for event in listed) else _last_message(listed)

    def prompt(self, request: Json, said: Said, log: ReadLog) -> list[Message]:  # noqa: ARG002
        """The request's messages."""
        messages = dicts(request.get("messages"))
        if converter(messages) is prompt_messages:
            return [found for message in messages for found in prompt_messages(message, log)]
        return chat_messages(messages, log)

    def reply(self, response: Json, log: ReadLog) -> Reply | None:
        """The first choice of a completion, or a message by itself."""
        if response.get("choices") is not None:
            return completion(response, log)
        message = as_dict(response.get("message")) or response
        if not any(key in message for key in ("content", "tool_calls", "function_call")):
            return None
        model = first_text(response.get("model"))
        return Reply(output=assistant_blocks(message, log), usage=chat_usage(response.get("usage")), model=model)

    def other(self, row: ApiRow, log: ReadLog) -> Iterator[Session] | None:
        """The session of a list of messages, bare or as a row's ``messages``."""
        value = row.value
        if is_messages(value):
            return _listed(row.name, dicts(value), {}, log)
        fields = as_dict(value)
        if not is_messages(fields.get("messages")) or any(key in fields for key in _LOGGED):
            return None
        return _listed(row.name, dicts(fields["messages"]), fields, log)


READER = OpenAIChatReader()


def _listed(name: str, messages: list[Json], fields: Json, log: ReadLog) -> Iterator[Session]:
    conversation = Conversation(name, log)
    add_messages(conversation, messages, log, model=first_text(fields.get("model")))
    yield from finished(conversation, log, tools=tool_specs(fields.get("tools") or fields.get("functions")))


def _last_message(events: list[Json]) -> Json:
    """The last assistant message of a response that is an array of messages."""
    spoken = [event for event in events if event.get("role") == "assistant"]
    return spoken[-1] if spoken else {}
