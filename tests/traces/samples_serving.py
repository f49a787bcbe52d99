"""Small recordings in the formats of serving traces and of tracing tools, as values to write out."""

from __future__ import annotations

import json

AGENTIC_V1: list[object] = [
    {
        "request_id": "a1",
        "session_id": "a",
        "timestamp": 500.0,
        "input_length": 1000,
        "output_length": 20,
        "hash_ids": [1, 2],
    },
    {
        "request_id": "a2",
        "session_id": "a",
        "input_length": 1100,
        "output_length": 30,
        "hash_ids": [1, 2, 3],
        "wait_for": ["a1"],
        "delay": 250.0,
        "tool_wait_ms": 1500.0,
        "tool_events": [{"tool_class": "Bash", "duration_ms": 1500.0}],
    },
    {
        "request_id": "b1",
        "session_id": "b",
        "timestamp": 900.0,
        "input_length": 600,
        "output_length": 5,
        "hash_ids": [1, 9],
        "wait_for": ["a1"],
        "prefix_reset": True,
    },
    {
        "request_id": "a3",
        "session_id": "a",
        "input_length": 1200,
        "output_length": 8,
        "hash_ids": [1, 2, 3],
        "wait_for": ["a2", "b1"],
    },
]

AGENTIC_V2: list[object] = [
    {
        "schema": "dynamo.agentic_mooncake",
        "version": 2,
        "block_size": 64,
        "hash_id_scope": "local",
        "source": {"format": "weka", "digest": "0"},
    },
    {
        "request_id": "r1",
        "play_id": "p",
        "session_id": "s",
        "model": "m",
        "input_length": 100,
        "output_length": 10,
        "hash_ids": [5, 6],
        "not_before_ms": 2000.0,
    },
    {
        "request_id": "r2",
        "play_id": "p",
        "session_id": "s",
        "model": "m",
        "input_length": 130,
        "output_length": 12,
        "hash_ids": [5, 6, 7],
        "not_before_ms": 4000.0,
        "priority": 1,
        "policy_class": "x",
        "output_token_ids": [3] * 12,
        "dependencies": [{"request_id": "r1", "trigger": "completion", "delay_ms": 700.0, "relation": "sequence"}],
    },
]

APPLIED: list[object] = [
    {
        "num_turns": 2,
        "input_prompt_length": 300,
        "assistant_response_length": [50, 40],
        "tool_call_output_length": [100, 10],
        "tool_call_latency": [1.25, 0.5],
        "final_assistant_response_length": 7,
    }
]

WEKA: list[object] = [
    {
        "id": "w",
        "models": ["big"],
        "block_size": 64,
        "hash_id_scope": "local",
        "requests": [
            {
                "t": 1.0,
                "type": "s",
                "model": "big",
                "in": 130,
                "out": 9,
                "hash_ids": [0, 1, 2],
                "api_time": 2.0,
                "ttft": 0.5,
            },
            {
                "t": 3.5,
                "type": "subagent",
                "agent_id": "agent_1",
                "subagent_type": "explorer",
                "requests": [{"t": 3.6, "type": "n", "model": "small", "in": 64, "out": 4, "hash_ids": [8]}],
            },
            {
                "t": 9.0,
                "type": "s",
                "model": "big",
                "in": 200,
                "out": 3,
                "hash_ids": [0, 1, 2, 3],
                "input_types": ["tool_result"],
                "think_time": 6.0,
            },
        ],
    }
]


def dynamo_row(
    name: str, received: int, took: float, hashes: list[int], session: str = "s", **agent: str
) -> dict[str, object]:
    """A request_end row with blocks of 16 tokens."""
    return {
        "schema": "dynamo.request.trace.v1",
        "event_type": "request_end",
        "event_time_unix_ms": received + int(took),
        "agent_context": {"session_id": session, **agent},
        "request": {
            "request_id": name,
            "model": "m",
            "output_tokens": 11,
            "request_received_ms": received,
            "total_time_ms": took,
            "ttft_ms": 20.0,
            "replay": {
                "trace_block_size": 16,
                "input_length": 16 * len(hashes),
                "input_sequence_hashes": hashes,
            },
        },
    }


BIG = (1 << 63) + 5
NEAR = BIG + (1 << 32)
DYNAMO: list[object] = [
    dynamo_row("q1", 1_700_000_000_000, 1000.0, [BIG]),
    {
        "schema": "dynamo.request.trace.v1",
        "event_type": "tool_end",
        "event_time_unix_ms": 1_700_000_003_000,
        "agent_context": {"session_id": "s"},
        "tool": {"tool_call_id": "c1", "tool_class": "Bash", "duration_ms": 1500.0, "status": "ok"},
    },
    {"event": dynamo_row("q2", 1_700_000_003_500, 800.0, [BIG, 7])},
    dynamo_row("k1", 1_700_000_001_200, 300.0, [NEAR], session="kid", parent_session_id="s"),
]

LLMSERVINGSIM: list[object] = [
    {
        "input_toks": 18,
        "output_toks": 2,
        "arrival_time_ns": 2_500_000_000,
        "input_tok_ids": list(range(18)),
        "output_tok_ids": [1, 2],
    },
    {
        "session_id": "loop",
        "arrival_time_ns": 4_000_000_000,
        "sub_requests": [
            {"input_toks": 16, "output_toks": 3, "tool_duration_ns": 120_000_000, "input_tok_ids": list(range(16))},
            {"input_toks": 40, "output_toks": 5, "tool_duration_ns": 0},
        ],
    },
]

BENCH = {
    "request_throughput": 1.5,
    "output_throughput": 70.0,
    "completed": 3,
    "total_input_tokens": 12,
    "total_output_tokens": 9,
    "median_ttft": 0.2,
}


def lines(values: list[object]) -> bytes:
    """*values* as JSON lines."""
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)
