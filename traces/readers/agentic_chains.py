"""Chains of agentic Mooncake requests as sessions of turns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from msgspec.structs import replace

from traces.grouping import members
from traces.heldrows import HeldRows
from traces.lengths import block_turn, scoped, unique
from traces.model import Session, SpawnLink, Times, ToolWait, Turn
from traces.readers.agentic_graph import Graph
from traces.readers.agentic_rows import AgenticRow


@dataclass(slots=True)
class Chains:
    """The chains that *graph* tells of the rows that wait in *held*."""

    held: HeldRows[AgenticRow]
    graph: Graph
    block_tokens: int
    local_ids: bool
    """Whether block ids hold within a play, or a session that is in none, only."""
    names: list[str] = field(default_factory=list)
    """Of the chains so far."""
    taken: set[str] = field(default_factory=set)

    def sessions(self) -> Iterator[Session]:
        """Yield each chain as a session."""
        for _, places in zip(self.graph.spawners, members(self.graph.homes), strict=False):
            yield self._session(places)

    def _session(self, places: list[int]) -> Session:
        rows = self.held.of(places)
        first = rows[0]
        start_s = sent_s = first.not_before_s
        link = None
        if first.waits and (wait := self.graph.spawner(places[0], first.waits)) is not None:
            link = SpawnLink(session_id=self.names[self.graph.spawners[len(self.names)]], turn_id=wait.request_id)
            sent_s = None
        name = unique(first.session_id, self.taken)
        self.names.append(name)
        times = None if sent_s is None else Times(sent_s)
        if self.local_ids:
            scope = first.session_id.partition("/")[0]
            rows = [replace(row, ids=scoped(row.ids, scope)) for row in rows]
        turns = self._turns(places, rows, times) if rows[1:] else (_turn(rows[0], self.block_tokens, times),)
        return Session(name, turns, parent=link, start_s=start_s)

    def _turns(self, places: list[int], rows: list[AgenticRow], times: Times | None) -> tuple[Turn, ...]:
        """The turns of *rows*, of which the first is sent at *times*, with what happens between them."""
        tool_waits: list[tuple[ToolWait, ...]] = [()] * len(rows)
        user_waits_s: list[float | None] = [None] * len(rows)
        parents: list[str | None] = [None]
        at = {rows[0].request_id: 0}
        for number in range(1, len(rows)):
            row = rows[number]
            at[row.request_id] = number
            waits = row.waits
            wait, outside = self.graph.followed(places[number], waits) if waits[1:] else (waits[0], ())
            name = wait.request_id
            parents.append(name)
            parent = at[name]
            if row.tool_s > 0:
                tool_waits[parent] += (ToolWait(row.tool_name, wait.delay_s),)
            elif wait.delay_s > 0:
                user_waits_s[parent] = max(wait.delay_s, user_waits_s[parent] or 0.0)
            for other in outside:
                tool_waits[parent] += (ToolWait(name="sub-agent", duration_s=None, call_id=other.request_id),)
        size = self.block_tokens
        first = _turn(rows[0], size, times, None, tool_waits[0], user_waits_s[0])
        said = zip(rows[1:], parents[1:], tool_waits[1:], user_waits_s[1:], strict=True)
        later = [_turn(row, size, None, parent, tools, user_s) for row, parent, tools, user_s in said]
        return (first, *later)


def _turn(
    row: AgenticRow,
    block_tokens: int,
    times: Times | None,
    parent: str | None = None,
    tool_waits: tuple[ToolWait, ...] = (),
    user_wait_s: float | None = None,
) -> Turn:
    """The request as a turn."""
    tokens, output_tokens = row.input_tokens, row.output_tokens
    return block_turn(
        row.request_id, tokens, block_tokens, row.ids, output_tokens, times, parent, tool_waits, user_wait_s, row.model
    )
