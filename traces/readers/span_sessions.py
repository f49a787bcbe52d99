"""Sessions from the spans of a recording: one a conversation or trace, with nested agents apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from traces.calls import ModelCall, ToolRun, call_session
from traces.model import Message, Session, SpawnLink, ToolSpec
from traces.readers.span_calls import Kind, borrowed, call_of, kind_of, run_of
from traces.readers.spans import Span
from traces.readlog import ReadLog
from traces.records import first_text

_CONVERSATIONS = (
    "gen_ai.conversation.id",
    "session.id",
    "langfuse.session.id",
    "traceloop.association.properties.session_id",
    "ai.telemetry.metadata.sessionId",
)
_AGENT_NAMES = ("gen_ai.agent.name", "agent.name", "traceloop.entity.name", "graph.node.id")


@dataclass(slots=True)
class Node:
    """One span or observation with what it stands for."""

    key: str
    parent: str | None
    trace: str
    kind: Kind
    call: ModelCall | None = None
    run: ToolRun | None = None
    agent: str | None = None
    conversation: str | None = None


@dataclass(slots=True)
class _Group:
    calls: list[ModelCall] = field(default_factory=list)
    runs: list[ToolRun] = field(default_factory=list)
    parent: str | None = None
    agent: str | None = None


class _Repeated:
    """What many calls have alike, each held once: the messages of prompts that grow, the tools."""

    def __init__(self) -> None:
        self._messages: dict[Message, Message] = {}
        self._tools: tuple[ToolSpec, ...] = ()

    def in_common(self, call: ModelCall) -> ModelCall:
        """*call*, of which what earlier calls have is theirs."""
        if call.prompt is not None:
            call.prompt = [self._messages.setdefault(message, message) for message in call.prompt]
        if call.tools == self._tools:
            call.tools = self._tools
        self._tools = call.tools
        return call


def nodes_of(spans: Iterable[Span], log: ReadLog) -> list[Node]:
    """The nodes of *spans*; a span that was exported twice counts once."""
    found: dict[tuple[str, str], Node] = {}
    repeated = _Repeated()
    for number, span in enumerate(spans):
        key = (span.trace or "", span.id or f"#{number}")
        if key in found:
            log.duplicate("span exported twice")
            continue
        kind = kind_of(span)
        calls = kind in (Kind.CALL, Kind.CALL_OUTER)
        found[key] = Node(
            key=key[1],
            parent=span.parent,
            trace=key[0] or key[1],
            kind=kind,
            call=repeated.in_common(call_of(span, log)) if calls else None,
            run=run_of(span) if kind is Kind.TOOL else None,
            agent=first_text(*(span.at(path) for path in _AGENT_NAMES)) if kind is Kind.AGENT else None,
            conversation=first_text(*(span.at(path) for path in _CONVERSATIONS)),
        )
    return list(found.values())


def sessions_of(nodes: Sequence[Node], log: ReadLog) -> Iterator[Session]:
    """Yield the sessions of *nodes*. A call that holds other calls inside is not counted beside them."""
    index = {(node.trace, node.key): node for node in nodes}
    above = {(node.trace, node.key): _ancestors(node, index) for node in nodes}
    counted = _counted(nodes, above, log)
    groups: dict[str, _Group] = {}
    conversations = {node.trace: node.conversation for node in reversed(nodes) if node.conversation}
    for node in nodes:
        agents = [outer for outer in above[node.trace, node.key] if outer.kind is Kind.AGENT]
        root = conversations.get(node.trace) or node.trace
        owner = agents[0] if len(agents) > 1 else None
        group = groups.setdefault(f"{root}/{owner.key}" if owner is not None else root, _Group())
        if owner is not None:
            outer = agents[1] if len(agents) > 2 else None
            group.parent = f"{root}/{outer.key}" if outer is not None else root
        group.agent = group.agent or (agents[0].agent if agents else None)
        if node.kind is Kind.TOOL and node.run is not None:
            group.runs.append(node.run)
        elif node.kind is Kind.EMBEDDING:
            log.omit("span of an embedding or a ranking")
        elif (node.trace, node.key) in counted and node.call is not None:
            group.calls.append(node.call)
    yield from _built(groups, log)


def _built(groups: dict[str, _Group], log: ReadLog) -> Iterator[Session]:
    built: dict[str, Session] = {}
    for name, group in sorted(groups.items(), key=lambda item: _first(item[1])):
        link = None
        if group.parent is not None:
            above = built.get(group.parent)
            link = SpawnLink(session_id=group.parent, turn_id=_turn_before(above, _first(group))) if above else None
        session = call_session(name, group.calls, log, runs=group.runs, parent=link, agent=group.agent)
        if session is not None:
            built[name] = session
            yield session


def _first(group: _Group) -> float:
    return min((call.times.sent_s for call in group.calls if call.times.sent_s is not None), default=0.0)


def _turn_before(session: Session, at_s: float) -> str | None:
    """The last turn of *session* that was sent before *at_s*."""
    found = None
    for turn in session.turns:
        times = turn.final.times
        if times is not None and times.sent_s is not None and times.sent_s <= at_s:
            found = turn.id
    return found


def _ancestors(node: Node, index: dict[tuple[str, str], Node]) -> list[Node]:
    """The nodes around *node*, the nearest first; a cycle of parents ends where it closes."""
    found: list[Node] = []
    seen = {node.key}
    parent = node.parent
    while parent is not None and parent not in seen:
        seen.add(parent)
        outer = index.get((node.trace, parent))
        if outer is None:
            break
        found.append(outer)
        parent = outer.parent
    return found


def _counted(nodes: Sequence[Node], above: dict[tuple[str, str], list[Node]], log: ReadLog) -> set[tuple[str, str]]:
    """Keys of the calls that count: those without a call inside; they get the text of the calls around them."""
    calls = [node for node in nodes if node.call is not None]
    inner_only = any(node.kind is Kind.CALL for node in calls)
    holding: dict[tuple[str, str], int] = {}
    for node in calls:
        for outer in above[node.trace, node.key]:
            key = (outer.trace, outer.key)
            holding[key] = holding.get(key, 0) + 1
    counted: set[tuple[str, str]] = set()
    for node in calls:
        key = (node.trace, node.key)
        if key in holding or (node.kind is Kind.CALL_OUTER and inner_only):
            log.duplicate("span around the spans of its model calls")
            continue
        around = [o for o in above[key] if o.call is not None and holding[o.trace, o.key] == 1]
        if node.call is not None:
            borrowed(node.call, [outer.call for outer in around if outer.call is not None])
        counted.add(key)
    return counted
