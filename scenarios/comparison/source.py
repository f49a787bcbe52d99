"""Where the sides of a comparison come from: results as they are, scenarios replayed first."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scenarios.ask import Asked, Question, answer, question
from scenarios.options.replay import OptionError
from scenarios.recordings.loaded import Loaded, Reading, load
from scenarios.recordings.recording import Progress
from scenarios.report.subjects import Run, Runs, Tables, read_subject
from scenarios.runs.runtable import load_table, run_table
from scenarios.scenariofile.load import SUFFIXES, Scenario, load_scenario, shipped
from traces.errors import SimtoolError


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """How scenarios among the sides are replayed."""

    traces: Sequence[str] = ()
    """In place of a scenario's own recordings."""
    seed: int | None = None
    """None: that of the other side's result, else of A's scenario, so that both have the same draws."""
    progress: Progress | None = None


def read_sides(a: Run | str, b: Run | str, how: Replayed) -> tuple[Run, Run]:
    """The results of *a* and *b*: runs, folders and result files as they are, scenarios replayed as *how* says.

    Raises SimtoolError for what is neither, or without recordings; OptionError for options out of range.
    """
    given = [one if isinstance(one, Run) else _read(one) for one in (a, b)]
    if how.traces and not any(isinstance(one, Scenario) for one in given):
        raise OptionError("--trace is what scenarios are replayed on; both sides are results")
    seed = how.seed if how.seed is not None else _seed(given)
    known: dict[tuple[tuple[str, ...], Reading], Loaded] = {}
    first, second = (one if isinstance(one, Run) else _replayed(one, how, seed, known) for one in given)
    return first, second


def _read(given: str) -> Run | Scenario:
    """A scenario's file, the name of a shipped one unless a folder or file has it, or else a result."""
    scenario = Path(given).suffix in SUFFIXES or (not Path(given).exists() and given in shipped())
    return load_scenario(given) if scenario else read_run(given)


def read_run(path: str) -> Run:
    """The run in the folder or result file at *path*; ``-`` reads a result from standard input.

    Raises SimtoolError for what is no result of a replay.
    """
    if path != "-" and not Path(path).exists():
        near = difflib.get_close_matches(path, shipped(), n=1)
        mend = (
            f"did you mean {near[0]}?" if near else "give a folder of simtool replay -o, its --json file, or a scenario"
        )
        raise SimtoolError(f"{path}: no such file or folder, and no scenario shipped of this name ({mend})")
    subject = read_subject([path])
    if not isinstance(subject, Runs):
        raise SimtoolError(f"{path}: a check of the law cannot be compared (give results of simtool replay)")
    return subject.main


def run_of(asked: Asked, name: str) -> Run:
    """A replay that was just made, as if it had been read from a folder of this *name*."""
    measure, baseline = asked.measure, asked.baseline
    turns, before = (
        None if one is None else run_table(one, asked.workload, asked.platform, measure.cut)
        for one in (asked.replay, baseline)
    )
    assert turns is not None
    tables = Tables(turns=turns, baseline_turns=before, load=load_table(asked.replay))
    return Run(name=name, answer=asked.answer, tables=tables, details=None)


def _seed(given: Sequence[Run | Scenario]) -> int:
    for one in given:
        if isinstance(one, Run):
            return one.answer.seed
    first = given[0]
    assert isinstance(first, Scenario)
    return int(first.values.get("seed", 0))


def _replayed(
    scenario: Scenario, how: Replayed, seed: int, known: dict[tuple[tuple[str, ...], Reading], Loaded]
) -> Run:
    """*scenario* replayed; what was read for an equal reading is *known*."""
    over: dict[str, Any] = {"seed": seed}
    chosen = scenario.settings(**over)
    traces = tuple(how.traces or scenario.traces)
    if not traces:
        raise SimtoolError(f"{scenario.name}: the scenario names no recording (give --trace)")
    asked: Question = question(chosen.read, chosen.replay)
    key = (traces, asked.reading)
    if key not in known:
        known[key] = load(traces, asked.reading, progress=how.progress)
    return run_of(answer(asked, known[key]), scenario.name)
