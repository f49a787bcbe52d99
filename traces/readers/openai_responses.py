"""OpenAI Responses API: request and response rows, bare responses, and event streams."""

from __future__ import annotations

from collections.abc import Iterable

from traces.conversation import Conversation
from traces.model import Block, Message, TextBlock
from traces.readers.api_reader import ApiReader, Said
from traces.readers.exchange import exchange_of
from traces.readers.openai_messages import Reply, chat_usage
from traces.readers.response_items import add_input, is_output, output_blocks
from traces.readers.response_stream import is_response_event, merged_response
from traces.readlog import ReadLog
from traces.records import Json, as_dict, dicts, first_text

_BARE = 0.8
"""Confidence in replies without requests."""


class OpenAIResponsesReader(ApiReader):
    """Reads calls by their items; a request that names the response before it goes on from that one's prompt."""

    name = "openai-responses"
    title = "OpenAI Responses JSON or JSONL: request and response rows, responses, event streams"

    goes_on_by_id = True

    def score(self, rows: list[Json]) -> float:
        """Events of its streams, or a response with output items."""
        if is_response_event(rows[0]):
            return _BARE
        exchange = exchange_of(rows[0])
        if any(is_response_event(event) for event in exchange.events):
            return 0.87
        items = dicts(exchange.response.get("output"))
        typed = any(isinstance(item.get("type"), str) for item in items)
        if exchange.response.get("object") == "response" and items:
            return 0.87 if exchange.request else _BARE
        return 0.85 if typed and "input" in exchange.request else 0.0

    def is_event(self, row: Json) -> bool:
        """An event of a response's stream."""
        return is_response_event(row)

    def starts_call(self, event: Json, before: Json) -> bool:  # noqa: ARG002
        """A stream begins with the response's creation."""
        return event.get("type") == "response.created"

    def merged(self, events: Iterable[Json]) -> Json:
        """The response that the events stream, or whose output items they are."""
        listed = list(events)
        if any(is_response_event(event) for event in listed):
            return merged_response(listed)
        return {"output": [item for item in listed if is_output(item)]}

    def prompt(self, request: Json, said: Said, log: ReadLog) -> list[Message]:
        """Instructions and input items; the items of one reply are one assistant message."""
        scratch = Conversation("", log)
        given = request.get("input") if request.get("input") is not None else request.get("messages")
        scratch.history += said.get(first_text(request.get("previous_response_id")) or "", ())
        instructions = first_text(request.get("instructions"))
        if instructions is not None:
            before = [message for message in scratch.history if message.role != "system"]
            scratch.history = [Message(role="system", blocks=(TextBlock(text=instructions),)), *before]
        if isinstance(given, str):
            scratch.say("user", (TextBlock(text=given),) if given else ())
        made: list[Block] = []
        for item in dicts(given):
            if is_output(item):
                made += output_blocks(item, log)
                continue
            scratch.say("assistant", made)
            made = []
            if not add_input(scratch, item, log):
                log.omit("input item that is no message, call or result")
        scratch.say("assistant", made)
        return scratch.history

    def reply(self, response: Json, log: ReadLog) -> Reply | None:
        """The output items of a response."""
        if not isinstance(response.get("output"), list):
            return None
        blocks = [block for item in dicts(response["output"]) if is_output(item) for block in output_blocks(item, log)]
        reason = first_text(as_dict(response.get("incomplete_details")).get("reason"), response.get("status"))
        return Reply(
            output=tuple(blocks),
            usage=chat_usage(response.get("usage")),
            finish_reason=reason,
            model=first_text(response.get("model")),
            id=first_text(response.get("id")),
        )


READER = OpenAIResponsesReader()
