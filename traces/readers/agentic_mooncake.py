"""Agentic Mooncake traces: requests with dependencies, as sessions of turns that follow each other."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from traces.grouping import members
from traces.lengths import OUTPUTS, check_blocks, continued, infer_block_tokens, scoped, unique, usable_lengths
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
                requests.append(row)
                if row.ids:
                    before = last_ids.get(row.session_id)
                    row.ids = last_ids[row.session_id] = continued(before, row.ids) if before else row.ids
                    sizes.extend((row.input_tokens, len(row.ids)))
        last_ids.clear()
        stated = as_count(header.get("block_size"))
        block_tokens = stated or infer_block_tokens(sizes, DEFAULT_BLOCK_TOKENS)
        if block_tokens is None:
            reason = "no block size fits all pairs of input length and number of hash_ids"
            log.invalid(file.name, None, reason, "check that each id stands for a block of the prompt")
            return
        graph = _Graph(file, block_tokens, bool(stated), header.get("hash_id_scope") == "local", log)
        for row in requests:
            graph.add(row)
        requests.clear()
        yield from graph.sessions()


READER = AgenticMooncakeReader()


class _Chain(msgspec.Struct, frozen=True, gc=False):
    id: str
    parent: SpawnLink | None
    start_s: float | None


@dataclass(slots=True)
class _Graph:
    """The requests so far, by id, and the chains that they form."""

    file: SourceFile
    block_tokens: int
    stated_size: bool
    """Whether the recording says so, and not the numbers of block ids, which are what they should be then."""
    local_ids: bool
    log: ReadLog
    chains: list[_Chain] = field(default_factory=list)
    placed: list[AgenticRow] = field(default_factory=list)
    homes: array[int] = field(default_factory=lambda: array("q"))
    """Of each placed request, the number of its chain."""
    home: dict[str, AgenticRow] = field(default_factory=dict)
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
        if self.stated_size:
            try:
                check_blocks(row.input_tokens, len(row.ids), self.block_tokens)
            except ValueError as error:
                self.log.invalid(self.file.name, row.line, str(error), kind="block ids that do not fit the length")
                return
        self._place(row, known)
        if known:
            row.not_before_s = None
        self.placed.append(row)
        self.homes.append(row.chain)
        home[name] = row

    def _place(self, row: AgenticRow, known: tuple[Wait, ...]) -> None:
        """Note on *row* the request that it follows, if any, and its chain, a new one if need be."""
        if not known:
            row.chain = self._new_chain(row, [])
            return
        home, session = self.home, row.session_id
        wait, outside = known[0], []
        parent = home[wait.request_id]
        if known[1:] or parent.session_id != session:
            inside = [wait for wait in known if home[wait.request_id].session_id == session]
            outside = [wait for wait in known if wait not in inside] if len(inside) < len(known) else []
            if not inside:
                row.chain = self._new_chain(row, outside)
                return
            wait = max(inside, key=lambda wait: home[wait.request_id].line) if inside[1:] else inside[0]
            parent = home[wait.request_id]
        self._wait(parent, wait, row, outside)
        row.parent, row.chain = wait.request_id, parent.chain

    def sessions(self) -> Iterator[Session]:
        """The chains as sessions; there are no requests to add after them."""
        self.home.clear()
        placed, size = self.placed, self.block_tokens
        for chain, places in zip(self.chains, members(self.homes), strict=True):
            turns = [_turn(placed[place], size) for place in places]
            yield Session(chain.id, tuple(turns), parent=chain.parent, start_s=chain.start_s)

    def _new_chain(self, row: AgenticRow, outside: list[Wait]) -> int:
        link = None
        if outside:
            spawner = next((wait for wait in outside if wait.spawned), outside[-1])
            name = self.chains[self.home[spawner.request_id].chain].id
            link = SpawnLink(session_id=name, turn_id=spawner.request_id)
        self.chains.append(_Chain(unique(row.session_id, self.taken), link, row.not_before_s))
        return len(self.chains) - 1

    def _wait(self, parent: AgenticRow, wait: Wait, row: AgenticRow, outside: list[Wait]) -> None:
        """Note on the *parent* that *row* waits for what happens between its end and the start of *row*."""
        if wait.at_start:
            self.log.assume("request released by the start of another one: follows its end")
        if row.tool_s > 0:
            parent.tool_waits += (ToolWait(row.tool_name, wait.delay_s),)
        elif wait.delay_s > 0:
            parent.user_wait_s = max(wait.delay_s, parent.user_wait_s or 0.0)
        for other in outside:
            self.log.assume("wait for a request of another session: a tool run of unrecorded length")
            parent.tool_waits += (ToolWait(name="sub-agent", duration_s=None, call_id=other.request_id),)


def _turn(row: AgenticRow, block_tokens: int) -> Turn:
    """The request as a turn."""
    tokens, output_tokens, ids, sent_s = row.input_tokens, row.output_tokens, row.ids, row.not_before_s
    prompt = LengthPrompt(tokens, block_tokens, ids) if ids else LengthPrompt(tokens)
    times = None if sent_s is None else Times(sent_s)
    attempt = Attempt(OUTPUTS[output_tokens], Usage(tokens, None, None, output_tokens), times)
    return Turn(row.request_id, prompt, (attempt,), row.parent, row.tool_waits, row.user_wait_s, row.model)
