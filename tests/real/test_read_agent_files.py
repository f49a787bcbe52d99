"""Agent recordings of the shared material: files, sessions, turns and tool calls of each folder.

Tool calls are those of the attempts that count. Where a counter over the raw JSON exists, turns and calls are
checked against it file by file; the folders' totals below follow from them and from the notes beside them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.real import raw_counts
from tests.shared import TRACES
from traces.errors import TraceError
from traces.model import MessagePrompt, Session, ToolCallBlock, prompt_messages
from traces.readlog import ReadLog
from traces.registry import read_sessions, sniff
from traces.source import find_files

_FOLDERS = {
    "agent-sessions-fixtures": (60, 36, 99, 58),
    "agentsview": (7, 6, 8, 6),
    "gemini-cli": (10, 10, 51, 34),
    "swe-agent": (7, 7, 85, 29),
    "mini-swe-agent": (2, 2, 12, 0),
    "openhands": (6, 8, 142, 115),
    "toolbench": (6, 6, 92, 89),
    "inspect-ai": (13, 37, 46, 9),
    "openai-agents": (12, 4, 5, 5),
    "lmcache-agent-trace": (8, 8, 140, 0),
    "harmony": (23, 7, 8, 0),
}

_COUNTERS: tuple[tuple[str, str, Callable[[Path], tuple[int, int]]], ...] = (
    ("swe-agent", "*.traj", raw_counts.swe_agent),
    ("mini-swe-agent", "*.json", raw_counts.mini_swe_agent),
    ("openhands", "*put.jsonl", raw_counts.openhands),
    ("openhands", "trajs__*.json", raw_counts.openhands),
    ("toolbench", "*.json", raw_counts.toolbench),
    ("inspect-ai", "*.json", raw_counts.inspect_ai),
    ("inspect-ai", "*.eval", raw_counts.inspect_ai),
    ("lmcache-agent-trace", "*.jsonl", raw_counts.lmcache),
    ("gemini-cli", "*.responses", raw_counts.gemini_responses),
    ("agent-sessions-fixtures", "kimi__assistant_tools.jsonl", raw_counts.kimi),
    ("agent-sessions-fixtures", "*ursor__*.jsonl", raw_counts.cursor),
    ("agent-sessions-fixtures", "copilot__*.jsonl", raw_counts.copilot),
    ("agent-sessions-fixtures", "aaaabbbb*.jsonl", raw_counts.copilot),
    ("agent-sessions-fixtures", "pi__*.jsonl", raw_counts.pi),
    ("agent-sessions-fixtures", "openclaw__*.jsonl", raw_counts.pi),
    ("agent-sessions-fixtures", "gemini__*.json*", raw_counts.gemini_chat),
    ("agentsview", "gemini__*_*s*ion.json", raw_counts.gemini_chat),
    ("agentsview", "gemini__tool_calls.json", raw_counts.gemini_chat),
)


def _calls(session: Session) -> int:
    return sum(isinstance(block, ToolCallBlock) for turn in session.turns for block in turn.final.output)


def _sessions(path: Path) -> list[Session]:
    return list(read_sessions([str(path)], ReadLog()))


@pytest.mark.parametrize("folder", sorted(_FOLDERS))
def test_folders(folder: str) -> None:
    files = find_files([str(TRACES / folder)])
    recognised = [sniff(file) for file in files]
    sessions = _sessions(TRACES / folder)
    turns = sum(len(session.turns) for session in sessions)
    calls = sum(_calls(session) for session in sessions)
    assert (len(recognised), len(sessions), turns, calls) == _FOLDERS[folder]


@pytest.mark.parametrize(("folder", "pattern", "counter"), _COUNTERS)
def test_files_against_their_raw_json(folder: str, pattern: str, counter: Callable[[Path], tuple[int, int]]) -> None:
    paths = sorted((TRACES / folder).glob(pattern))
    assert paths
    for path in paths:
        sessions = _sessions(path)
        found = (sum(len(session.turns) for session in sessions), sum(_calls(session) for session in sessions))
        assert found == counter(path), path.name


@pytest.mark.parametrize("folder", sorted(_FOLDERS))
def test_sessions_are_sound(folder: str) -> None:
    for session in _sessions(TRACES / folder):
        known: set[str] = set()
        for turn in session.turns:
            assert turn.parent is None or turn.parent in known
            known.add(turn.id)
            if isinstance(turn.prompt, MessagePrompt):
                assert all(0 <= start < end <= len(session.messages) for start, end in turn.prompt.ranges)
                assert all(message.blocks for message in prompt_messages(session, turn))
            for attempt in turn.attempts:
                usage = attempt.usage
                if usage is not None and usage.input_tokens is not None:
                    assert (usage.cached_tokens or 0) + (usage.cache_write_tokens or 0) <= usage.input_tokens
                if usage is not None and usage.output_tokens is not None:
                    assert (usage.reasoning_tokens or 0) <= usage.output_tokens


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("openhands/examples__example_model_output.json", "patches only"),
        ("bfcl/multi_turn_func_doc__travel_booking.json", "tool schema"),
        ("bfcl/possible_answer__BFCL_v4_parallel_multiple.json", "accepted answer"),
        ("bfcl/data__BFCL_v4_live_simple.json", "question without a result"),
        ("agent-sessions-fixtures/grok__summary.json", "Grok session summary"),
        ("agent-sessions-fixtures/kimi__state.json", "Kimi session state"),
        ("agent-sessions-fixtures/subagents__agent-a0ad4f44468bdf20d.meta.json", "sub-agent description"),
        ("agent-sessions-fixtures/Transcripts__review_payload.json", "code review verdict"),
        ("agent-sessions-fixtures/Fixtures__codex_051_usage.jsonl", "usage total"),
        ("agent-sessions-fixtures/kimi__small.jsonl", "step without a reply"),
        ("agent-sessions-fixtures/part__prt_0002.json", "part whose message"),
        ("agentsview/gemini__system_messages.json", "message to the person"),
        ("openai-agents/features__v1_8_prompt_cache_key.json", "without a model reply"),
        ("harmony/test-data__test_no_tools.txt", "prompt without a completion"),
    ],
)
def test_files_without_model_output_say_so(name: str, reason: str) -> None:
    with pytest.raises(TraceError, match=reason):
        _sessions(TRACES / name)


def test_a_folder_of_questions_counts_what_it_leaves_out() -> None:
    log = ReadLog()
    with pytest.raises(TraceError, match="no usable session"):
        list(read_sessions([str(TRACES / "bfcl")], log))
    paths = sorted((TRACES / "bfcl").glob("*.json"))
    assert sum(log.omitted.values()) == sum(len(raw_counts.json_rows(path)) for path in paths)


def test_kimi_usage_adds_up_to_the_recorded_sums() -> None:
    path = TRACES / "agent-sessions-fixtures" / "kimi__assistant_tools.jsonl"
    recorded = [row["usage"] for row in raw_counts.json_rows(path) if row["type"] == "usage.record"]
    (session,) = _sessions(path)
    usages = [turn.final.usage for turn in session.turns]
    assert len(recorded) == len(usages) == 23
    assert sum(usage.output_tokens or 0 for usage in usages if usage) == sum(row["output"] for row in recorded)
    given = sum(row["inputOther"] + row["inputCacheRead"] + row["inputCacheCreation"] for row in recorded)
    assert sum(usage.input_tokens or 0 for usage in usages if usage) == given


def test_openhands_usage_adds_up_to_the_run_s_own_total() -> None:
    path = TRACES / "openhands" / "examples__output.jsonl"
    totals = [row["metrics"]["accumulated_token_usage"] for row in raw_counts.json_rows(path)]
    for session, total in zip(_sessions(path), totals, strict=True):
        usages = [turn.final.usage for turn in session.turns]
        assert sum(usage.input_tokens or 0 for usage in usages if usage) == total["prompt_tokens"]
        assert sum(usage.output_tokens or 0 for usage in usages if usage) == total["completion_tokens"]


def test_swe_agent_tool_times_add_up() -> None:
    for path in (TRACES / "swe-agent").glob("replay*.traj"):
        spent = sum(step["execution_time"] for step in raw_counts.json_value(path)["trajectory"])
        (session,) = _sessions(path)
        waits = [wait.duration_s for turn in session.turns for wait in turn.tool_waits]
        assert sum(wait or 0.0 for wait in waits) == pytest.approx(spent)


def test_lmcache_prompts_come_back_whole() -> None:
    for path in sorted((TRACES / "lmcache-agent-trace").glob("miniswe*.jsonl")):
        rows = sorted(raw_counts.json_rows(path), key=lambda row: row["timestamp"])
        (session,) = _sessions(path)
        for turn, row in zip(session.turns, rows, strict=True):
            blocks = [block for message in prompt_messages(session, turn) for block in message.blocks]
            assert "".join(getattr(block, "text", "") for block in blocks) == row["input"]
