"""Each kind of part that is found in its package: one file put there is known everywhere."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.shared import AGENT_LOOP

_RUN = "import importlib, sys; importlib.import_module({package!r}).__path__.append({folder!r}); {call}"
_MAIN = "from simtool.main import main; main()"

DRAFTER = """
from dataclasses import dataclass
from scenarios.drafters.base import Drafter
from scenarios.options.option import Section, option


@dataclass(frozen=True, slots=True, kw_only=True)
class EchoOptions:
    echo_distance: int = option(7, "echo: tokens back.", Section.SPECULATION, least=1)


def _run(store, options, gammas):
    import numpy as np
    from simulator.acceptance.tokens import copied_from, end_to_end

    found = []
    for tokens in store:
        here = tokens.output_index
        back = here - options.echo_distance
        start = tokens.offsets[tokens.text[here]]
        found.append(copied_from(tokens, np.where(back >= start, back, -1), max(gammas)))
    return {max(gammas): end_to_end(found)}


DRAFTER = Drafter(name="echo", options=EchoOptions, run=_run, cuts=True)
"""
ROUTER = """
class Last:
    def __init__(self, count):
        self.count = count

    def choose(self, request):
        return self.count - 1

    def finished(self, request, index):
        pass


def make(replicas, session_of):
    return Last(len(replicas))
"""
METRIC = """
from scenarios.runs.metric import Metric

METRIC = Metric(
    name="shortest_output_tokens", label="shortest output", unit="tokens", lower_is_better=False,
    definition="Output tokens of the shortest measured request.",
    of=lambda replay, workload, measured: float(replay.output_tokens[measured.attempts].min()),
)
"""
READER = """
class Marked:
    name, title = "marked", "a test's own"

    def sniff(self, file, head):
        return 0.99 if head.startswith(b'{"marked"') else 0.0

    def read(self, files, log):
        yield from ()


READER = Marked()
"""
EXECUTOR = """
from scenarios.sweep.executors.local import make
"""
PLOT = """
import altair as alt
from scenarios.report.plot import Column, Drawing, Panel, Plot, Table
from scenarios.report.subjects import Runs


def _draw(runs):
    row = {"x": 1, "y": runs.main.answer.replay.n_steps}
    chart = alt.Chart(alt.Data(values=[row])).mark_bar().encode(x="x:O", y="y:Q")
    table = Table((Column("x", "x"), Column("y", "steps")), [(1, row["y"])])
    return Drawing(panels=(Panel(chart),), finding="Steps it took.", table=table)


PLOT = Plot(
    name="step-bar", subject=Runs, section="Load", order=99, title="A bar of steps", definition="Steps.", draw=_draw
)
"""


def with_file(folder: Path, package: str, name: str, text: str, *args: str, call: str = _MAIN) -> str:
    """Standard output of a command that finds *text* as module *name* of *package*."""
    (folder / f"{name}.py").write_text(text)
    code = _RUN.format(package=package, folder=str(folder), call=call)
    ran = subprocess.run(  # noqa: S603  our own command
        [sys.executable, "-c", code, *args], capture_output=True, text=True, check=False, env={"COLUMNS": "200"}
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.fixture
def recording() -> str:
    return str(AGENT_LOOP)


def test_a_drafter(tmp_path: Path, recording: str) -> None:
    echo = (tmp_path, "scenarios.drafters", "echo", DRAFTER)
    told = with_file(*echo, "replay", "--help")
    assert "medusa, echo, ngram" in told
    assert "--echo-distance" in told
    args = ("replay", recording, "--gamma", "4", "--speculative-method", "echo", "--json", "-")
    found = [json.loads(with_file(*echo, *args, *more)) for more in ((), ("--echo-distance", "3"))]
    assert [one["config"]["speculative_method"]["value"] for one in found] == ["echo", "echo"]
    assert [one["config"]["echo_distance"]["value"] for one in found] == [7, 3]
    accepted = [one["replay"]["speculation"]["num_accepted_tokens"] for one in found]
    assert accepted[0] != accepted[1]


def test_a_router(tmp_path: Path, recording: str) -> None:
    last = (tmp_path, "simulator.routers", "to_last", ROUTER)
    assert "session-affinity, to-last; default: least-loaded" in with_file(*last, "replay", "--help")
    args = ("replay", recording, "--gamma", "0", "--replicas", "3", "--router", "to-last", "--json", "-")
    found = json.loads(with_file(*last, *args))
    assert [row["requests"] for row in found["replay"]["replicas"]] == [0, 0, found["trace"]["attempts"]]


def test_a_metric(tmp_path: Path, recording: str) -> None:
    shortest = (tmp_path, "scenarios.runs.metrics", "shortest", METRIC)
    folder = tmp_path / "run"
    args = ("--gamma", "0", "--json", str(tmp_path / "a.json"), "-o", str(folder))
    assert "shortest output, tokens" in with_file(*shortest, "replay", recording, *args)
    value = json.loads((tmp_path / "a.json").read_text())["replay"]["metrics"]["shortest_output_tokens"]
    assert value >= 1
    with_file(*shortest, "report", str(folder), "-o", str(tmp_path / "page.html"))
    assert "Output tokens of the shortest measured request." in (tmp_path / "page.html").read_text()
    compared = with_file(*shortest, "compare", str(folder), str(folder), "--json", "-")
    rows = {row["key"]: row for row in json.loads(compared)["metrics"]}
    assert rows["shortest_output_tokens"]["a"] == value
    swept = ("sweep", recording, "--axis", "gamma=0", "--objective", "shortest_output_tokens", "--no-progress")
    assert "shortest output" in with_file(*shortest, *swept, "-o", str(tmp_path / "swept"))


def test_a_recording_format(tmp_path: Path) -> None:
    call = "from traces.registry import readers; print(*readers())"
    names = with_file(tmp_path, "traces.readers", "marked", READER, call=call).split()
    assert "marked" in names
    assert names == sorted(names)


def test_a_plot(tmp_path: Path, recording: str) -> None:
    bar = (tmp_path, "scenarios.report.plots", "step_bar", PLOT)
    with_file(*bar, "replay", recording, "--gamma", "0", "-o", str(tmp_path / "run"))
    with_file(*bar, "report", str(tmp_path / "run"), "-o", str(tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text()
    assert 'id="step-bar"' in page
    assert "Steps it took." in page


def test_an_executor(tmp_path: Path, recording: str) -> None:
    other = (tmp_path, "scenarios.sweep.executors", "other", EXECUTOR)
    args = ("sweep", recording, "--axis", "gamma=0", "--executor", "other", "-o", str(tmp_path / "swept"))
    assert "1 runs" in with_file(*other, *args, "--no-progress")
