"""Agentic Mooncake traces: requests with dependencies, as sessions of turns that follow each other."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

import numpy as np

from traces.heldrows import HeldRows
from traces.lengths import check_blocks, fitting_blocks, infer_block_tokens, usable_lengths
from traces.model import Session
from traces.readers.agentic_chains import Chains
from traces.readers.agentic_graph import Graph, Links, graph
from traces.readers.agentic_rows import DEFAULT_BLOCK_TOKENS, AgenticRow, is_header, rows
from traces.readers.base import JsonReader
from traces.readlog import ReadLog
from traces.records import Json, as_count
from traces.source import SourceFile

_FIRST_VERSION = ("wait_for", "branches", "prefix_reset", "tool_wait_ms", "tool_events")

_AT_A_TIME = 1 << 8
"""Requests that are noted at a time."""


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
        held = HeldRows(AgenticRow, 0)
        links = Links()
        sizes = array("q")
        for some in _some(file, log, header):
            held.extend(some)
            links.add(some)
            for row in some:
                sizes.append(row.input_tokens)
                sizes.append(len(row.ids))
        stated = as_count(header.get("block_size"))
        block_tokens = stated or infer_block_tokens(sizes, DEFAULT_BLOCK_TOKENS)
        if block_tokens is None:
            reason = "no block size fits all pairs of input length and number of hash_ids"
            log.invalid(file.name, None, reason, "check that each id stands for a block of the prompt")
            return
        fits = fitting_blocks(sizes, block_tokens)
        sizes = array("q")
        found = graph(links, fits)
        _report(found, held, block_tokens, file, log)
        yield from Chains(held, found, block_tokens, header.get("hash_id_scope") == "local").sessions()


READER = AgenticMooncakeReader()


def _some(file: SourceFile, log: ReadLog, header: Json) -> Iterator[list[AgenticRow]]:
    """Yield the requests that can be served, some at a time; *header* becomes the last one."""
    some: list[AgenticRow] = []
    for row in rows(file, log):
        if not isinstance(row, AgenticRow):
            header.clear()
            header.update(row)
        elif (row.input_tokens and row.output_tokens) or usable_lengths(row.input_tokens, row.output_tokens, log):
            some.append(row)
            if len(some) == _AT_A_TIME:
                yield some
                some = []
    if some:
        yield some


def _report(found: Graph, held: HeldRows[AgenticRow], block_tokens: int, file: SourceFile, log: ReadLog) -> None:
    """Tell *log* which rows are left out, and what was assumed, in the order in which the file gives cause to."""
    for place in np.flatnonzero(found.doubled | found.unfit).tolist():
        row = held[place]
        if found.doubled[place]:
            reason = f"request_id {row.request_id!r} is there twice"
            log.invalid(file.name, row.line, reason, kind="request_id that was there before")
            continue
        try:
            check_blocks(row.input_tokens, len(row.ids), block_tokens)
        except ValueError as error:
            log.invalid(file.name, row.line, str(error), kind="block ids that do not fit the length")
    causes = (
        (found.astray, "request that waits for a missing or later one: starts at its own time"),
        (found.released, "request released by the start of another one: follows its end"),
        (found.joined, "wait for a request of another session: a tool run of unrecorded length"),
    )
    for places, text in sorted((cause for cause in causes if len(cause[0])), key=lambda cause: int(cause[0][0])):
        log.assume(text, len(places))
