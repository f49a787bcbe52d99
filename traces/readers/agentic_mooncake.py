"""Agentic Mooncake traces: requests with dependencies, as sessions of turns that follow each other."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import attrgetter

import msgspec

from traces.lengths import check_blocks, continued, infer_block_tokens, opaque, scoped, unique, usable_lengths
from traces.model import Attempt, LengthPrompt, Session, SpawnLink, Times, ToolWait, Turn, Usage
from traces.readers.agentic_rows import DEFAULT_BLOCK_TOKENS, AgenticRow, Wait, is_header, rows
from traces.readers.base import JsonReader
from traces.readlog import ReadLog
from traces.records import Json, as_count
from traces.source import SourceFile

_FIRST_VERSION = ("wait_for", "branches", "prefix_reset", "tool_wait_ms", "tool_events")


class AgenticMooncakeReader(JsonReader):
    """Reads version 1 rows, and the newer ones under a header row.

    A request belongs to the chain of the last request of its session that it waits for; one that waits for
    none of its session starts a chain, hence a session, of its own. A wait for a request of another session
    makes that session the parent of a new chain; within a chain it counts as a tool run of unknown length.
    """

    name = "agentic-mooncake"
    title = "agentic Mooncake JSONL (dependencies between requests), version 1 and later"

    def score(self, rows: list[Json]) -> float:
        """A header with the schema's name, or requests with the fields of version 1."""
        if is_header(rows[0]):
            return 0.99
        named = [row for row in rows if "request_id" in row and ("output_length" in row or "output_tokens" in row)]
        return 0.97 if any(key in row for row in named for key in _FIRST_VERSION) else 0.0

    def read_file(self, file: SourceFile, log: ReadLog) -> Iterator[Session]:
        """Yield the sessions of one trace in the order of their first requests."""
        header: Json = {}
        requests: list[AgenticRow] = []
        last_ids: dict[str, tuple[int | str, ...]] = {}
        sizes = array("q")
        for row in rows(file, log):
            if not isinstance(row, AgenticRow):
                header = row
            elif (row.input_tokens and row.output_tokens) or usable_lengths(row.input_tokens, row.output_tokens, log):
                row.ids = last_ids[row.session_id] = continued(last_ids.get(row.session_id, ()), row.ids)
                requests.append(row)
                if row.ids:
                    sizes.append(row.input_tokens)
                    sizes.append(len(row.ids))
        last_ids.clear()
        block_tokens = as_count(header.get("block_size")) or infer_block_tokens(sizes, DEFAULT_BLOCK_TOKENS)
        if block_tokens is None:
            reason = "no block size fits all pairs of input length and number of hash_ids"
            log.invalid(file.name, None, reason, "check that each id stands for a block of the prompt")
            return
        graph = _Graph(file, block_tokens, header.get("hash_id_scope") == "local", log)
        requests.reverse()
        while requests:
            graph.add(requests.pop())
        yield from graph.sessions()


READER = AgenticMooncakeReader()


class _Entry(msgspec.Struct, gc=False):
    """A request in its place; it is no turn yet since later rows say what happens after it."""

    chain: int
    row: AgenticRow
    sent_s: float | None
    parent: str | None
    tool_waits: tuple[ToolWait, ...] = ()
    user_wait_s: float | None = None

    def turn(self, block_tokens: int) -> Turn:
        """The request as a turn."""
        row, sent_s = self.row, self.sent_s
        tokens, output_tokens, ids = row.input_tokens, row.output_tokens, row.ids
        prompt = LengthPrompt(tokens=tokens, block_tokens=block_tokens if ids else None, block_ids=ids)
        attempt = Attempt(
            output=opaque(output_tokens),
            usage=Usage(input_tokens=tokens, output_tokens=output_tokens),
            times=Times(sent_s=sent_s) if sent_s is not None else None,
        )
        return Turn(
            id=row.request_id,
            prompt=prompt,
            attempts=(attempt,),
            parent=self.parent,
            tool_waits=self.tool_waits,
            user_wait_s=self.user_wait_s,
            model=row.model,
        )


class _Chain(msgspec.Struct, frozen=True, gc=False):
    id: str
    parent: SpawnLink | None
    start_s: float | None


@dataclass(slots=True)
class _Graph:
    """The requests so far, by id, and the chains that they form."""

    file: SourceFile
    block_tokens: int
    local_ids: bool
    log: ReadLog
    chains: list[_Chain] = field(default_factory=list)
    entries: list[_Entry] = field(default_factory=list)
    """Those of all chains: the garbage collector looks at each list whenever it looks at everything."""
    home: dict[str, _Entry] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)

    def add(self, row: AgenticRow) -> None:
        """Place a request behind those that it waits for; they stand before it in the file."""
        name, home = row.request_id, self.home
        if name in home:
            reason = f"request_id {name!r} is there twice"
            self.log.invalid(self.file.name, row.line, reason, kind="request_id that was there before")
            return
        known = row.waits
        if known and (known[1:] or known[0].request_id not in home):
            known = tuple([wait for wait in known if wait.request_id in home])
        if len(known) < len(row.waits):
            self.log.assume("request that waits for a missing or later one: starts at its own time")
        if self.local_ids:
            row.ids = scoped(row.ids, row.session_id.partition("/")[0])
        try:
            check_blocks(row.input_tokens, len(row.ids), self.block_tokens)
        except ValueError as error:
            self.log.invalid(self.file.name, row.line, str(error), kind="block ids that do not fit the length")
            return
        parent, chain = self._place(row, known)
        entry = _Entry(chain, row, row.not_before_s if not known else None, parent)
        self.entries.append(entry)
        home[name] = entry

    def _place(self, row: AgenticRow, known: tuple[Wait, ...]) -> tuple[str | None, int]:
        """The request that *row* follows, if any, and its chain, a new one if need be."""
        home, session = self.home, row.session_id
        if not known:
            return None, self._new_chain(row, [])
        if len(known) == 1 and home[known[0].request_id].row.session_id == session:
            parent = home[known[0].request_id]
            self._wait(parent, known[0], row, [])
            return known[0].request_id, parent.chain
        inside = [wait for wait in known if home[wait.request_id].row.session_id == session]
        outside = [wait for wait in known if wait not in inside] if len(inside) < len(known) else []
        if not inside:
            return None, self._new_chain(row, outside)
        wait = max(inside, key=lambda wait: home[wait.request_id].row.line) if inside[1:] else inside[0]
        parent = home[wait.request_id]
        self._wait(parent, wait, row, outside)
        return wait.request_id, parent.chain

    def sessions(self) -> Iterator[Session]:
        """The chains as sessions; there are no requests to add after them."""
        self.home.clear()
        self.entries.sort(key=attrgetter("chain"))
        self.entries.reverse()
        entries = self.entries
        for number, chain in enumerate(self.chains):
            turns = []
            while entries and entries[-1].chain == number:
                turns.append(entries.pop().turn(self.block_tokens))
            yield Session(id=chain.id, turns=tuple(turns), parent=chain.parent, start_s=chain.start_s)

    def _new_chain(self, row: AgenticRow, outside: list[Wait]) -> int:
        link = None
        if outside:
            spawner = next((wait for wait in outside if wait.spawned), outside[-1])
            name = self.chains[self.home[spawner.request_id].chain].id
            link = SpawnLink(session_id=name, turn_id=spawner.request_id)
        self.chains.append(_Chain(unique(row.session_id, self.taken), link, row.not_before_s))
        return len(self.chains) - 1

    def _wait(self, entry: _Entry, parent: Wait, row: AgenticRow, outside: list[Wait]) -> None:
        """Note on the request waited for what happens between its end and the start of *row*."""
        if parent.at_start:
            self.log.assume("request released by the start of another one: follows its end")
        if row.tool_s > 0:
            entry.tool_waits += (ToolWait(name=row.tool_name, duration_s=parent.delay_s),)
        elif parent.delay_s > 0:
            entry.user_wait_s = max(parent.delay_s, entry.user_wait_s or 0.0)
        for wait in outside:
            self.log.assume("wait for a request of another session: a tool run of unrecorded length")
            entry.tool_waits += (ToolWait(name="sub-agent", duration_s=None, call_id=wait.request_id),)
