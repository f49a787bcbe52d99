"""simtool tag on a recorded benchmark whose counts were published."""

from __future__ import annotations

import re

import pytest

from scenarios.options.read import ReadOptions
from scenarios.tags.tagging import tag_recording
from tests.shared import TRACES
from tests.simtool.run import simtool

AIRLINE = str(TRACES / "tau-bench" / "historical_trajectories__gpt-4o-airline.json")


def test_published_counts() -> None:
    """A trial counted 168,033 tokens in 2,454 replies, 34.5 % of them in 1,164 calls, without ends of turn."""
    report = tag_recording([AIRLINE], ReadOptions())
    outputs = report.outputs
    assert (outputs.sessions, outputs.turns) == (200, 2454)
    assert outputs.output_tokens - outputs.turns == 168_033
    assert outputs.w_R == 0
    assert sum(row.calls for row in report.tools) == 1164
    replies_with_calls = outputs.span_tokens["S"].count
    in_calls = outputs.class_tokens["S"] - replies_with_calls
    assert round(100 * in_calls / 168_033, 1) == 34.5
    assert outputs.forced_share_of_S is None


def test_headline(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    ran = simtool(capsys, monkeypatch, "tag", AIRLINE, "--quiet")
    assert ran.code == 0
    assert re.match(r"S 34\.7 %, R 0\.0 %, F 65\.3 % of 170,487 output tokens; mean spans S \d+, F \d+ tokens", ran.out)
