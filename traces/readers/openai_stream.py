"""Streamed chat completions: chunks put together to the completion that the same call gives without a stream."""

from __future__ import annotations

from collections.abc import Iterable

from traces.records import Json, as_count, as_dict, dicts, first_text

_TEXTS = ("content", "reasoning_content", "reasoning", "thinking", "reasoning_text", "refusal")


def is_chunk(event: Json) -> bool:
    """Whether *event* is a chunk of a streamed chat completion."""
    if event.get("object") == "chat.completion.chunk":
        return True
    choices = event.get("choices")
    return isinstance(choices, list) and any(isinstance(choice.get("delta"), dict) for choice in dicts(choices))


def merged_chunks(events: Iterable[Json]) -> Json:
    """The completion that *events* stream; usage comes from whichever chunk has it, and is absent if none has.

    Calls are keyed by their index, their arguments joined as they come; only choice 0 is kept apart from a count
    of the others.
    """
    response: Json = {}
    builders: dict[int, _Choice] = {}
    for event in events:
        for key in ("id", "model", "created"):
            if event.get(key) is not None:
                response.setdefault(key, event[key])
        usage = event.get("usage") or as_dict(event.get("x_groq")).get("usage")
        if isinstance(usage, dict):
            response["usage"] = usage
        for choice in dicts(event.get("choices")):
            index = as_count(choice.get("index")) or 0
            builders.setdefault(index, _Choice()).add(choice)
    response["choices"] = [builders[index].choice(index) for index in sorted(builders)]
    return response


class _Choice:
    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {}
        self._details: list[Json] = []
        self._calls: dict[object, Json] = {}
        self._last: object = None
        self._finish: str | None = None
        self._logprobs: dict[str, list[Json]] = {}

    def add(self, choice: Json) -> None:
        delta = as_dict(choice.get("delta")) or as_dict(choice.get("message"))
        for key in _TEXTS:
            value = delta.get(key)
            if isinstance(value, str) and value:
                self._texts.setdefault(key, []).append(value)
        self._details += dicts(delta.get("reasoning_details"))
        for part in dicts(delta.get("content")):
            self._part(part)
        for call in dicts(delta.get("tool_calls")):
            self._call(call)
        legacy = as_dict(delta.get("function_call"))
        if legacy:
            self._call({"index": 0, "function": legacy})
        for key, entries in as_dict(choice.get("logprobs")).items():
            self._logprobs.setdefault(key, []).extend(dicts(entries))
        self._finish = first_text(choice.get("finish_reason")) or self._finish

    def choice(self, index: int) -> Json:
        message: Json = {key: "".join(pieces) for key, pieces in self._texts.items()}
        if self._details and not any(key in message for key in _TEXTS[1:5]):
            message["reasoning_details"] = _merged_details(self._details)
        if self._calls:
            message["tool_calls"] = [self._calls[key] for key in self._calls]
        whole: Json = {"index": index, "message": message, "finish_reason": self._finish}
        if self._logprobs:
            whole["logprobs"] = {**self._logprobs}
        return whole

    def _part(self, part: Json) -> None:
        """A delta whose content is an array of parts, thinking apart from text."""
        key = "content" if "text" in part else "thinking"
        inner = part.get("text", part.get("thinking"))
        for piece in [inner] if isinstance(inner, str) else [item.get("text") for item in dicts(inner)]:
            if isinstance(piece, str):
                self._texts.setdefault(key, []).append(piece)

    def _call(self, call: Json) -> None:
        key = as_count(call.get("index"))
        identity = first_text(call.get("id"))
        slot: object = key
        if key is None:
            slot = identity or self._last or "first"
        self._last = slot
        known = self._calls.setdefault(slot, {"function": {"name": "", "arguments": ""}})
        if identity is not None:
            known.setdefault("id", identity)
        function = as_dict(call.get("function"))
        merged = as_dict(known["function"])
        merged["name"] = merged["name"] or first_text(function.get("name")) or ""
        piece = function.get("arguments")
        if isinstance(piece, str):
            merged["arguments"] = f"{merged['arguments']}{piece}"
        elif isinstance(piece, dict):
            merged["arguments"] = piece


def _merged_details(details: list[Json]) -> list[Json]:
    texts = [text for item in details if isinstance(text := item.get("text"), str)]
    if texts:
        return [{"type": "reasoning.text", "text": "".join(texts)}]
    return details[:1]
