"""LLMServingSim workloads: JSON lines of token counts and ids, single requests or sessions of sub-requests."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import xxhash
from msgspec.structs import replace

from traces.clock import scaled
from traces.lengths import length_turn, unique, usable_lengths
from traces.model import LengthPrompt, OpaqueBlock, Session, Times, ToolWait, Turn
from traces.readers.base import JsonReader, stem
from traces.readlog import ReadLog
from traces.records import Json, as_count, as_list, dicts, first_text, objects
from traces.source import SourceFile

_NS = 1e9
_BLOCK_TOKENS = 16
_MAX_TOKEN_ID = 1 << 32


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
        for number, row in objects(file, log):
            recorded = first_text(row.get("session_id")) or f"{stem(file)}:{number}"
            start_s = scaled(row.get("arrival_time_ns"), _NS)
            requests = dicts(row.get("sub_requests")) if "sub_requests" in row else [row]
            turns = [_turn(file, number, request, log) for request in requests]
            usable = [turn for turn in turns if turn is not None]
            if not requests:
                log.invalid(file.name, number, "a session without sub_requests", kind="session without requests")
            elif usable:
                yield Session(id=unique(recorded, taken), turns=_chained(usable, start_s), start_s=start_s)


READER = LlmServingSimReader()


def _turn(file: SourceFile, number: int, request: Json, log: ReadLog) -> Turn | None:
    tokens, output = as_count(request.get("input_toks")), as_count(request.get("output_toks"))
    ids, output_ids = _ids(request.get("input_tok_ids")), _ids(request.get("output_tok_ids"))
    if tokens is None or output is None:
        reason = "input_toks and output_toks must be whole numbers of zero or more"
    elif (ids and len(ids) != tokens) or (output_ids and len(output_ids) != output):
        reason = "as many token ids as the count says are needed"
    else:
        if not usable_lengths(tokens, output, log):
            return None
        wait_s = scaled(request.get("tool_duration_ns"), _NS)
        waits = (ToolWait(name="tool", duration_s=wait_s),) if wait_s is not None and wait_s > 0 else ()
        key = xxhash.xxh3_64_hexdigest(_packed(output_ids)) if output_ids else None
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


def _ids(value: object) -> tuple[int, ...]:
    """Token ids; empty if *value* holds anything else."""
    ids = tuple(item for item in as_list(value) if type(item) is int and 0 <= item < _MAX_TOKEN_ID)
    return ids if len(ids) == len(as_list(value)) else ()


def _packed(ids: tuple[int, ...]) -> bytes:
    return struct.pack(f"<{len(ids)}I", *ids)


def _block_ids(ids: tuple[int, ...]) -> tuple[int, ...]:
    """A hash of everything up to the end of each block of the prompt."""
    digest = xxhash.xxh3_64()
    found: list[int] = []
    for start in range(0, len(ids), _BLOCK_TOKENS):
        digest.update(_packed(ids[start : start + _BLOCK_TOKENS]))
        found.append(digest.intdigest())
    return tuple(found)
