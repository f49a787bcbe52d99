"""Made-up traces of lengths alone, in the shapes of public ones, to measure how fast and in how much memory they read.

Conversations grow turn by turn: a prompt is all that was said before and some more, its blocks numbered when first
met. Lengths are those of the public Mooncake conversation trace on average (24 blocks of 512 tokens in, 340 tokens
out).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

_OPEN = 4096
"""Conversations under way at a time."""
_GO_ON = 0.7
_FIRST_TOKENS = 7000.0
_MORE_TOKENS = 2500.0
_OUTPUT_TOKENS = 340.0
_GAP_MS = 20.0
_DRAWN = 1 << 12
_UNIX_MS = 1_700_000_000_000


class Call(NamedTuple):
    """One request; *turn* counts from 1 in its conversation, *added* of its blocks are new."""

    session: int
    turn: int
    sent_ms: int
    tokens: int
    output: int
    ids: list[int]
    added: int


def calls(block_tokens: int, scale: float = 1.0) -> Iterator[Call]:
    """Requests without end, their first block the same in all. *scale*: of the prompts' lengths."""
    rng = np.random.default_rng(0)
    fresh, sessions, sent_ms = 1, 0, 0.0
    under_way: list[tuple[int, int, list[int]]] = [(0, 0, [0])] * _OPEN
    while True:
        place = rng.integers(0, _OPEN, _DRAWN).tolist()
        goes_on = (rng.random(_DRAWN) < _GO_ON).tolist()
        tokens = [
            rng.exponential(scale * mean / block_tokens, _DRAWN).astype(int) + 1
            for mean in (_FIRST_TOKENS, _MORE_TOKENS)
        ]
        first, more = (column.tolist() for column in tokens)
        last = rng.integers(1, block_tokens + 1, _DRAWN).tolist()
        output = (1 + rng.exponential(_OUTPUT_TOKENS, _DRAWN)).astype(int).tolist()
        gap_ms = rng.exponential(_GAP_MS, _DRAWN).tolist()
        for at in range(_DRAWN):
            session, turn, ids = under_way[place[at]]
            added = more[at]
            if not turn or not goes_on[at]:
                sessions += 1
                session, turn, ids, added = sessions, 0, [0], first[at]
            ids = [*ids, *range(fresh, fresh + added)]
            fresh += added
            sent_ms += gap_ms[at]
            under_way[place[at]] = (session, turn + 1, ids)
            size = (len(ids) - 1) * block_tokens + last[at]
            yield Call(session, turn + 1, int(sent_ms), size, output[at], ids, added)


def _listed(ids: Sequence[int]) -> str:
    return f"[{', '.join(map(str, ids))}]"


def mooncake(scale: float = 1.0) -> Iterator[str]:
    """Single requests."""
    for _, _, sent, tokens, output, ids, _ in calls(512, scale):
        yield (
            f'{{"timestamp": {sent}, "input_length": {tokens}, "output_length": {output}, "hash_ids": {_listed(ids)}}}'
        )


def mooncake_sessions() -> Iterator[str]:
    """Requests with their session and the wait since its turn before."""
    for session, turn, sent, tokens, output, ids, _ in calls(512):
        at = f'"timestamp": {sent}' if turn == 1 else f'"delay": {sent % 9000}'
        lengths = f'"input_length": {tokens}, "output_length": {output}, "hash_ids": {_listed(ids)}'
        yield f'{{"session_id": "s{session}", {at}, {lengths}}}'


def mooncake_delta() -> Iterator[str]:
    """Requests with what they add to their session."""
    for session, turn, sent, tokens, output, ids, added in calls(512):
        at = f'"timestamp": {sent}' if turn == 1 else f'"delay": {sent % 9000}'
        new = tokens - (len(ids) - added) * 512
        lengths = f'"input_length": {new}, "output_length": {output}, "hash_ids": {_listed(ids[-added:])}'
        yield f'{{"session_id": "s{session}", {at}, {lengths}}}'


def agentic_mooncake() -> Iterator[str]:
    """Requests with the one that they wait for."""
    for session, turn, sent, tokens, output, ids, _ in calls(512):
        wait = f'"wait_for": ["s{session}-{turn - 1}"], "delay": 0.0, "tool_wait_ms": {sent % 9000}.0, '
        yield (
            f'{{"request_id": "s{session}-{turn}", "session_id": "s{session}", "timestamp": {sent}.0, '
            f'{wait if turn > 1 else ""}"input_length": {tokens}, "output_length": {output}, '
            f'"hash_ids": {_listed(ids)}}}'
        )


def applied_compute() -> Iterator[str]:
    """Sessions of twenty turns on average."""
    rng = np.random.default_rng(0)
    while True:
        turns = 1 + int(rng.exponential(19))
        replies, results = ((1 + rng.exponential(mean, turns)).astype(int).tolist() for mean in (300, 900))
        waits = ", ".join(f"{wait:.17g}" for wait in rng.exponential(2.0, turns).tolist())
        yield (
            f'{{"num_turns": {turns}, "input_prompt_length": {int(rng.integers(2000, 8000))}, '
            f'"assistant_response_length": {_listed(replies)}, "tool_call_output_length": {_listed(results)}, '
            f'"tool_call_latency": [{waits}], "final_assistant_response_length": {int(rng.integers(1, 800))}}}'
        )


def weka() -> Iterator[str]:
    """Sessions of twelve requests on average, with blocks of 64 tokens and ids of their own."""
    rng = np.random.default_rng(0)
    number = 0
    while True:
        number += 1
        requests, blocks = [], int(rng.integers(40, 200))
        for turn in range(1 + int(rng.exponential(11))):
            blocks += 1 + int(rng.exponential(15))
            requests.append(
                f'{{"t": {turn * 7.25:.3f}, "type": "s", "model": "m", "in": {blocks * 64 - 9}, "out": '
                f'{1 + int(rng.exponential(_OUTPUT_TOKENS))}, "hash_ids": {_listed(range(blocks))}, "api_time": 4.125, '
                f'"ttft": 0.31, "input_types": ["tool_result"], "think_time": 1.75}}'
            )
        yield (
            f'{{"id": "w{number}", "models": ["m"], "block_size": 64, "hash_id_scope": "local", '
            f'"requests": [{", ".join(requests)}]}}'
        )


def dynamo() -> Iterator[str]:
    """Rows of ended requests with hashes of 64 bits over blocks of 64 tokens."""
    for session, turn, sent, tokens, output, ids, _ in calls(64):
        hashes = (np.array(ids, np.uint64) * np.uint64(0x9E3779B97F4A7C15)).tolist()
        at = _UNIX_MS + sent
        yield (
            f'{{"schema": "dynamo.request.trace.v1", "event_type": "request_end", "event_time_unix_ms": {at + 3000}, '
            f'"agent_context": {{"session_id": "s{session}"}}, "request": {{"request_id": "s{session}-{turn}", '
            f'"model": "m", "output_tokens": {output}, "request_received_ms": {at}, "total_time_ms": 3000.0, '
            f'"ttft_ms": 210.5, "replay": {{"trace_block_size": 64, "input_length": {tokens}, '
            f'"input_sequence_hashes": {_listed(hashes)}}}}}}}'
        )


def llmservingsim() -> Iterator[str]:
    """Single requests with token ids."""
    rng = np.random.default_rng(0)
    for number in range(1 << 62):
        sizes = (1 + rng.exponential((600, _OUTPUT_TOKENS))).astype(int).tolist()
        prompt, output = (_listed(rng.integers(0, 128_000, size).tolist()) for size in sizes)
        yield (
            f'{{"input_toks": {sizes[0]}, "output_toks": {sizes[1]}, "arrival_time_ns": {number * 20_000_000}, '
            f'"input_tok_ids": {prompt}, "output_tok_ids": {output}}}'
        )


def azure() -> Iterator[str]:
    """A table of time, context and generated tokens."""
    yield "TIMESTAMP,ContextTokens,GeneratedTokens"
    for call in calls(512):
        seconds, ms = divmod(call.sent_ms, 1000)
        time = f"{seconds // 3600 % 24:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{ms:03d}9600"
        yield f"2023-11-{16 + seconds // 86400 % 14} {time},{call.tokens},{call.output}"


def burstgpt() -> Iterator[str]:
    """A table with model and conversation."""
    yield "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type"
    for call in calls(512):
        time = f"{call.sent_ms / 1000},{call.session},2.5,GPT-4"
        yield f"{time},{call.tokens},{call.output},{call.tokens + call.output},Conversation log"


def plain_csv() -> Iterator[str]:
    """A table of arrival, input and output."""
    yield "arrived_at,num_prefill_tokens,num_decode_tokens,pd_ratio"
    for call in calls(512):
        yield f"{call.sent_ms / 1000},{call.tokens},{call.output},{call.tokens / call.output}"


def other_csv() -> Iterator[str]:
    """A table with column names of nobody's, Unix times and a model."""
    yield "created_at,model,prompt_tokens,completion_tokens"
    for call in calls(512):
        yield f"{(_UNIX_MS + call.sent_ms) / 1000},m,{call.tokens},{call.output}"


def mooncake_long() -> Iterator[str]:
    """Single requests with prompts of 120,000 tokens on average."""
    return mooncake(10.0)


SHAPES: dict[str, tuple[str, Callable[[], Iterator[str]]]] = {
    "mooncake": ("mooncake", mooncake),
    "mooncake, long": ("mooncake", mooncake_long),
    "mooncake, sessions": ("mooncake", mooncake_sessions),
    "mooncake-delta": ("mooncake-delta", mooncake_delta),
    "agentic-mooncake": ("agentic-mooncake", agentic_mooncake),
    "applied-compute": ("applied-compute", applied_compute),
    "weka": ("weka", weka),
    "dynamo": ("dynamo", dynamo),
    "llmservingsim": ("llmservingsim", llmservingsim),
    "azure": ("azure", azure),
    "burstgpt": ("burstgpt", burstgpt),
    "vidur": ("vidur", plain_csv),
    "csv": ("csv", other_csv),
}
"""Of each shape its --format, and its lines without end."""


def write(shape: str, target: Path, megabytes: float) -> int:
    """Write a trace of *megabytes* to *target* and return its number of lines."""
    left = megabytes * 1e6
    with target.open("w", encoding="ascii", buffering=1 << 20) as sink:
        for number, line in enumerate(SHAPES[shape][1](), start=1):
            sink.write(line + "\n")
            left -= len(line) + 1
            if left <= 0:
                return number
    raise ValueError(f"{shape}: lines that end")
