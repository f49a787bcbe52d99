"""Runs shared by the tests of reports, each made once."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

pytest.importorskip("altair", reason="needs simtool[report]")
pytest.importorskip("vl_convert", reason="needs simtool[report]")

from scenarios.ask import Asked
from scenarios.law.lawcheck import LawCheck
from tests.scenarios.report.runs import hostile_recording, make_check, make_run


class Made(NamedTuple):
    folder: Path
    asked: Asked


class Checked(NamedTuple):
    path: Path
    check: LawCheck


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """The sample at gamma 8, with warm-up cut and an objective."""
    folder = tmp_path_factory.mktemp("runs") / "sample"
    return Made(folder, make_run(folder, gamma="8", num_warmups=5, goodput=["ttft:500", "tpot:50"]))


@pytest.fixture(scope="session")
def steep(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """The sample at a mismatch under which speculation pays in schema only."""
    folder = tmp_path_factory.mktemp("runs") / "steep"
    return Made(folder, make_run(folder, gamma="4", eps="S=0.05,R=0.9,F=0.9", max_concurrency=2))


@pytest.fixture(scope="session")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """The sample without speculation."""
    folder = tmp_path_factory.mktemp("runs") / "plain"
    return Made(folder, make_run(folder, gamma="0"))


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """The sample with a drafter that runs on the recorded tokens."""
    folder = tmp_path_factory.mktemp("runs") / "measured"
    return Made(folder, make_run(folder, gamma="8", speculative_method="ngram"))


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A recording that tries to break out of the page."""
    folder = tmp_path_factory.mktemp("runs")
    recording = hostile_recording(folder / "hostile.jsonl")
    return Made(folder / "<b>run&", make_run(folder / "<b>run&", str(recording), gamma="4"))


@pytest.fixture(scope="session")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Checked:
    """The law held against the sample."""
    path = tmp_path_factory.mktemp("checks") / "law.json"
    return Checked(path, make_check(path))
