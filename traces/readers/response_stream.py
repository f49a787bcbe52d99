"""Event streams of the Responses API, put together to the response object that the same call gives unstreamed."""

from __future__ import annotations

from collections.abc import Iterable

from traces.records import Json, as_count, as_dict, as_list, dicts

_ENDS = ("response.completed", "response.incomplete", "response.failed", "response.done")
_DELTAS = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "text",
    "response.reasoning_text.delta": "reasoning",
    "response.function_call_arguments.delta": "arguments",
    "response.mcp_call_arguments.delta": "arguments",
    "response.custom_tool_call_input.delta": "input",
}


def is_response_event(event: Json) -> bool:
    """Whether *event* belongs to a Responses API stream."""
    kind = event.get("type")
    return isinstance(kind, str) and kind.startswith("response.")


def merged_response(events: Iterable[Json]) -> Json:
    """The response that *events* stream: the closing event's, or what the events before a cut-off end hold."""
    response: Json = {}
    items: dict[int, Json] = {}
    texts: dict[tuple[int, str], list[str]] = {}
    for event in events:
        kind = str(event.get("type"))
        if isinstance(event.get("response"), dict):
            response = {**response, **as_dict(event["response"])}
        if kind in _ENDS and dicts(response.get("output")):
            return response
        index = as_count(event.get("output_index")) or 0
        if kind in ("response.output_item.added", "response.output_item.done"):
            items[index] = as_dict(event.get("item"))
            if kind.endswith("done"):
                for key in [key for key in texts if key[0] == index]:
                    del texts[key]
        elif kind in _DELTAS and isinstance(event.get("delta"), str):
            texts.setdefault((index, _DELTAS[kind]), []).append(str(event["delta"]))
    for (place, field), pieces in texts.items():
        items[place] = _filled(items.get(place, {}), field, "".join(pieces))
    if items:
        response["output"] = [items[index] for index in sorted(items)]
    return response


def _filled(item: Json, key: str, text: str) -> Json:
    if key == "text":
        part = {"type": "output_text", "text": text}
        return {"type": "message", "role": "assistant", **item, "content": [*as_list(item.get("content")), part]}
    if key == "reasoning":
        return {"type": "reasoning", **item, "content": [{"type": "reasoning_text", "text": text}]}
    kind = "custom_tool_call" if key == "input" else "function_call"
    return {"type": kind, **item, key: text}
