"""Replies of the Gemini API recorded call by call (``.responses``): no prompts, no times."""

from __future__ import annotations

from collections.abc import Iterator

from traces.conversation import Conversation, told_by_usage
from traces.model import Attempt, LengthPrompt, MessagePrompt, Prompt, Session, Usage, Verdict
from traces.readers.base import JsonReader, finished, stem
from traces.readers.gemini_parts import api_usage, output_blocks
from traces.readlog import ReadLog
from traces.records import Json, as_dict, dicts, first_text, objects
from traces.source import SourceFile


class GeminiResponsesReader(JsonReader):
    """Reads lists of recorded Gemini API replies; a file is one session, its calls one after another."""

    name = "gemini-responses"
    title = "Gemini API replies recorded call by call (.responses)"

    def score(self, rows: list[Json]) -> float:
        """Lines with a method that generates content and its response."""
        found = any(str(row.get("method")).startswith("generateContent") and "response" in row for row in rows)
        return 0.95 if found else 0.0

    def read_file(self, file: SourceFile, log: ReadLog) -> Iterator[Session]:
        """Yield the one session of a file; an empty reply that was asked for again is a rejected attempt."""
        conversation = Conversation(stem(file), log)
        earlier: list[Attempt] = []
        for number, row in objects(file, log):
            if not str(row.get("method")).startswith("generateContent"):
                log.omit("Gemini API call that generates nothing")
                continue
            response = row.get("response")
            chunks = dicts(response) or ([response] if isinstance(response, dict) else [])
            if not any(dicts(chunk.get("candidates")) for chunk in chunks):
                log.invalid(file.name, number, "the reply holds no candidates", kind="Gemini reply without candidates")
                continue
            earlier = _call(conversation, chunks, earlier, log)
        if earlier:
            _rejected_only(conversation, earlier)
        if conversation.turns:
            log.assume("Gemini API calls are taken to be made one after another")
        yield from finished(conversation, log)


READER = GeminiResponsesReader()


def _call(conversation: Conversation, chunks: list[Json], earlier: list[Attempt], log: ReadLog) -> list[Attempt]:
    """Add one call; return the empty attempts that the next call repeats."""
    parts: list[Json] = []
    meta: Json = {}
    reason = model = None
    for chunk in chunks:
        candidate = (dicts(chunk.get("candidates")) or [{}])[0]
        parts += dicts(as_dict(candidate.get("content")).get("parts"))
        reason = first_text(candidate.get("finishReason")) or reason
        model = first_text(chunk.get("modelVersion")) or model
        meta = {**meta, **as_dict(chunk.get("usageMetadata"))}
    usage = api_usage(meta)
    blocks = output_blocks(parts, log)
    if earlier and _input(earlier[0]) != usage.input_tokens:
        _rejected_only(conversation, earlier)
        earlier = []
    if not blocks:
        attempt = Attempt(output=(), usage=usage, verdict=Verdict.REJECTED, finish_reason=reason)
        return [*earlier, attempt]
    conversation.reply(
        told_by_usage(blocks, usage),
        usage=usage,
        model=model,
        finish_reason=reason,
        earlier=earlier,
        prompt=_prompt(usage),
        remember=False,
    )
    return []


def _rejected_only(conversation: Conversation, attempts: list[Attempt]) -> None:
    """Add a turn of empty replies that were not asked for again."""
    usage = attempts[-1].usage
    conversation.reply(
        (),
        usage=usage,
        finish_reason=attempts[-1].finish_reason,
        earlier=attempts[:-1],
        prompt=_prompt(usage or Usage()),
        remember=False,
    )


def _input(attempt: Attempt) -> int | None:
    return attempt.usage.input_tokens if attempt.usage is not None else None


def _prompt(usage: Usage) -> Prompt:
    if usage.input_tokens is None:
        return MessagePrompt(ranges=())
    return LengthPrompt(tokens=usage.input_tokens)
