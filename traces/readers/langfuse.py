"""Langfuse exports: traces with observations, of which the generations are model calls."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from msgspec.structs import replace

from traces.calls import ModelCall, ToolRun
from traces.clock import unix_seconds
from traces.model import Session, Times, ToolCallBlock, Usage
from traces.readers.base import JsonReader
from traces.readers.langfuse_usage import langfuse_usage
from traces.readers.loose_messages import json_value, loose_output, loose_prompt
from traces.readers.span_calls import Kind, span_usage
from traces.readers.span_sessions import Node, sessions_of
from traces.readers.spans import Span, tree_of
from traces.readers.tools import tool_specs
from traces.readlog import ReadLog
from traces.records import Json, as_count, as_dict, dicts, documents, first_text
from traces.source import SourceFile

_TYPES = {"GENERATION": Kind.CALL, "TOOL": Kind.TOOL, "AGENT": Kind.AGENT, "EMBEDDING": Kind.EMBEDDING}
_NOTHING = ("None", "null", "undefined")
"""How some exporters write an output that they could not take down."""
_TOOL_PREFIX = re.compile(r"^(execute_tool |running tool: |tool[.:] ?)", re.IGNORECASE)


class LangfuseReader(JsonReader):
    """Reads one or more traces a file; a session of Langfuse, or else a trace, is a session.

    Outer generations, whose usage repeats that of the generations inside them, are not counted.
    """

    name = "langfuse"
    title = "Langfuse trace exports (observations)"

    def score(self, rows: list[Json]) -> float:
        """Observations with Langfuse's types, under a trace or bare."""
        for row in rows[:5]:
            found = [*_observations(row), row]
            if any(_is_observation(item) for item in found):
                return 0.95
            if isinstance(row.get("trace"), dict) and "observations" in row:
                return 0.9
        return 0.0

    def read(self, files: Sequence[SourceFile], log: ReadLog) -> Iterator[Session]:
        """Yield the sessions of all *files*: a session's traces may be exported one by one."""
        nodes: dict[str, Node] = {}
        for file in files:
            for line, value in documents(file, log):
                for row in [value] if isinstance(value, dict) else dicts(value):
                    _add(nodes, row, file, line, log)
        _mark_runs(nodes.values())
        yield from sessions_of(list(nodes.values()), log)


READER = LangfuseReader()


def _add(nodes: dict[str, Node], row: Json, file: SourceFile, line: int | None, log: ReadLog) -> None:
    found = [item for item in [*_observations(row), row] if _is_observation(item)]
    if not found:
        log.invalid(file.name, line, "no trace with observations", kind="record without observations")
    for item in found:
        node = _node(item, as_dict(row.get("trace")) or row, log)
        if node.key in nodes:
            log.duplicate("observation exported twice")
        else:
            nodes[node.key] = node


def _observations(row: Json) -> list[Json]:
    """The observations of *row*; those inside its trace repeat them."""
    places = (row.get("observations"), as_dict(row.get("trace")).get("observations"), row.get("data"))
    return next((found for place in places if (found := dicts(place))), [])


def _is_observation(item: Json) -> bool:
    return "traceId" in item and isinstance(item.get("type"), str) and ("startTime" in item or "input" in item)


def _node(item: Json, trace: Json, log: ReadLog) -> Node:
    kind = _TYPES.get(str(item.get("type")), Kind.OTHER)
    trace_id = first_text(item.get("traceId"), trace.get("id")) or "trace"
    start_s, end_s = unix_seconds(item.get("startTime")), unix_seconds(item.get("endTime"))
    name = first_text(item.get("name")) or "tool"
    if start_s is not None and end_s is not None and end_s < start_s:
        log.assume("observation that ends before it starts: its end counts as not recorded")
        end_s = None
    run = ToolRun(_TOOL_PREFIX.sub("", name), start_s, end_s) if kind in (Kind.TOOL, Kind.OTHER) else None
    return Node(
        key=first_text(item.get("id")) or f"{trace_id}#{name}",
        parent=first_text(item.get("parentObservationId")),
        trace=trace_id,
        kind=kind,
        call=_call(item, start_s, end_s, log) if kind is Kind.CALL else None,
        run=run,
        agent=name if kind is Kind.AGENT else None,
        conversation=first_text(trace.get("sessionId"), item.get("sessionId")),
    )


def _call(item: Json, start_s: float | None, end_s: float | None, log: ReadLog) -> ModelCall:
    first_s = unix_seconds(item.get("completionStartTime"))
    settings = as_dict(item.get("modelParameters"))
    asked = as_dict(json_value(item.get("input")))
    limit = next((count for key in ("max_tokens", "maxTokens") if (count := as_count(settings.get(key)))), None)
    tools = asked.get("tools") or as_dict(asked.get("config")).get("tools")
    usage = _with_details(langfuse_usage(as_dict(item.get("usageDetails")), as_dict(item.get("usage")), item), item)
    return ModelCall(
        prompt=loose_prompt(item.get("input"), log) or None,
        output=None if item.get("output") in _NOTHING else loose_output(item.get("output"), log),
        usage=usage if usage != Usage() else None,
        times=Times(sent_s=start_s, first_token_s=first_s, end_s=end_s),
        id=first_text(item.get("id")),
        model=first_text(item.get("model")),
        max_tokens=limit,
        tools=tool_specs(tools),
    )


def _with_details(usage: Usage, item: Json) -> Usage:
    """*usage* with the reasoning tokens that only the attributes of the observation's span tell of."""
    if usage.reasoning_tokens is not None or usage.output_tokens is None:
        return usage
    attributes = tree_of(as_dict(json_value(item.get("metadata"))).get("attributes"))
    told = span_usage(Span(None, None, None, "", None, None, attributes))
    if told is None or told.reasoning_tokens is None or told.output_tokens != usage.output_tokens:
        return usage
    return replace(usage, reasoning_tokens=told.reasoning_tokens)


def _mark_runs(nodes: Collection[Node]) -> None:
    """Take the plain spans that bear the name of a called tool as its runs."""
    called = {
        (node.trace, block.name)
        for node in nodes
        if node.call is not None
        for block in node.call.output or ()
        if isinstance(block, ToolCallBlock)
    }
    for node in nodes:
        if node.kind is Kind.OTHER and node.run is not None and (node.trace, node.run.name) in called:
            node.kind = Kind.TOOL
