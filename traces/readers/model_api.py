"""A request to a model API and its reply, as a model call."""

from __future__ import annotations

from collections.abc import Callable

from traces.calls import ModelCall
from traces.clock import unix_seconds
from traces.model import Message, Times
from traces.readers import anthropic_api, gemini, openai_responses
from traces.readers.api_prompts import chat_prompt, converse_prompt
from traces.readers.api_reader import Said
from traces.readers.api_replies import Family, family_of, reply_of
from traces.readers.openai_messages import Reply
from traces.readers.sse import stream_events
from traces.readers.tools import tool_specs
from traces.readlog import ReadLog
from traces.records import Json, as_count, as_dict, dicts, first_text, parsed

_PROMPTS: dict[Family, Callable[[Json, Said, ReadLog], list[Message]]] = {
    Family.CHAT: lambda request, _, log: chat_prompt(request, log),
    Family.RESPONSES: openai_responses.READER.prompt,
    Family.ANTHROPIC: anthropic_api.READER.prompt,
    Family.GEMINI: gemini.READER.prompt,
    Family.CONVERSE: lambda request, _, log: converse_prompt(request, log),
    Family.COHERE: lambda request, _, log: chat_prompt(request, log),
    Family.TEXT: lambda request, _, log: chat_prompt(request, log),
}
_LIMITS = ("max_completion_tokens", "max_output_tokens", "max_tokens", "max_tokens_to_sample")
_CONFIGS = ("generationConfig", "inferenceConfig", "parameters")
_CONFIG_LIMITS = ("maxOutputTokens", "maxTokens", "max_new_tokens")


def events_of(reply: object) -> list[Json]:
    """The objects of a reply: of JSON text or a JSON value one, of a stream one an event."""
    if isinstance(reply, str):
        try:
            reply = parsed(reply.strip().encode(errors="replace"))
        except ValueError:
            return list(stream_events(reply))
    return [reply] if isinstance(reply, dict) else dicts(reply)


class Exchanges:
    """Turns exchanges of one recording into model calls; what the server kept of earlier ones is known by its id."""

    def __init__(self, log: ReadLog) -> None:
        self._log = log
        self._said: dict[str, tuple[Message, ...]] = {}

    def call(self, request: Json, reply: object, at_s: float | None = None) -> ModelCall | None:
        """The model call of *request* and *reply*; None for other exchanges, which are omitted and counted.

        *at_s* is taken as the time of sending where the reply names none.
        """
        events = events_of(reply)
        family = family_of(events)
        if family is None:
            self._log.omit(_other_kind(request, events))
            return None
        answer = reply_of(family, events, self._log)
        if answer is None:
            self._log.omit("API reply without output")
            return None
        prompt = self._prompt(family, request, answer)
        created_s = next((at for event in events if (at := _created(event)) is not None), at_s)
        return ModelCall(
            prompt=prompt or None,
            output=answer.output,
            usage=answer.usage,
            times=Times(sent_s=created_s),
            id=answer.id,
            model=answer.model or first_text(request.get("model"), request.get("modelId")),
            max_tokens=_limit(request),
            finish_reason=answer.finish_reason,
            tools=tool_specs(_tools(request) or _echoed_tools(events)),
        )

    def _prompt(self, family: Family, request: Json, answer: Reply) -> list[Message]:
        before = first_text(request.get("previous_response_id"))
        if before is not None and before not in self._said:
            self._log.assume("earlier response kept by the server is not in the recording: prompt from its length")
            return []
        prompt = _PROMPTS[family](request, self._said, self._log)
        if family is Family.RESPONSES and answer.id is not None:
            self._said[answer.id] = (*prompt, Message(role="assistant", blocks=answer.output))
        return prompt


def _other_kind(request: Json, events: list[Json]) -> str:
    if any("embedding" in item for event in events for item in dicts(event.get("data"))) or any(
        "embedding" in event or "embeddings" in event for event in events
    ):
        return "embedding request"
    asked = any(key in request for key in ("messages", "contents", "input", "prompt"))
    return "API call that failed" if asked and "model" in request else "request that is no model call"


def _created(event: Json) -> float | None:
    nested = as_dict(event.get("response"))
    for source in (event, nested):
        for key in ("created", "created_at"):
            at_s = unix_seconds(source.get(key))
            if at_s:
                return at_s
    return None


def _limit(request: Json) -> int | None:
    found = [request.get(key) for key in _LIMITS]
    found += [as_dict(request.get(config)).get(key) for config in _CONFIGS for key in _CONFIG_LIMITS]
    return next((limit for value in found if (limit := as_count(value))), None)


def _tools(request: Json) -> object:
    return request.get("tools") or as_dict(request.get("toolConfig")).get("tools") or request.get("functions")


def _echoed_tools(events: list[Json]) -> object:
    bodies = (as_dict(event.get("response")) or event for event in events)
    return next((body["tools"] for body in bodies if isinstance(body.get("tools"), list)), None)
