"""Counts of the real tau-bench, tau2-bench, Mooncake and API recordings, made here from the raw JSON."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.shared import TRACES
from traces.checks import problems
from traces.export import write_mooncake
from traces.model import LengthPrompt, ReasoningBlock, Session, TextBlock, ToolCallBlock, prompt_messages
from traces.readlog import ReadLog
from traces.registry import read_files, read_sessions, reader_named
from traces.source import SourceFile
from traces.store import write_trace
from traces.summary import summarise

_TAU = TRACES / "tau-bench" / "historical_trajectories__gpt-4o-airline.json"
_MOONCAKE = TRACES / "mooncake" / "traces__conversation_trace.jsonl"
_VERCEL = TRACES / "vercel-ai-fixtures"


def _sessions(path: Path, log: ReadLog | None = None, name: str | None = None) -> list[Session]:
    found = list(read_sessions([str(path)], log or ReadLog(), name))
    assert [problem for session in found for problem in problems(session)] == []
    return found


def test_tau_bench_has_the_published_number_of_runs_replies_and_calls() -> None:
    summary = summarise(_sessions(_TAU), ReadLog())
    assert (summary.sessions, summary.turns, summary.tool_calls) == (200, 2454, 1164)
    raw = json.loads(_TAU.read_text())
    said = sum(
        m["role"] == "assistant" and bool(m["content"]) and bool(m.get("tool_calls")) for r in raw for m in r["traj"]
    )
    both = sum(
        any(isinstance(block, TextBlock) for block in turn.final.output)
        and any(isinstance(block, ToolCallBlock) for block in turn.final.output)
        for session in _sessions(_TAU)
        for turn in session.turns
    )
    assert both == said == 90


def test_tau_bench_prompts_are_the_messages_before_the_reply() -> None:
    raw = json.loads(_TAU.read_text())
    for run, session in zip(raw, _sessions(_TAU), strict=True):
        places = [index for index, message in enumerate(run["traj"]) if message["role"] == "assistant"]
        assert [len(list(prompt_messages(session, turn))) for turn in session.turns] == places


@pytest.mark.parametrize("name", ["tau2_output__results.json", "trajectories__toolorchestra_airline_gpt-5_1trial.json"])
def test_tau2_reads_the_agent_and_leaves_the_simulated_user_out(name: str) -> None:
    raw = json.loads((TRACES / "tau2-bench" / name).read_text())
    messages = [m for simulation in raw["simulations"] for m in simulation["messages"][1:]]
    roles = Counter(message["role"] for message in messages)
    calls = sum(len(m.get("tool_calls") or []) for m in messages if m["role"] == "assistant")
    log = ReadLog()
    summary = summarise(_sessions(TRACES / "tau2-bench" / name, log), log)
    assert (summary.sessions, summary.turns, summary.tool_calls) == (len(raw["simulations"]), roles["assistant"], calls)
    assert log.omitted["call of the simulated user, another model"] == roles["user"]
    counted = sum((m.get("usage") or {}).get("completion_tokens", 0) for m in messages if m["role"] == "assistant")
    assert summary.recorded_tokens.output_tokens == counted


def test_mooncake_has_every_request_with_its_lengths_and_blocks() -> None:
    raw = [json.loads(line) for line in _MOONCAKE.read_text().splitlines()]
    sessions = _sessions(_MOONCAKE)
    assert len(sessions) == len(raw) == 12_031
    for row, session in zip(raw, sessions, strict=True):
        prompt = session.turns[0].prompt
        assert isinstance(prompt, LengthPrompt)
        assert (prompt.tokens, list(prompt.block_ids)) == (row["input_length"], row["hash_ids"])
        assert session.start_s == row["timestamp"] / 1000
    assert summarise(sessions, ReadLog()).recorded_tokens.input_tokens == sum(row["input_length"] for row in raw)


def test_mooncake_reuse_is_that_of_leading_block_ids_seen_before() -> None:
    seen: set[tuple[int, ...]] = set()
    total = reused = 0
    for line in _MOONCAKE.read_text().splitlines():
        row = json.loads(line)
        ids, left = tuple(row["hash_ids"]), row["input_length"]
        total += left
        known = 0
        while known < len(ids) and ids[: known + 1] in seen:
            known += 1
        # The last block may be partial, and then counts as seen only at the same length; none repeats here.
        reused += min(known * 512, left)
        seen.update(ids[: end + 1] for end in range(len(ids)))
    share = summarise(read_sessions([str(_MOONCAKE)], ReadLog()), ReadLog()).prefix_reuse.of_tokens
    assert share == pytest.approx(reused / total, abs=2e-3)


def test_mooncake_survives_export_and_both_forms_of_the_store(tmp_path: Path) -> None:
    sessions = _sessions(_MOONCAKE)[:2000]
    write_mooncake(sessions, tmp_path / "m.jsonl", ReadLog())
    back = _sessions(tmp_path / "m.jsonl")
    assert [s.turns for s in back] == [s.turns for s in sessions]
    for name in ("t.parquet", "t.jsonl.zst"):
        write_trace(sessions, tmp_path / name, ReadLog())
        assert list(read_files([SourceFile(None, name, (tmp_path / name).read_bytes())], ReadLog())) == sessions


def _events(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (_VERCEL / name).read_text().splitlines() if line.strip()]


@pytest.mark.parametrize(
    "name", ["alibaba-reasoning", "azure-deepseek-reasoning.1", "deepseek-tool-call", "xai-tool-call"]
)
def test_chat_chunks_add_up_to_what_they_stream(name: str) -> None:
    events = _events(f"__fixtures____{name}.chunks.txt")
    (session,) = _sessions(_VERCEL / f"__fixtures____{name}.chunks.txt", name="openai-chat")
    final = session.turns[0].final
    deltas = [choice["delta"] for event in events for choice in event.get("choices") or []]
    content = "".join(delta.get("content") or "" for delta in deltas)
    thought = "".join(delta.get("reasoning_content") or "" for delta in deltas)
    pieces = [call["function"].get("arguments") or "" for delta in deltas for call in delta.get("tool_calls") or []]
    assert "".join(block.text for block in final.output if isinstance(block, TextBlock)) == content
    assert "".join(block.text or "" for block in final.output if isinstance(block, ReasoningBlock)) == thought
    assert "".join(b.arguments for b in final.output if isinstance(b, ToolCallBlock)) == "".join(pieces)
    usage = next(event["usage"] for event in reversed(events) if event.get("usage"))
    assert final.usage is not None
    assert final.usage.input_tokens == usage["prompt_tokens"]
    details = usage.get("completion_tokens_details") or {}
    apart = usage["total_tokens"] - usage["prompt_tokens"] - usage["completion_tokens"]
    assert final.usage.output_tokens == usage["completion_tokens"] + apart
    # One server counts no reasoning token beside 3,800 characters of reasoning: that is no count.
    assert final.usage.reasoning_tokens == (details.get("reasoning_tokens") or None)


def test_a_stream_of_responses_has_its_reasoning_hidden_and_counted() -> None:
    name = "__fixtures____openai-reasoning-encrypted-content.1.chunks.txt"
    ends = [event["response"] for event in _events(name) if event["type"] == "response.completed"]
    turns = [turn for s in _sessions(_VERCEL / name, name="openai-responses") for turn in s.turns]
    assert len(turns) == len(ends)
    for turn, end in zip(turns, ends, strict=True):
        assert turn.final.usage is not None
        assert turn.final.usage.output_tokens == end["usage"]["output_tokens"]
        calls = [item["call_id"] for item in end["output"] if item["type"] == "function_call"]
        assert [b.call_id for b in turn.final.output if isinstance(b, ToolCallBlock)] == calls
        hidden = [b for b in turn.final.output if isinstance(b, ReasoningBlock)]
        assert all(block.text is None for block in hidden)


def test_our_own_formats_claim_no_file_of_the_others() -> None:
    own = {name: reader_named(name) for name in ("tau-bench", "tau2", "mooncake", "canonical", "anthropic-messages")}
    folders = {"tau-bench": "tau-bench", "tau2": "tau2-bench", "mooncake": "mooncake"}
    for path in sorted(TRACES.rglob("*")):
        if path.is_file():
            file = SourceFile(path, str(path))
            for name, reader in own.items():
                if folders.get(name) != path.parent.name:
                    assert reader.sniff(file, file.head()) == 0, (name, path.name)
