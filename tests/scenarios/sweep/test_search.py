"""Search: the same points for a seed, better ones than chance, and what it is told of failures."""

from __future__ import annotations

from pathlib import Path

import pytest

from scenarios.options.settings import settings
from scenarios.sweep.axes import parse_axis
from scenarios.sweep.objectives import Objective
from scenarios.sweep.points import Method
from scenarios.sweep.search import BATCH, Search
from tests.scenarios.sweep.recordings import swept

pytest.importorskip("optuna", reason="the search extra is not installed")

AXES = [parse_axis("rtt_ms=0..50"), parse_axis("max_concurrency=1..1000:log"), parse_axis("gamma=0,4,8")]
COST = Objective(key="cost", label="", unit="", higher_is_better=False)
SPEED = Objective(key="speed", label="", unit="", higher_is_better=True)


def _searched(seed: int, samples: int, objectives: list[Objective]) -> list[tuple[float, int, int]]:
    """Points of a search in a bowl whose bottom is at rtt 20, concurrency 30 and gamma 4; gamma 0 fails."""
    search = Search(AXES, objectives, samples, seed)
    found = []
    while points := search.ask():
        rows = [(p.values["rtt_ms"], p.values["max_concurrency"], p.values["gamma"]) for p in points]
        found += rows
        search.tell([_bowl(*row) for row in rows])
    return found


def _bowl(rtt: float, size: int, gamma: int) -> dict[str, float | None] | None:
    cost = (rtt - 20) ** 2 + abs(size - 30) + 100 * (gamma != 4)
    return {"cost": cost, "speed": -cost} if gamma else None


def test_a_seed_gives_the_same_points_and_batches_bound_what_is_open() -> None:
    assert _searched(1, 30, [COST]) == _searched(1, 30, [COST])
    assert _searched(1, 30, [COST]) != _searched(2, 30, [COST])
    assert len(Search(AXES, [COST], 30, 0).ask()) == BATCH
    assert len(_searched(0, 3, [COST])) == 3


@pytest.mark.parametrize("objectives", [[COST], [SPEED], [COST, SPEED]])
def test_later_points_are_nearer_to_the_bottom(objectives: list[Objective]) -> None:
    found = _searched(5, 96, objectives)
    gaps = [abs(rtt - 20) for rtt, *_ in found]
    assert sum(gaps[-32:]) < 0.6 * sum(gaps[:32])
    assert sum(gamma == 0 for *_, gamma in found[-32:]) < sum(gamma == 0 for *_, gamma in found[:32])


def test_a_search_is_the_same_with_any_number_of_workers_and_goes_on(tmp_path: Path) -> None:
    asked = {"method": Method.SEARCH, "samples": BATCH + 3, "objectives": ("saving",), "reference": {"gamma": 0}}
    one = swept(tmp_path / "one", "gamma=0..16", jobs=1, **asked)
    swept(tmp_path / "two", "gamma=0..16", jobs=2, **asked)
    for path in sorted((tmp_path / "two" / "points").glob("*.json"))[::2]:
        path.unlink()
    swept(tmp_path / "two", "gamma=0..16", jobs=2, **asked)
    results = [(tmp_path / name / "results.parquet").read_bytes() for name in ("one", "two")]
    assert results[0] == results[1]
    assert one.points[0].values == {"gamma": 0}
    assert len(one.points) == BATCH + 4
    for point in one.points:
        settings(point.values)
