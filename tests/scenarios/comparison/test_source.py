"""Scenarios as sides of a comparison."""

from __future__ import annotations

import pytest

from scenarios import api
from scenarios.comparison.source import Replayed, read_run, read_sides
from scenarios.options.replay import OptionError
from scenarios.runs.outputs import write_outputs
from tests.scenarios.comparison.conftest import asked_of
from tests.shared import AGENT_LOOP
from tests.simtool.run import simtool
from traces.errors import SimtoolError


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Two scenarios of the sample, and the folder of the first one's replay."""
    folder = tmp_path_factory.mktemp("sides")
    for name, text in {
        "plain": f"[trace]\nfiles = '{AGENT_LOOP}'\n[speculation]\ngamma = 0\n",
        "deep": "extends = 'plain.toml'\n[speculation]\ngamma = 4\n[run]\nseed = 5\n",
        "empty": "[speculation]\ngamma = 2\n",
    }.items():
        (folder / f"{name}.toml").write_text(text)
    write_outputs(asked_of({}), folder / "run")
    found = {one.stem: str(one) for one in folder.glob("*.toml")}
    return {**found, "run": str(folder / "run")}


def test_a_scenario_is_compared_as_its_result_would_be(files: dict[str, str]) -> None:
    replayed, stored = read_sides(files["plain"], files["run"], Replayed())
    assert replayed.answer == stored.answer
    assert replayed.tables is not None
    assert stored.tables is not None
    assert replayed.tables.turns.equals(stored.tables.turns)


@pytest.mark.parametrize(
    ("sides", "given", "seed"),
    [
        (("plain", "deep"), None, 0),
        (("deep", "plain"), None, 5),
        (("deep", "run"), None, 0),
        (("deep", "plain"), 3, 3),
    ],
)
def test_both_sides_have_one_seed(files: dict[str, str], sides: tuple[str, str], given: int | None, seed: int) -> None:
    a, b = read_sides(files[sides[0]], files[sides[1]], Replayed(seed=given))
    assert {a.answer.seed, b.answer.seed} == {seed}


def test_recordings_may_be_given_and_must_be_known(files: dict[str, str]) -> None:
    a, b = read_sides(files["empty"], files["plain"], Replayed(traces=[str(AGENT_LOOP)]))
    assert a.answer.trace == b.answer.trace
    with pytest.raises(SimtoolError, match=r"names no recording \(give --trace\)"):
        read_sides(files["empty"], files["plain"], Replayed())
    with pytest.raises(OptionError, match="both sides are results"):
        read_sides(files["run"], files["run"], Replayed(traces=["x"]))


def test_a_name_that_is_nothing_has_a_nearest_one() -> None:
    with pytest.raises(SimtoolError, match="did you mean arm-a"):
        read_run("arm-aa")


def test_the_command_and_python_agree(
    files: dict[str, str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIMTOOL_GOODPUT", "ttft:1")
    sides = (files["plain"], files["deep"])
    ran = simtool(capsys, monkeypatch, "compare", *sides, "--json", "-")
    assert ran.code == 0, ran.err
    assert ran.out == api.compare(*sides, goodput=["ttft:1"]).to_json()
    failed = simtool(capsys, monkeypatch, "compare", *sides, "--fail-on-slo", "-q")
    assert failed.code == 4
