"""Applied Compute agentic workloads: one row a session, with lists of reply, tool output and latency per turn."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from traces.clock import scaled
from traces.lengths import first_id, length_turn, unique
from traces.model import LengthPrompt, Session, ToolWait, Turn
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
    tool_call_latency: tuple[float | None, ...] = ()
    final_assistant_response_length: Count | None = None
    num_turns: Count | None = None
    session_id: str | None = None


def _checked(row: Json) -> _Row:
    """The session of an object of whatever members. Raises ValueError for lengths and latencies that are none."""
    replies, results = ([as_count(value) for value in as_list(row.get(key))] for key in _LISTS[:2])
    known = [value for value in (*replies, *results) if value is not None]
    if len(known) < len(replies) + len(results):
        raise ValueError(_NO_LENGTHS)
    return _Row(
        as_count(row.get("input_prompt_length")) or 0,
        tuple(known[: len(replies)]),
        tuple(known[len(replies) :]),
        tuple([scaled(value, 1.0) for value in as_list(row.get(_LISTS[2]))]),
        as_count(row.get("final_assistant_response_length")),
        as_count(row.get("num_turns")),
    )


def _check(row: _Row) -> None:
    """Raise ValueError for a session that cannot be."""
    turns = len(row.assistant_response_length)
    waits = row.tool_call_latency
    if not row.input_prompt_length or min(filter(None, waits), default=0.0) < 0:
        raise ValueError(_NO_LENGTHS)
    if turns != len(row.tool_call_output_length) or len(waits) not in (0, turns) or row.num_turns not in (None, turns):
        raise ValueError("num_turns and the per-turn lists must agree in length")
    if row.input_prompt_length + sum(row.assistant_response_length) + sum(row.tool_call_output_length) > _MAX_PROMPT:
        raise ValueError(f"prompts of more than {_MAX_PROMPT} tokens")


def _session(name: str, row: _Row, log: ReadLog) -> Session | None:
    prompt = row.input_prompt_length
    total = prompt + sum(row.assistant_response_length) + sum(row.tool_call_output_length)
    first = first_id(name)
    blocks = -(-total // _BLOCK_TOKENS)
    ids = tuple(range(first, first + blocks))
    waits = row.tool_call_latency or (None,) * len(row.assistant_response_length)
    turns: list[Turn] = []
    parent = None
    for number, (reply, result, wait_s) in enumerate(
        zip(row.assistant_response_length, row.tool_call_output_length, waits, strict=True), start=1
    ):
        if reply:
            tool = (ToolWait(name="tool", duration_s=wait_s),)
            turns.append(length_turn(f"t{number}", _prompt(ids, prompt), reply, parent=parent, tool_waits=tool))
            parent = turns[-1].id
        else:
            log.omit(_NO_OUTPUT)
        prompt += reply + result
    final = row.final_assistant_response_length
    if final:
        number = len(row.assistant_response_length) + 1
        turns.append(length_turn(f"t{number}", _prompt(ids, prompt), final, parent=parent))
    else:
        log.omit(_NO_OUTPUT)
    return Session(id=name, turns=tuple(turns)) if turns else None


def _prompt(ids: tuple[int | str, ...], tokens: int) -> LengthPrompt:
    """The first *tokens* of a context that is only ever added to."""
    blocks = -(-tokens // _BLOCK_TOKENS)
    return LengthPrompt(tokens=tokens, block_tokens=_BLOCK_TOKENS, block_ids=ids[:blocks])
