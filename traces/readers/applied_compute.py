"""Applied Compute agentic workloads: one row a session, with lists of reply, tool output and latency per turn."""

from __future__ import annotations

from collections.abc import Iterator

from traces.clock import scaled
from traces.lengths import length_turn, unique
from traces.model import LengthPrompt, Session, ToolWait, Turn
from traces.readers.base import JsonReader, stem
from traces.readlog import ReadLog
from traces.records import Json, as_count, as_list, first_text, objects
from traces.source import SourceFile

_LISTS = ("assistant_response_length", "tool_call_output_length", "tool_call_latency")
_BLOCK_TOKENS = 64
_MAX_PROMPT = 1 << 24


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
        for number, row in objects(file, log):
            name = unique(first_text(row.get("session_id")) or f"{stem(file)}:{number}", taken)
            session = _session(file, number, row, name, log)
            if session is not None:
                yield session


READER = AppliedComputeReader()


def _session(file: SourceFile, number: int, row: Json, name: str, log: ReadLog) -> Session | None:
    prompt = as_count(row.get("input_prompt_length"))
    lists = [as_list(row.get(key)) for key in _LISTS]
    replies = [as_count(value) for value in lists[0]]
    results = [as_count(value) for value in lists[1]]
    waits = [scaled(value, 1.0) for value in lists[2]] or [None] * len(replies)
    final = as_count(row.get("final_assistant_response_length"))
    turns = as_count(row.get("num_turns"))
    total = sum(value or 0 for value in [prompt, *replies, *results])
    sound = len(replies) == len(results) == len(waits) and turns in (None, len(replies))
    if not prompt or None in replies or None in results or any(wait is not None and wait < 0 for wait in waits):
        reason = "lengths must be whole numbers and latencies seconds of zero or more"
    elif not sound:
        reason = "num_turns and the per-turn lists must agree in length"
    elif total > _MAX_PROMPT:
        reason = f"prompts of more than {_MAX_PROMPT} tokens"
    else:
        lengths = [*((reply or 0, result or 0) for reply, result in zip(replies, results, strict=True))]
        return _grown(name, prompt, lengths, waits, final or 0, log)
    log.invalid(file.name, number, reason, kind=reason)
    return None


def _grown(
    name: str,
    prompt: int,
    lengths: list[tuple[int, int]],
    waits: list[float | None],
    final: int,
    log: ReadLog,
) -> Session | None:
    total = prompt + sum(reply + result for reply, result in lengths)
    ids = tuple(f"{name}:{index}" for index in range(-(-total // _BLOCK_TOKENS)))
    turns: list[Turn] = []
    for index, (reply, result) in enumerate([*lengths, (final, 0)]):
        if reply:
            tool = index < len(lengths)
            turns.append(
                length_turn(
                    f"t{index + 1}",
                    _prompt(ids, prompt),
                    reply,
                    parent=turns[-1].id if turns else None,
                    tool_waits=(ToolWait(name="tool", duration_s=waits[index]),) if tool else (),
                )
            )
        else:
            log.omit("request without output tokens (failed or cut off before the first)")
        prompt += reply + result
    return Session(id=name, turns=tuple(turns)) if turns else None


def _prompt(ids: tuple[str, ...], tokens: int) -> LengthPrompt:
    """The first *tokens* of a context that is only ever added to."""
    blocks = -(-tokens // _BLOCK_TOKENS)
    return LengthPrompt(tokens=tokens, block_tokens=_BLOCK_TOKENS, block_ids=ids[:blocks])
