"""LLMServingSim workloads: JSON lines of token counts and ids, single requests or sessions of sub-requests."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterator

import msgspec
import xxhash
from msgspec.structs import replace

from traces.clock import scaled
from traces.lengths import length_turn, unique, usable_lengths
from traces.model import LengthPrompt, OpaqueBlock, Session, Times, ToolWait, Turn
from traces.readers.base import JsonReader, stem
from traces.readlog import ReadLog
from traces.records import Count, Json, as_count, as_list, decoded, dicts, first_text
from traces.source import SourceFile

_NS = 1e9
_BLOCK_TOKENS = 16
_ID_BYTES = array("I").itemsize


class LlmServingSimReader(JsonReader):
    """Reads both forms, also mixed; prompts with token ids share the prefixes that their ids share."""

    name = "llmservingsim"
    title = "LLMServingSim workload JSONL (single requests and agentic sessions)"

    def score(self, rows: list[Json]) -> float:
        """Rows of input_toks and output_toks, or of sub_requests."""
        for row in rows:
            inner = dicts(row.get("sub_requests"))
            for request in inner or [row]:
                if "input_toks" in request and "output_toks" in request:
                    return 0.95
        return 0.0

    def read_file(self, file: SourceFile, log: ReadLog) -> Iterator[Session]:
        """Yield a session a line."""
        taken: set[str] = set()
        prefix = stem(file)
        for number, row in decoded(file, _Plain, log):
            if isinstance(row, _Plain):
                recorded, requests = row.session_id, [row]
                start_s = None if row.arrival_time_ns is None else row.arrival_time_ns / _NS
            else:
                recorded = first_text(row.get("session_id"))
                start_s = scaled(row.get("arrival_time_ns"), _NS)
                requests = list(map(_usual, dicts(row.get("sub_requests")) if "sub_requests" in row else [row]))
            turns = [_turn(file, number, request, log) for request in requests]
            usable = [turn for turn in turns if turn is not None]
            if not requests:
                log.invalid(file.name, number, "a session without sub_requests", kind="session without requests")
            elif usable:
                name = unique(recorded or f"{prefix}:{number}", taken)
                yield Session(id=name, turns=_chained(usable, start_s), start_s=start_s)


READER = LlmServingSimReader()


class _Plain(msgspec.Struct, frozen=True, gc=False):
    """A request in its usual form; a count of None is none that can be."""

    input_toks: Count | None
    output_toks: Count | None
    arrival_time_ns: float | None = None
    input_tok_ids: list[int] = []
    output_tok_ids: list[int] = []
    tool_duration_ns: float | None = None
    session_id: str | None = None
    sub_requests: None = None


def _usual(request: Json) -> _Plain:
    counts = as_count(request.get("input_toks")), as_count(request.get("output_toks"))
    inputs, outputs = _ids(request.get("input_tok_ids")), _ids(request.get("output_tok_ids"))
    wait_s = scaled(request.get("tool_duration_ns"), 1.0)
    return _Plain(*counts, input_tok_ids=inputs, output_tok_ids=outputs, tool_duration_ns=wait_s)


def _turn(file: SourceFile, number: int, request: _Plain, log: ReadLog) -> Turn | None:
    tokens, output = request.input_toks, request.output_toks
    ids, output_ids = _packed(request.input_tok_ids), _packed(request.output_tok_ids)
    if tokens is None or output is None:
        reason = "input_toks and output_toks must be whole numbers of zero or more"
    elif (ids and len(ids) != tokens * _ID_BYTES) or (output_ids and len(output_ids) != output * _ID_BYTES):
        reason = "as many token ids as the count says are needed"
    else:
        if not usable_lengths(tokens, output, log):
            return None
        wait_ns = request.tool_duration_ns
        waits = (ToolWait(name="tool", duration_s=wait_ns / _NS),) if wait_ns is not None and wait_ns > 0 else ()
        key = xxhash.xxh3_64_hexdigest(output_ids) if output_ids else None
        return length_turn(
            "t",
            LengthPrompt(tokens=tokens, block_tokens=_BLOCK_TOKENS if ids else None, block_ids=_block_ids(ids)),
            output,
            tool_waits=waits,
            output=(OpaqueBlock(tokens=output, key=key),),
        )
    log.invalid(file.name, number, reason, kind=reason)
    return None


def _chained(turns: list[Turn], start_s: float | None) -> tuple[Turn, ...]:
    chain: list[Turn] = []
    for number, turn in enumerate(turns, start=1):
        parent = chain[-1].id if chain else None
        final = turn.final
        if parent is None and start_s is not None:
            final = replace(final, times=Times(sent_s=start_s))
        last = number == len(turns)
        waits = () if last else turn.tool_waits
        chain.append(replace(turn, id=f"t{number}", parent=parent, attempts=(final,), tool_waits=waits))
    return tuple(chain)


def _ids(value: object) -> list[int]:
    """Token ids; empty if *value* holds anything else."""
    ids = [item for item in as_list(value) if type(item) is int]
    return ids if len(ids) == len(as_list(value)) else []


def _packed(ids: list[int]) -> bytes:
    """*ids* as numbers of 32 bits, the lowest byte first; empty if one needs more."""
    try:
        packed = array("I", ids)
    except OverflowError:
        return b""
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def _block_ids(ids: bytes) -> tuple[int, ...]:
    """A hash of everything up to the end of each block of the prompt."""
    digest = xxhash.xxh3_64()
    update, value = digest.update, digest.intdigest
    found: list[int] = []
    width = _BLOCK_TOKENS * _ID_BYTES
    for start in range(0, len(ids), width):
        update(ids[start : start + width])
        found.append(value())
    return tuple(found)
