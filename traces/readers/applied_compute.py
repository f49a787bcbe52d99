"""Applied Compute agentic workloads: one row a session, with lists of reply, tool output and latency per turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate, chain, compress, repeat
from operator import add
from typing import Annotated

import msgspec

from traces.clock import scaled
from traces.idrun import IdRun
from traces.lengths import OUTPUTS, first_id, turn_names, unique
from traces.model import Attempt, LengthPrompt, Session, ToolWait, Turn, Usage
from traces.readers.base import JsonReader, stem
from traces.readlog import ReadLog
from traces.records import Count, Json, as_count, as_list, decoded, first_text
from traces.source import SourceFile

_LISTS = ("assistant_response_length", "tool_call_output_length", "tool_call_latency")
_BLOCK_TOKENS = 64
_MAX_PROMPT = 1 << 24
_NO_LENGTHS = "lengths must be whole numbers and latencies seconds of zero or more"
_NO_OUTPUT = "request without output tokens (failed or cut off before the first)"


class AppliedComputeReader(JsonReader):
    """Reads rows whose prompts grow by each reply and tool output; latencies are seconds."""

    name = "applied-compute"
    title = "Applied Compute agentic workload JSONL"

    def score(self, rows: list[Json]) -> float:
        """Rows with an input prompt length and the per-turn lists."""
        named = ("input_prompt_length", *_LISTS[:2])
        return 0.95 if any(all(name in row for name in named) for row in rows) else 0.0

    def read_file(self, file: SourceFile, log: ReadLog) -> Iterator[Session]:
        """Yield a session a row; the final answer is its last turn."""
        taken: set[str] = set()
        prefix = stem(file)
        for number, row in decoded(file, _Row, log):
            recorded = row.session_id if isinstance(row, _Row) else first_text(row.get("session_id"))
            name = unique(recorded or f"{prefix}:{number}", taken)
            try:
                usual = row if isinstance(row, _Row) else _checked(row)
                _check(usual)
            except ValueError as error:
                log.invalid(file.name, number, str(error), kind=str(error))
                continue
            session = _session(name, usual, log)
            if session is not None:
                yield session


READER = AppliedComputeReader()


class _Row(msgspec.Struct, frozen=True, gc=False):
    """A session in its usual form."""

    input_prompt_length: Count = 0
    assistant_response_length: tuple[Count, ...] = ()
    tool_call_output_length: tuple[Count, ...] = ()
    tool_call_latency: tuple[Annotated[float, msgspec.Meta(ge=0.0)] | None, ...] = ()
    final_assistant_response_length: Count | None = None
    num_turns: Count | None = None
    session_id: str | None = None


def _checked(row: Json) -> _Row:
    """The session of an object of whatever members. Raises ValueError for lengths and latencies that are none."""
    replies, results = ([as_count(value) for value in as_list(row.get(key))] for key in _LISTS[:2])
    known = [value for value in (*replies, *results) if value is not None]
    waits = [scaled(value, 1.0) for value in as_list(row.get(_LISTS[2]))]
    if len(known) < len(replies) + len(results) or min(filter(None, waits), default=0.0) < 0:
        raise ValueError(_NO_LENGTHS)
    return _Row(
        as_count(row.get("input_prompt_length")) or 0,
        tuple(known[: len(replies)]),
        tuple(known[len(replies) :]),
        tuple(waits),
        as_count(row.get("final_assistant_response_length")),
        as_count(row.get("num_turns")),
    )


def _check(row: _Row) -> None:
    """Raise ValueError for a session that cannot be."""
    turns, waits = len(row.assistant_response_length), len(row.tool_call_latency)
    if not row.input_prompt_length:
        raise ValueError(_NO_LENGTHS)
    if turns != len(row.tool_call_output_length) or waits not in (0, turns) or row.num_turns not in (None, turns):
        raise ValueError("num_turns and the per-turn lists must agree in length")
    if row.input_prompt_length + sum(row.assistant_response_length) + sum(row.tool_call_output_length) > _MAX_PROMPT:
        raise ValueError(f"prompts of more than {_MAX_PROMPT} tokens")


def _session(name: str, row: _Row, log: ReadLog) -> Session | None:
    replies = (*row.assistant_response_length, row.final_assistant_response_length or 0)
    grown = map(add, row.assistant_response_length, row.tool_call_output_length)
    totals: Iterable[int] = accumulate(grown, initial=row.input_prompt_length)
    names = turn_names(len(replies))
    waits = row.tool_call_latency or repeat(None, len(replies) - 1)
    tools: Iterable[tuple[ToolWait, ...]] = chain(zip(map(ToolWait, repeat("tool"), waits)), ((),))
    if not all(replies):
        log.omit(_NO_OUTPUT, replies.count(0))
        totals, tools, names = compress(totals, replies), compress(tools, replies), tuple(compress(names, replies))
        replies = tuple(filter(None, replies))
    if not replies:
        return None
    first, size = first_id(name), _BLOCK_TOKENS
    turns = [
        Turn(
            turn_id,
            LengthPrompt(total, size, IdRun(first, (total + size - 1) // size)),
            (Attempt(OUTPUTS[reply], Usage(total, None, None, reply)),),
            parent,
            tool,
        )
        for turn_id, parent, total, reply, tool in zip(names, (None, *names), totals, replies, tools, strict=False)
    ]
    return Session(id=name, turns=tuple(turns))
