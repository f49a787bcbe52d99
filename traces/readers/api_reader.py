"""Reads logs of API calls: rows of request and response, batch files, bare responses and bare stream events."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from traces.clock import unix_seconds
from traces.model import LengthPrompt, Message, MessagePrompt, Session, TextBlock, Times, ToolSpec
from traces.readers.api_rows import ApiRow, api_rows
from traces.readers.base import JsonReader
from traces.readers.exchange import Exchange, exchange_of
from traces.readers.openai_messages import Reply, chat_usage
from traces.readers.threads import Call, Threads
from traces.readers.tools import tool_specs
from traces.readlog import ReadLog
from traces.records import Json, as_count, dicts, first_text, head_values
from traces.source import SourceFile

_CREATED_KEYS = ("created", "created_at")
_NO_CALL = "no request with messages and no response"
_MAX_TOKENS_KEYS = ("max_completion_tokens", "max_output_tokens", "max_tokens")

Said = Mapping[str, tuple[Message, ...]]
"""What was said up to and with a response, by its id."""


@dataclass(slots=True)
class _Reading:
    """What one read holds across its files: halves of batch calls that still lack the other one, what was said."""

    log: ReadLog
    requests: dict[str, Json] = field(default_factory=dict)
    answers: dict[str, tuple[ApiRow, Exchange]] = field(default_factory=dict)
    threads: Threads = field(init=False)
    said: dict[str, tuple[Message, ...]] = field(default_factory=dict)


class ApiReader(JsonReader):
    """What the readers of the provider APIs share; each says how its requests, replies and events look."""

    goes_on_by_id = False
    """Whether a request may name the response that it goes on from."""

    @abstractmethod
    def is_event(self, row: Json) -> bool:
        """Whether *row* is an event of this API's streams."""

    @abstractmethod
    def merged(self, events: Iterable[Json]) -> Json:
        """The response that *events* stream."""

    @abstractmethod
    def prompt(self, request: Json, said: Said, log: ReadLog) -> list[Message]:
        """The prompt messages of *request*; *said* is filled for an API whose requests go on from a response."""

    @abstractmethod
    def reply(self, response: Json, log: ReadLog) -> Reply | None:
        """What *response* holds; None if it is no response of this API."""

    def starts_call(self, event: Json, before: Json) -> bool:
        """Whether *event* begins a new stream after *before*."""
        return first_text(event.get("id")) != first_text(before.get("id"))

    def other(self, row: ApiRow, log: ReadLog) -> Iterator[Session] | None:  # noqa: ARG002
        """The sessions of a row that logs no call; None if it does log one."""
        return None

    def sniff(self, file: SourceFile, head: bytes) -> float:  # noqa: ARG002
        """Rows may be lines, members of one array, or the whole document."""
        values = head_values(head)
        rows = dicts(values[0]) if values and isinstance(values[0], list) else dicts(list(values))
        return self.score(rows) if rows else 0.0

    def read(self, files: Sequence[SourceFile], log: ReadLog) -> Iterator[Session]:
        """Yield the sessions of each file; a batch request finds its response in whichever file it is."""
        reading = _Reading(log)
        for file in files:
            reading.threads = Threads(log)
            for row in api_rows(file, log, self.is_event, self.starts_call):
                yield from self._row(reading, row)
            yield from reading.threads.close()
        reading.threads = Threads(log)
        for row, answer in reading.answers.values():
            yield from self._place(reading, row, answer)
        yield from reading.threads.close()
        if reading.requests:
            log.omit("request without a response", len(reading.requests))

    def _row(self, reading: _Reading, row: ApiRow) -> Iterator[Session]:
        if row.events:
            yield from self._place(reading, row, Exchange(events=row.events))
            return
        found = self.other(row, reading.log)
        if found is not None:
            yield from found
            return
        exchange = exchange_of(row.value) if isinstance(row.value, dict) else Exchange()
        if exchange.failed:
            reading.log.omit("call that failed")
        elif exchange.custom_id is not None and not (exchange.request and exchange.answered):
            yield from self._half(reading, row, exchange)
        elif exchange.answered:
            yield from self._place(reading, row, exchange)
        elif exchange.request:
            reading.log.omit("request without a response")
        else:
            row.refuse(reading.log, _NO_CALL)

    def _half(self, reading: _Reading, row: ApiRow, half: Exchange) -> Iterator[Session]:
        """Keep one half of a batch call until the other one comes."""
        key = half.custom_id or row.name
        if half.answered and key in reading.requests:
            yield from self._place(reading, row, replace(half, request=reading.requests.pop(key)))
        elif half.answered:
            reading.answers[key] = (row, half)
        elif key in reading.answers:
            row, answer = reading.answers.pop(key)
            yield from self._place(reading, row, replace(answer, request=half.request))
        else:
            reading.requests[key] = half.request

    def _place(self, reading: _Reading, row: ApiRow, exchange: Exchange) -> Iterator[Session]:
        log = reading.log
        response = {**exchange.response, **self.merged(exchange.events)} if exchange.events else exchange.response
        reply = self.reply(response, log)
        if reply is None and exchange.said is not None:
            reply = Reply(output=(TextBlock(text=exchange.said),), usage=chat_usage(response.get("usage")))
        if reply is None:
            row.refuse(log, _NO_CALL)
            return
        if not reply.output and not (reply.usage is not None and reply.usage.output_tokens):
            log.omit("reply without content")
            return
        request = exchange.request
        messages = self.prompt(request, reading.said, log)
        if self.goes_on_by_id and reply.id is not None:
            reading.said[reply.id] = (*messages, Message(role="assistant", blocks=reply.output))
        max_tokens = (as_count(request.get(key)) for key in _MAX_TOKENS_KEYS)
        call = Call(
            messages=messages,
            output=reply.output,
            usage=reply.usage,
            times=exchange.times or _created(response, log),
            model=reply.model or first_text(request.get("model")),
            max_tokens=next((count for count in max_tokens if count is not None), None),
            finish_reason=reply.finish_reason,
            verdict=exchange.verdict,
            logprobs=reply.logprobs,
            tools=self.tools(request),
            prompt=None if messages else _unknown_prompt(reply, log),
        )
        yield from reading.threads.add(call, exchange.key, row.name)

    def tools(self, request: Json) -> tuple[ToolSpec, ...]:
        """The tools that *request* offers."""
        return tool_specs(request.get("tools") or request.get("functions"))


def _created(response: Json, log: ReadLog) -> Times | None:
    created_s = next((at for key in _CREATED_KEYS if (at := unix_seconds(response.get(key))) is not None), None)
    if created_s is None:
        return None
    log.assume("time of creation in a response taken as the time its request was sent")
    end_s = unix_seconds(response.get("completed_at"))
    return Times(sent_s=created_s, end_s=end_s if end_s is not None and end_s >= created_s else None)


def _unknown_prompt(reply: Reply, log: ReadLog) -> LengthPrompt | MessagePrompt:
    tokens = reply.usage.input_tokens if reply.usage is not None else None
    log.assume("response without its request: the prompt is known by its length at most")
    return MessagePrompt(ranges=()) if tokens is None else LengthPrompt(tokens=tokens)
