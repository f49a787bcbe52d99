"""What the index of the shared recordings states of them, against what the readers find.

The index counts whole sources, of which only some files may be here: facts below are those of files that are.
"""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from pathlib import Path

import pytest

from tests.shared import TRACES
from traces.errors import TraceError
from traces.model import ReasoningBlock, Session, TextBlock, ToolCallBlock, prompt_messages
from traces.readlog import ReadLog
from traces.registry import read_sessions

# Folder or file, and its (sessions, turns, tool calls); None: not stated.
STATED: dict[str, tuple[int | None, int | None, int | None]] = {
    "tau-bench": (200, 2454, 1164),
    "tau2-bench/trajectories__toolorchestra_airline_gpt-5_1trial.json": (50, None, 581),
    "tau2-bench/tau2_output__results.json": (5, None, 27),
    # Three runs and two of a resolver; an event list is a run of its own.
    "openhands/examples__output.jsonl": (3, None, None),
    "openhands/mock_output__output.jsonl": (2, None, None),
    "mooncake/traces__conversation_trace.jsonl": (12_031, 12_031, 0),
    "mooncake/traces__synthetic_trace.jsonl": (3_993, 3_993, 0),
    "azure/data__AzureLLMInferenceTrace_code.csv": (8_819, 8_819, 0),
    "azure/data__AzureLLMInferenceTrace_conv.csv": (19_366, 19_366, 0),
    "llmservingsim/workloads__sharegpt-llama-3.1-8b-300-sps10.jsonl": (300, 300, 0),
    "llmservingsim/workloads__example_trace.jsonl": (10, 10, 0),
}

# Questions, schemas and summaries: how many records of a file hold no model output.
NO_OUTPUT = {
    "bfcl/data__BFCL_v4_multi_turn_base.json": 200,
    "bfcl/data__BFCL_v4_parallel_multiple.json": 200,
    "bfcl/possible_answer__BFCL_v4_multi_turn_base.json": 200,
    "inferencex-bench": 8,
}


def read(name: str, log: ReadLog | None = None) -> list[Session]:
    return list(read_sessions([str(TRACES / name)], log or ReadLog()))


def blocks(sessions: list[Session]) -> Counter[type]:
    return Counter(type(block) for session in sessions for turn in session.turns for block in turn.final.output)


@pytest.mark.parametrize("name", STATED)
def test_stated_counts_are_found(name: str) -> None:
    sessions = read(name)
    found = (len(sessions), sum(len(session.turns) for session in sessions), blocks(sessions)[ToolCallBlock])
    for stated, count in zip(STATED[name], found, strict=True):
        assert stated in (None, count)


@pytest.mark.parametrize("name", NO_OUTPUT)
def test_what_holds_no_output_is_counted(name: str) -> None:
    log = ReadLog()
    with pytest.raises(TraceError, match="no usable session"):
        read(name, log)
    assert log.omitted.total() == NO_OUTPUT[name]


def test_mooncake_requests_add_up_to_the_stated_prompts() -> None:
    turns = [turn for session in read("mooncake/traces__conversation_trace.jsonl") for turn in session.turns]
    assert round(sum(turn.final.usage.input_tokens or 0 for turn in turns if turn.final.usage) / 1e6, 1) == 144.8


def test_the_kimi_session_has_its_stated_steps() -> None:
    (session,) = read("agent-sessions-fixtures/kimi__assistant_tools.jsonl")
    found = blocks([session])
    # A compaction is one more call beside the steps; its text is the summary that it makes.
    assert (found[ReasoningBlock], found[TextBlock], found[ToolCallBlock]) == (22, 6 + 1, 19)
    assert len(session.turns) == 22 + 1
    timed = [turn for turn in session.turns if turn.final.times and turn.final.times.first_token_s is not None]
    assert len(timed) == 22


def test_swe_agent_runs_have_the_stated_number_of_steps() -> None:
    assert {5, 21} <= {len(session.turns) for session in read("swe-agent")} <= set(range(5, 22))


def test_mini_swe_agent_lists_have_the_stated_length() -> None:
    for name, stated in (("github_issue", 22), ("local", 6)):
        (session,) = read(f"mini-swe-agent/test_data__{name}.traj.json")
        # Messages before the last reply, that reply, and what follows it, which no call has in its prompt.
        listed = json.loads((TRACES / f"mini-swe-agent/test_data__{name}.traj.json").read_text())
        after = next(back for back, message in enumerate(reversed(listed)) if message["role"] == "assistant")
        assert len(listed) == stated
        assert len(list(prompt_messages(session, session.turns[-1]))) + 1 + after == stated


def test_lmcache_calls_are_read_or_counted() -> None:
    log = ReadLog()
    turns = sum(len(session.turns) for session in read("lmcache-agent-trace", log))
    rows = sum(len(path.read_text().splitlines()) for path in sorted((TRACES / "lmcache-agent-trace").iterdir()))
    assert turns + log.omitted.total() == rows


def test_every_folder_is_read_or_says_why_not() -> None:
    """No file of any source is of an unknown format, and none fails but for records that are broken on purpose."""
    for folder in sorted(path for path in TRACES.iterdir() if path.is_dir()):
        log = ReadLog(skip_invalid=True)
        count = 0
        with contextlib.suppress(TraceError):
            count = sum(1 for _ in read_sessions([str(folder)], log))
        assert "file of no known format" not in log.omitted, folder.name
        files = sum(path.is_file() and path.stat().st_size > 0 for path in _below(folder))
        assert sum(log.formats.values()) == files, folder.name
        assert count or log.omitted, folder.name


def _below(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))
