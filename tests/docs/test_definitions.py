"""docs/metrics.md names every figure of a result, docs/adding.md only files that exist."""

from __future__ import annotations

import re

import msgspec
import pytest

from scenarios.runs.runparts import EnergyUse, Goodput, ReplicaRow, SloRow
from scenarios.runs.runsummary import Cost, RunSummary, Speculation
from scenarios.runs.runtable import run_table
from tests.docs.pages import ROOT
from tests.scenarios.comparison.conftest import asked_of

METRICS = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
NAMED = set(re.findall(r"`([A-Za-z0-9_]+)`", METRICS))
PARTS = {"speculation", "cost", "energy", "goodput", "replicas"}
"""Fields that hold a part, whose own fields are named."""
ADDING = (ROOT / "docs" / "adding.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", [RunSummary, Speculation, Cost, EnergyUse, Goodput, SloRow, ReplicaRow])
def test_every_figure_is_defined(kind: type[msgspec.Struct]) -> None:
    assert set(kind.__struct_fields__) - NAMED == set()


def test_parts_are_named_as_such() -> None:
    assert set(RunSummary.__struct_fields__) >= PARTS
    for part in PARTS - {"replicas"}:
        assert f"The part `{part}`" in METRICS


def test_every_column_of_the_table_is_named() -> None:
    asked = asked_of({"gamma": 4})
    columns = set(run_table(asked.replay, asked.workload, asked.platform).column_names)
    by_class = {name for name in columns if re.search(r"_[RF]_", name)}
    assert {name.replace("_R_", "_S_").replace("_F_", "_S_") for name in by_class} <= NAMED
    assert columns - by_class - NAMED == set()


def test_files_named_for_additions_exist() -> None:
    paths = re.findall(r"`((?:traces|tokenclass|simulator|scenarios|simtool|tests|docs)/[^`]*)`", ADDING)
    assert len(paths) > 30
    for path in paths:
        found = list(ROOT.glob(path.replace("NAME", "*")))
        assert found, path


def test_names_in_code_exist() -> None:
    code = "".join(
        path.read_text(encoding="utf-8")
        for package in ("traces", "tokenclass", "simulator", "scenarios", "simtool")
        for path in (ROOT / package).rglob("*.py")
    )
    for name in re.findall(r"`([A-Z_]{4,}|[A-Z][a-zA-Z]+[a-z]|[a-z]+_[a-z_]+)`", ADDING):
        assert re.search(rf"\b{name}\b", code), name
