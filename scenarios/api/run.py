"""A replay asked for in Python: its answer, its tables, its files."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from scenarios.answer import Answer, ClassRow, ComparisonRow, GammaPoint, Verdict
from scenarios.api.counting import Wanted, counting
from scenarios.api.frames import frame
from scenarios.api.given import Traces, resolve
from scenarios.ask import Asked, ask
from scenarios.figures import percent
from scenarios.jsonbytes import json_bytes
from scenarios.recordings.excerpt import ExcerptOutput, ExcerptPicker
from scenarios.runs.outputs import check_output_dir, write_outputs
from scenarios.runs.runtable import load_table, run_table


@dataclass(frozen=True)
class Run:
    """A replay with its answer. Tables are as docs/metrics.md defines their columns; times in seconds."""

    asked: Asked
    """Workload, platform and replays behind the answer."""
    excerpt: tuple[ExcerptOutput, ...] = ()
    """Labelled text kept for a report."""

    @property
    def answer(self) -> Answer:
        """The whole result, as ``simtool schema result`` describes it."""
        return self.asked.answer

    @property
    def verdict(self) -> Verdict | None:
        """Does speculation pay? None at gamma 0."""
        return self.answer.verdict

    @cached_property
    def turns_arrow(self) -> pa.Table:
        """One row an attempt: turns.parquet."""
        return run_table(self.asked.replay, self.asked.workload, self.asked.platform, self.asked.measure.cut)

    @cached_property
    def baseline_turns_arrow(self) -> pa.Table | None:
        """The same of the replay without speculation; None at gamma 0."""
        if self.asked.baseline is None:
            return None
        return run_table(self.asked.baseline, self.asked.workload, self.asked.platform, self.asked.measure.cut)

    @cached_property
    def load_arrow(self) -> pa.Table:
        """Load over time, a row whenever a batch may have changed: load.parquet."""
        return load_table(self.asked.replay)

    @cached_property
    def turns(self) -> pd.DataFrame:
        """One row an attempt."""
        return self.turns_arrow.to_pandas()

    @cached_property
    def baseline_turns(self) -> pd.DataFrame | None:
        """One row an attempt of the replay without speculation, in the order of `turns`; None at gamma 0."""
        return None if self.baseline_turns_arrow is None else self.baseline_turns_arrow.to_pandas()

    @cached_property
    def load(self) -> pd.DataFrame:
        """Load over time."""
        return self.load_arrow.to_pandas()

    @property
    def classes(self) -> pd.DataFrame:
        """One row a token class, or sub-class of S: law, exact, sampled, cost."""
        return frame(self.answer.classes, ClassRow)

    @property
    def gamma_curve(self) -> pd.DataFrame:
        """One row a draft depth."""
        return frame(self.answer.gamma_curve, GammaPoint)

    @property
    def comparison(self) -> pd.DataFrame:
        """Law, exact expectation, sample and measurement, a row a quantity, with why they part."""
        return frame(self.answer.comparison, ComparisonRow)

    def save(self, folder: str | Path, *, force: bool = False) -> Path:
        """Write the files of ``simtool replay -o`` into *folder* and return it.

        Raises OptionError if it holds results already and *force* is not set.
        """
        folder = Path(folder)
        check_output_dir(folder, force=force)
        write_outputs(self.asked, folder, self.excerpt)
        return folder

    def to_json(self) -> str:
        """The answer as ``simtool replay --json -`` prints it, to the byte."""
        return json_bytes(self.answer).decode()

    def __repr__(self) -> str:
        verdict = self.verdict
        if verdict is None:
            return "<Run: gamma 0, without speculation>"
        saving = verdict.net_saving
        low, high = percent(saving.low, sign=True), percent(saving.high, sign=True)
        return f"<Run: gamma {verdict.gamma}, net saving {percent(saving.value, sign=True)} ({low} to {high})>"


def replay(
    traces: Traces | None = None,
    *,
    scenario: str | Path | None = None,
    progress: Wanted = False,
    excerpt: bool = True,
    **options: Any,
) -> Run:
    """Replay recordings with and without speculation, as ``simtool replay`` does.

    Args:
        traces: Files or folders; None: those that *scenario* names.
        scenario: A scenario file, or a shipped scenario's name; *options* go before what it says.
        progress: True for a bar, or a function of the number of sessions read.
        excerpt: Keep labelled text of a few outputs for the report of a saved run.
        options: By the keys of scenario files: ``gamma=8``, ``gamma={"S": 16, "R": 4, "F": 0}``, ``gpu="H200"``,
            ``goodput=["ttft:500"]``.

    Raises:
        OptionError: an unknown option (with the nearest one), or a value that cannot be used.
        TraceError, SimtoolError: a recording or scenario that cannot be used.
    """
    given = resolve(traces, scenario, options)
    chosen = given.settings
    picker = ExcerptPicker()
    with counting(progress, "sessions read") as count:
        look = picker.observer if excerpt else None
        asked = ask(given.traces, chosen.read, chosen.replay, progress=count, look=look)
    return Run(asked, tuple(picker.outputs))
