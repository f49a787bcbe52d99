"""Anthropic Messages API: request and response rows, bare responses, and event streams."""

from __future__ import annotations

from collections.abc import Iterable

from traces.model import Message
from traces.readers.anthropic_messages import anthropic_usage, output_blocks, prompt_messages, system_messages
from traces.readers.anthropic_stream import is_stream_event, merged_events
from traces.readers.api_reader import ApiReader, Said
from traces.readers.exchange import exchange_of
from traces.readers.openai_messages import Reply
from traces.readlog import ReadLog
from traces.records import Json, dicts, first_text

_BARE = 0.8
"""Confidence in replies without requests."""


class AnthropicReader(ApiReader):
    """Reads calls that carry their whole prompt."""

    name = "anthropic-messages"
    title = "Anthropic Messages JSON or JSONL: request and response rows, responses, event streams"

    def score(self, rows: list[Json]) -> float:
        """Events of its streams, or a message with a stop reason."""
        if is_stream_event(rows[0]) and any(row.get("type") == "message_start" for row in rows):
            return _BARE
        exchange = exchange_of(rows[0])
        if any(event.get("type") == "message_start" for event in exchange.events):
            return 0.88
        response = exchange.response
        made = response.get("type") == "message" or "stop_reason" in response
        if not made or not isinstance(response.get("content"), list) or "uuid" in rows[0]:
            return 0.0
        return 0.88 if exchange.request else _BARE

    def is_event(self, row: Json) -> bool:
        """An event of a message's stream."""
        return is_stream_event(row)

    def starts_call(self, event: Json, before: Json) -> bool:  # noqa: ARG002
        """A stream begins with the message's start."""
        return event.get("type") == "message_start"

    def merged(self, events: Iterable[Json]) -> Json:
        """The message that the events stream."""
        return merged_events(events)

    def prompt(self, request: Json, said: Said, log: ReadLog) -> list[Message]:  # noqa: ARG002
        """The system prompt and the messages, tool results apart."""
        messages = dicts(request.get("messages"))
        spoken = [found for message in messages for found in prompt_messages(message, log)]
        return [*system_messages(request.get("system"), log), *spoken]

    def reply(self, response: Json, log: ReadLog) -> Reply | None:
        """The content of a message."""
        if not isinstance(response.get("content"), (list, str)):
            return None
        return Reply(
            output=output_blocks(response["content"], log),
            usage=anthropic_usage(response.get("usage")),
            finish_reason=first_text(response.get("stop_reason")),
            model=first_text(response.get("model")),
            id=first_text(response.get("id")),
        )


READER = AnthropicReader()
