"""Result files of a replay: summary.json and the tables of attempts and of load over time."""

from __future__ import annotations

from pathlib import Path

import msgspec

from scenarios.ask import Asked
from scenarios.options import OptionError
from scenarios.runtable import load_table, run_table, write_run_table
from traces.atomic import whole_file
from traces.errors import SimtoolError

SUMMARY = "summary.json"
TURNS = "turns.parquet"
BASELINE_TURNS = "baseline_turns.parquet"
LOAD = "load.parquet"


def check_output_dir(folder: Path, *, force: bool) -> None:
    """Raise OptionError if *folder* holds results already and *force* is not set."""
    held = [name for name in (SUMMARY, TURNS, BASELINE_TURNS, LOAD) if (folder / name).exists()]
    if held and not force:
        raise OptionError(f"--output-dir {folder} already holds {held[0]}: add --force to overwrite it")


def write_outputs(asked: Asked, folder: Path) -> None:
    """Write all result files into *folder*, the summary last, so that it stands for a complete set."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SimtoolError(f"cannot make --output-dir {folder}: {error.strerror or error}") from error
    write_run_table(run_table(asked.replay, asked.workload, asked.platform), folder / TURNS)
    write_run_table(load_table(asked.replay), folder / LOAD)
    if asked.baseline is not None:
        write_run_table(run_table(asked.baseline, asked.workload, asked.platform), folder / BASELINE_TURNS)
    with whole_file(folder / SUMMARY) as partial:
        partial.write_bytes(msgspec.json.format(msgspec.json.encode(asked.answer), indent=2) + b"\n")
