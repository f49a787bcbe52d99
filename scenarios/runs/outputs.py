"""Result files of a replay: summary.json, the tables of attempts and of load over time, and details for a report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scenarios.ask import Asked
from scenarios.jsonbytes import json_bytes
from scenarios.options.replay import OptionError
from scenarios.recordings.excerpt import ExcerptOutput
from scenarios.runs.rundetails import run_details
from scenarios.runs.runtable import load_table, run_table, write_run_table
from traces.atomic import whole_file, whole_set

SUMMARY = "summary.json"
TURNS = "turns.parquet"
BASELINE_TURNS = "baseline_turns.parquet"
LOAD = "load.parquet"
DETAILS = "details.json"
ALL_FILES = (TURNS, BASELINE_TURNS, LOAD, DETAILS, SUMMARY)
"""The summary last: it stands for a complete set."""


def check_output_dir(folder: Path, *, force: bool) -> None:
    """Raise OptionError if *folder* holds results already and *force* is not set."""
    held = [name for name in reversed(ALL_FILES) if (folder / name).exists()]
    if held and not force:
        raise OptionError(f"--output-dir {folder} already holds {held[0]}: add --force to overwrite it")


def write_outputs(asked: Asked, folder: Path, excerpt: Sequence[ExcerptOutput] = ()) -> None:
    """Write all result files into *folder*, all or none, in place of those of an earlier run.

    *excerpt* is text of the recording to keep for a report. Raises SimtoolError where the folder cannot be written to.
    """
    cut = asked.measure.cut
    with whole_set(folder, ALL_FILES) as partial:
        write_run_table(run_table(asked.replay, asked.workload, asked.platform, cut), partial / TURNS)
        write_run_table(load_table(asked.replay), partial / LOAD)
        if asked.baseline is not None:
            write_run_table(run_table(asked.baseline, asked.workload, asked.platform, cut), partial / BASELINE_TURNS)
        _write_json(run_details(asked, excerpt), partial / DETAILS)
        _write_json(asked.answer, partial / SUMMARY)


def _write_json(document: Any, path: Path) -> None:
    with whole_file(path) as partial:
        partial.write_bytes(json_bytes(document))
