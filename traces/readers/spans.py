"""Spans of tracing tools in their several JSON shapes, with attributes as one tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from traces.clock import unix_seconds
from traces.records import Json, as_count, as_dict, as_list, dicts, first_text

_MAX_PARTS = 24
"""Dots in an attribute name that are followed."""
_MAX_DEPTH = 40
_US = 1e6
_LISTS = (
    "resourceSpans",
    "resource_spans",
    "scopeSpans",
    "scope_spans",
    "instrumentationLibrarySpans",
    "spans",
    "data",
)


@dataclass(slots=True)
class SpanEvent:
    """An event of a span."""

    name: str
    at_s: float | None
    attributes: Json


@dataclass(slots=True)
class Span:
    """One span. *attributes* is a tree: dotted names taken apart, numbered members as arrays."""

    id: str | None
    parent: str | None
    trace: str | None
    name: str
    start_s: float | None
    end_s: float | None
    attributes: Json
    events: list[SpanEvent] = field(default_factory=list)

    def at(self, *paths: str) -> object:
        """The first attribute of *paths* that is there."""
        return at(self.attributes, *paths)


def at(tree: Json, *paths: str) -> object:
    """The first value of dotted *paths* in *tree* that is there; None if none is."""
    for path in paths:
        value: object = tree
        for part in path.split("."):
            value = as_dict(value).get(part)
        if isinstance(value, dict) and "" in value:
            value = value[""]
        if value is not None:
            return value
    return None


def spans_of(value: object, depth: int = 0) -> Iterator[Span]:
    """Yield the spans in a JSON value: OTLP, SDK exporters, Jaeger, arrays and groups of them."""
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, list):
        for member in value:
            yield from spans_of(member, depth + 1)
        return
    row = as_dict(value)
    if is_span(row):
        yield _span(row)
        return
    named = [row[key] for key in _LISTS if isinstance(row.get(key), list)]
    for member in named or [item for item in row.values() if isinstance(item, list)]:
        yield from spans_of(member, depth + 1)


def is_span(row: Json) -> bool:
    """Whether *row* has a name and a span's identity."""
    named = "name" in row or "operationName" in row
    known = any(key in row for key in ("spanId", "span_id", "spanContext", "spanID", "context.span_id"))
    return named and (known or "span_id" in as_dict(row.get("context")) or "spanId" in as_dict(row.get("context")))


def tree_of(attributes: object) -> Json:
    """Attributes as a tree; they come as an object, nested or flat, or as an array of keys and values."""
    tree: Json = {}
    if isinstance(attributes, list):
        for item in dicts(attributes):
            _put(tree, str(item.get("key")), _otlp_value(item.get("value"), 0))
    else:
        for key, value in as_dict(attributes).items():
            _put(tree, key, value)
    return as_dict(_with_lists(tree, 0))


def _span(row: Json) -> Span:
    context = as_dict(row.get("spanContext") or row.get("context"))
    parent = as_dict(row.get("parentSpanContext"))
    start_s = _time(row, ("startTimeUnixNano", "start_time_unix_nano", "startTime", "start_time", "start_timestamp"))
    end_s = _time(row, ("endTimeUnixNano", "end_time_unix_nano", "endTime", "end_time", "end_timestamp"))
    duration = as_count(row.get("duration"))
    if end_s is None and start_s is not None and duration is not None and "operationName" in row:
        end_s = start_s + duration / _US
    attributes = row.get("attributes")
    if attributes is None:
        attributes = row.get("tags") or _prefixed(row)
    tree = tree_of(attributes)
    kind = first_text(row.get("span_kind"))
    if kind in ("LLM", "TOOL", "AGENT", "CHAIN") and at(tree, "openinference.span.kind") is None:
        _put(tree, "openinference.span.kind", kind)
    references = dicts(row.get("references"))
    return Span(
        id=_id(row, context, ("spanId", "span_id", "spanID")),
        parent=first_text(
            *(row.get(key) for key in ("parentSpanId", "parent_span_id", "parent_id", "parentSpanID")),
            parent.get("spanId"),
            *(item.get("spanID") for item in references),
        ),
        trace=_id(row, context, ("traceId", "trace_id", "traceID")),
        name=first_text(row.get("name"), row.get("operationName")) or "",
        start_s=start_s,
        end_s=end_s if end_s is None or start_s is None or end_s >= start_s else None,
        attributes=tree,
        events=[_event(event) for event in dicts(row.get("events"))],
    )


def _event(row: Json) -> SpanEvent:
    at_s = _time(row, ("timeUnixNano", "time_unix_nano", "time", "timestamp"))
    return SpanEvent(first_text(row.get("name")) or "", at_s, tree_of(row.get("attributes")))


def _id(row: Json, context: Json, names: tuple[str, ...]) -> str | None:
    return first_text(*(place.get(name) for place in (row, context) for name in names), row.get(f"context.{names[1]}"))


def _time(row: Json, names: tuple[str, ...]) -> float | None:
    for name in names:
        value = row.get(name)
        if isinstance(value, list) and len(value) == 2:
            whole, nanos = as_count(value[0]), as_count(value[1])
            if whole is not None and nanos is not None:
                return whole + nanos / 1e9
        at_s = unix_seconds(value)
        if at_s:
            return at_s
    return None


def _prefixed(row: Json) -> Json:
    return {key.removeprefix("attributes."): value for key, value in row.items() if key.startswith("attributes.")}


def _otlp_value(value: object, depth: int) -> object:
    """The value in an OTLP AnyValue; its integers are texts."""
    if not isinstance(value, dict) or depth > _MAX_DEPTH:
        return value if not isinstance(value, dict) else None
    for key, inner in value.items():
        if key in ("intValue", "int_value"):
            return _integer(inner)
        if key in ("arrayValue", "array_value"):
            return [_otlp_value(item, depth + 1) for item in as_list(as_dict(inner).get("values"))]
        if key in ("kvlistValue", "kvlist_value"):
            pairs = dicts(as_dict(inner).get("values"))
            return {str(pair.get("key")): _otlp_value(pair.get("value"), depth + 1) for pair in pairs}
        return inner
    return None


def _integer(value: object) -> object:
    try:
        return int(value) if isinstance(value, str) else value
    except ValueError:
        return None


def _put(tree: Json, name: str, value: object) -> None:
    """Put *value* under its dotted name; one that has members as well as a value keeps it under ''."""
    parts = name.split(".")[:_MAX_PARTS]
    node = tree
    for part in parts[:-1]:
        inner = node.get(part)
        if not isinstance(inner, dict):
            inner = {} if inner is None else {"": inner}
            node[part] = inner
        node = inner
    last = node.get(parts[-1])
    if isinstance(value, dict):
        inner = last if isinstance(last, dict) else {} if last is None else {"": last}
        node[parts[-1]] = inner
        for key, member in value.items():
            if isinstance(key, str):
                _put(inner, key, member)
    elif isinstance(last, dict):
        last[""] = value
    else:
        node[parts[-1]] = value


def _with_lists(value: object, depth: int) -> object:
    """*value* with objects whose names are numbers as arrays."""
    if not isinstance(value, dict) or depth > _MAX_DEPTH * _MAX_PARTS:
        return value
    members = {key: _with_lists(member, depth + 1) for key, member in value.items()}
    numbers = [key for key in members if key.isascii() and key.isdigit() and len(key) < 10]
    if members and len(numbers) == len(members):
        return [members[key] for key in sorted(numbers, key=int)]
    return members
