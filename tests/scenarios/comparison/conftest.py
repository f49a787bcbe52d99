"""Replays of the sample that tests compare, each made once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import pytest

from scenarios.ask import Asked, ask
from scenarios.options.settings import settings
from scenarios.report.subjects import Run, Tables
from scenarios.runs.runtable import load_table, run_table
from tests.shared import AGENT_LOOP

MakeRun = Callable[..., Run]


@cache
def _asked(paths: tuple[str, ...], given: tuple[tuple[str, Any], ...]) -> Asked:
    chosen = settings({"gamma": 0, **dict(given)})
    return ask(paths, chosen.read, chosen.replay)


def asked_of(given: Mapping[str, Any], paths: tuple[str, ...] = (str(AGENT_LOOP),)) -> Asked:
    return _asked(paths, tuple(sorted(given.items())))


def run_of(given: Mapping[str, Any], paths: tuple[str, ...] = (str(AGENT_LOOP),)) -> Run:
    """The run as a reader of its folder has it."""
    asked = asked_of(given, paths)
    turns = run_table(asked.replay, asked.workload, asked.platform, asked.measure.cut)
    tables = Tables(turns=turns, baseline_turns=None, load=load_table(asked.replay))
    return Run(name="run", answer=asked.answer, tables=tables, details=None)


@pytest.fixture(scope="session")
def run() -> MakeRun:
    """A run of the sample without speculation, but for the options given by name."""
    return lambda **given: run_of(given)
