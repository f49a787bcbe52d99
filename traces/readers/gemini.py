"""Gemini API: generateContent requests with their replies, whole or streamed."""

from __future__ import annotations

from collections.abc import Iterable

from traces.model import Message, Usage
from traces.readers import gemini_parts
from traces.readers.api_prompts import gemini_prompt
from traces.readers.api_reader import ApiReader, Said
from traces.readers.exchange import exchange_of
from traces.readers.openai_messages import Reply
from traces.readlog import ReadLog
from traces.records import Json, as_dict, dicts, first_text


class GeminiReader(ApiReader):
    """Reads calls that carry their whole prompt; a stream's chunks are lines, an array, or a row's response."""

    name = "gemini"
    title = "Gemini API generateContent JSON or JSONL: request and response rows, responses, streams"

    def score(self, rows: list[Json]) -> float:
        """Candidates of a reply, beside the contents of a request or alone."""
        if self.is_event(rows[0]):
            return 0.9
        exchange = exchange_of(rows[0])
        answered = self.is_event(exchange.response) or any(self.is_event(event) for event in exchange.events)
        return 0.92 if answered else 0.0

    def is_event(self, row: Json) -> bool:
        """A chunk of a stream, or a reply that was not streamed."""
        return "contents" not in row and (bool(dicts(row.get("candidates"))) or "usageMetadata" in row)

    def starts_call(self, event: Json, before: Json) -> bool:
        """Another reply has another id, or comes after the last chunk of the one before."""
        names = first_text(event.get("responseId")), first_text(before.get("responseId"))
        if None not in names:
            return names[0] != names[1]
        return any("finishReason" in candidate for candidate in dicts(before.get("candidates")))

    def merged(self, events: Iterable[Json]) -> Json:
        """The reply that the chunks stream; counts are those of the last chunk that has them."""
        merged: Json = {}
        parts: list[Json] = []
        candidate: Json = {}
        usage: Json = {}
        for event in events:
            merged |= event
            found = dicts(event.get("candidates"))
            candidate |= found[0] if found else {}
            parts += dicts(as_dict(candidate.pop("content", None)).get("parts"))
            usage |= as_dict(event.get("usageMetadata"))
        candidate["content"] = {"parts": parts}
        return {**merged, "candidates": [candidate], "usageMetadata": usage}

    def prompt(self, request: Json, said: Said, log: ReadLog) -> list[Message]:  # noqa: ARG002
        """The system instruction and the contents."""
        return gemini_prompt(request, log)

    def reply(self, response: Json, log: ReadLog) -> Reply | None:
        """The parts of the first candidate; further ones are omitted."""
        candidates = dicts(response.get("candidates"))
        usage = gemini_parts.api_usage(as_dict(response.get("usageMetadata")))
        if not candidates and usage == Usage():
            return None
        if len(candidates) > 1:
            log.omit("further choice of one call (n > 1)", len(candidates) - 1)
        candidate = candidates[0] if candidates else {}
        return Reply(
            output=gemini_parts.output_blocks(dicts(as_dict(candidate.get("content")).get("parts")), log),
            usage=usage if usage != Usage() else None,
            finish_reason=first_text(candidate.get("finishReason")),
            model=first_text(response.get("modelVersion")),
            id=first_text(response.get("responseId")),
        )


READER = GeminiReader()
