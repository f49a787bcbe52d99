"""Dynamo request traces: JSON lines of ended requests and tools, without text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from traces.clock import scaled
from traces.lengths import block_ids, blocks_prompt, length_turn, usable_lengths
from traces.model import LengthPrompt, Session, SpawnLink, Times, ToolWait, Turn
from traces.plausible import plausible_times
from traces.readers.base import JsonReader
from traces.readlog import ReadLog
from traces.records import Json, as_count, as_dict, first_text, objects
from traces.source import SourceFile

_MS = 1e3
_ENDED = "request_end"
_TOOLS = ("tool_end", "tool_error")
_SKIPPED = ("request_payload", "tool_start", "request_start")


@dataclass(frozen=True, slots=True)
class _Tool:
    name: str
    call_id: str | None
    start_s: float
    end_s: float


@dataclass(slots=True)
class _Agent:
    """What was recorded of one session, over all files."""

    turns: list[Turn] = field(default_factory=list)
    tools: list[_Tool] = field(default_factory=list)
    parent: str | None = None


class DynamoReader(JsonReader):
    """Reads the request_end and tool rows; block hashes cover the whole prefix and are kept in full."""

    name = "dynamo"
    title = "Dynamo request trace JSONL (request_end and tool rows)"

    def score(self, rows: list[Json]) -> float:
        """Event rows with a Dynamo schema, or with request metrics."""
        for row in rows:
            event = as_dict(row.get("event")) or row
            kind = event.get("event_type")
            known = kind in (_ENDED, *_TOOLS, *_SKIPPED)
            schema = first_text(event.get("schema")) or ""
            if known and (schema.startswith("dynamo.") or isinstance(event.get("request"), dict)):
                return 0.97
        return 0.0

    def read(self, files: Sequence[SourceFile], log: ReadLog) -> Iterator[Session]:
        """Yield the sessions of all *files*, which are segments of one capture, by their first request."""
        agents: dict[str, _Agent] = {}
        seen: set[str] = set()
        for file in files:
            for line, row in objects(file, log):
                event = as_dict(row.get("event")) or row
                kind = event.get("event_type")
                if kind == _ENDED:
                    _ended(file, line, event, agents, seen, log)
                elif kind in _TOOLS:
                    _tool(event, agents, log)
                elif kind in _SKIPPED:
                    log.omit("Dynamo row of a payload or of a start")
                else:
                    log.invalid(file.name, line, "no request_end row and no tool row of a Dynamo trace")
        for agent in agents.values():
            agent.turns.sort(key=_sent)
        ordered = sorted(
            ((name, agent) for name, agent in agents.items() if agent.turns), key=lambda pair: _sent(pair[1].turns[0])
        )
        lost = sum(len(agent.tools) for agent in agents.values() if not agent.turns)
        if lost:
            log.omit("tool run of a session without requests", lost)
        for name, agent in ordered:
            yield _session(name, agent, agents, log)


READER = DynamoReader()


def _sent(turn: Turn) -> float:
    times = turn.final.times
    return times.sent_s if times is not None and times.sent_s is not None else 0.0


def _ended(file: SourceFile, line: int, event: Json, agents: dict[str, _Agent], seen: set[str], log: ReadLog) -> None:
    request = as_dict(event.get("request"))
    request_id = first_text(request.get("request_id"))
    replay = as_dict(request.get("replay"))
    ids = block_ids(replay.get("input_sequence_hashes"))
    tokens = as_count(replay.get("input_length") if replay else request.get("input_tokens"))
    output = as_count(request.get("output_tokens"))
    if request_id is None or tokens is None or output is None or ids is None:
        reason = "a request_end row needs request_id, input length and output_tokens"
        log.invalid(file.name, line, reason, kind=reason)
        return
    if request_id in seen:
        log.duplicate("Dynamo request recorded twice")
        return
    seen.add(request_id)
    if not usable_lengths(tokens, output, log):
        return
    try:
        size = as_count(replay.get("trace_block_size")) or 0
        prompt = blocks_prompt(tokens, ids, size) if size else LengthPrompt(tokens=tokens)
    except ValueError as error:
        log.invalid(file.name, line, str(error), kind="block ids that do not fit the length")
        return
    context = as_dict(event.get("agent_context"))
    agent = agents.setdefault(first_text(context.get("session_id")) or request_id, _Agent())
    agent.parent = first_text(context.get("parent_session_id")) or agent.parent
    agent.turns.append(
        length_turn(
            request_id,
            prompt,
            output,
            times=plausible_times(_times(event, request), log),
            model=first_text(request.get("model")),
            cached_tokens=_cached(request, tokens),
        )
    )


def _cached(request: Json, tokens: int) -> int | None:
    cached = as_count(request.get("cached_tokens"))
    return cached if cached is None or cached <= tokens else None


def _times(event: Json, request: Json) -> Times | None:
    sent_s = scaled(request.get("request_received_ms"), _MS)
    end_s = scaled(event.get("event_time_unix_ms"), _MS)
    took_s, first_s = scaled(request.get("total_time_ms"), _MS), scaled(request.get("ttft_ms"), _MS)
    if sent_s is None:
        return Times(end_s=end_s) if end_s is not None else None
    if took_s is not None and took_s >= 0:
        end_s = sent_s + took_s
    return Times(sent_s=sent_s, first_token_s=None if first_s is None else sent_s + first_s, end_s=end_s)


def _tool(event: Json, agents: dict[str, _Agent], log: ReadLog) -> None:
    tool = as_dict(event.get("tool"))
    session_id = first_text(as_dict(event.get("agent_context")).get("session_id"))
    end_s = scaled(tool.get("ended_at_unix_ms"), _MS)
    if end_s is None:
        end_s = scaled(event.get("event_time_unix_ms"), _MS)
    start_s, took_s = scaled(tool.get("started_at_unix_ms"), _MS), scaled(tool.get("duration_ms"), _MS)
    if start_s is None and end_s is not None and took_s is not None:
        start_s = end_s - max(0.0, took_s)
    if session_id is None or start_s is None or end_s is None or end_s < start_s:
        log.omit("tool run without a session or without times")
        return
    name = first_text(tool.get("tool_class"), tool.get("tool_name")) or "tool"
    found = _Tool(name, first_text(tool.get("tool_call_id")), start_s, end_s)
    agents.setdefault(session_id, _Agent()).tools.append(found)


def _session(name: str, agent: _Agent, agents: dict[str, _Agent], log: ReadLog) -> Session:
    turns: list[Turn] = []
    for turn, child in zip(agent.turns, [*agent.turns[1:], None], strict=True):
        parent = turns[-1].id if turns else None
        turns.append(replace(_waiting(turn, child, agent.tools, log), parent=parent))
    first = agent.turns[0].final.times
    return Session(
        id=name,
        turns=tuple(turns),
        parent=_spawn(agent, agents),
        start_s=first.sent_s if first is not None else None,
    )


def _waiting(turn: Turn, child: Turn | None, tools: list[_Tool], log: ReadLog) -> Turn:
    """*turn* with the tools that ended between its end and *child*; without any, with the gap as one."""
    times = turn.final.times
    if child is None or times is None or times.end_s is None:
        return turn
    sent_s = _sent(child)
    if sent_s < times.end_s:
        log.assume("request sent before the one it follows had ended: no wait between them")
        return turn
    ran = [tool for tool in tools if times.end_s <= tool.end_s <= sent_s]
    if not ran:
        log.assume("gap between the requests of a session without a tool row: counted as a tool run")
        return replace(turn, tool_waits=(ToolWait(name="tool", duration_s=sent_s - times.end_s),))
    waits = (ToolWait(name=t.name, duration_s=t.end_s - times.end_s, call_id=t.call_id) for t in ran)
    return replace(turn, tool_waits=tuple(waits))


def _spawn(agent: _Agent, agents: dict[str, _Agent]) -> SpawnLink | None:
    """The last request that the parent session had sent when this one began."""
    if agent.parent is None or agent.parent not in agents or agents[agent.parent] is agent:
        return None
    start_s = _sent(agent.turns[0])
    sent = [turn.id for turn in agents[agent.parent].turns if _sent(turn) <= start_s]
    return SpawnLink(session_id=agent.parent, turn_id=sent[-1] if sent else None)
