"""Real recordings without their text."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from tests.scenarios.anonymized import anonymize, assert_replays_the_same, assert_says_nothing
from tests.shared import TRACES
from traces.readlog import ReadLog
from traces.registry import read_sessions
from traces.store import write_trace

SOURCES = {
    "customer service, calls and prose": "tau-bench/historical_trajectories__gpt-4o-airline.json",
    "coding with a hidden prompt head": "claude-code",
    "command line with reasoning": "agent-sessions-fixtures",
    "runs with sub-agents and times": "openhands",
    "agents with shared system prompts": "tau2-bench",
    "lengths and blocks only": "mooncake",
}
SAY_NOTHING = {"mooncake"}
"""Sources that hold no text that an anonymized trace could repeat."""


@pytest.mark.parametrize("name", SOURCES)
def test_real_recordings_say_nothing_and_replay_the_same(name: str, tmp_path: Path) -> None:
    source, target = tmp_path / "source.jsonl", tmp_path / "anonymized.jsonl"
    sessions = read_sessions([str(TRACES / SOURCES[name])], ReadLog(skip_invalid=True))
    write_trace(islice(sessions, 25), source, ReadLog())
    anonymize(source, target)
    if SOURCES[name] not in SAY_NOTHING:
        assert_says_nothing(source, target)
    assert_replays_the_same(source, target)
