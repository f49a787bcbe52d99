"""Which points a method gives, which of them are on the front, and which is compared with which."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios.options.replay import OptionError
from scenarios.sweep.axes import parse_axis
from scenarios.sweep.objectives import Objective
from scenarios.sweep.pareto import best, front
from scenarios.sweep.points import Point, grid_points, list_points, numbered, random_points
from scenarios.sweep.reference import Reference, with_reference
from scenarios.sweep.tornado import bars

AXES = [parse_axis("gamma=0,4"), parse_axis("max_concurrency=1..4*2")]
COST = Objective(key="cost", label="cost", unit="USD", higher_is_better=False)
SPEED = Objective(key="speed", label="speed", unit="1/s", higher_is_better=True)


def test_a_grid_has_every_combination() -> None:
    points = grid_points(AXES)
    assert [tuple(point.values.values()) for point in points] == [(0, 1), (0, 2), (0, 4), (4, 1), (4, 2), (4, 4)]
    assert [point.number for point in points] == list(range(6))
    assert points[4].name == "gamma 4, max_concurrency 2"


def test_a_grid_that_explodes_is_refused() -> None:
    axes = [parse_axis(f"{key}=1..1000:1") for key in ("max_concurrency", "max_num_seqs")]
    with pytest.raises(OptionError, match="1,000,000 points"):
        grid_points(axes)


def test_a_list_takes_the_nth_values_together() -> None:
    axes = [parse_axis("gamma=0,4,8"), parse_axis("max_concurrency=1..4*2")]
    assert [tuple(point.values.values()) for point in list_points(axes)] == [(0, 1), (4, 2), (8, 4)]
    with pytest.raises(OptionError, match="gamma has 2, max_concurrency has 3"):
        list_points(AXES)


def test_random_points_are_the_same_for_a_seed_and_others_for_another() -> None:
    axes = [parse_axis("rtt_ms=0..50"), parse_axis("max_concurrency=1..1000:log"), parse_axis("gpu=H200,L40S")]
    points = random_points(axes, 200, seed=3)
    assert points == random_points(axes, 200, seed=3)
    assert points != random_points(axes, 200, seed=4)
    assert len(points) == 200
    assert all(0 <= point.values["rtt_ms"] <= 50 for point in points)
    sizes = [point.values["max_concurrency"] for point in points]
    assert all(isinstance(size, int) and 1 <= size <= 1000 for size in sizes)
    # even in the logarithm: half of them lie below the geometric mean of the ends, give or take 4 deviations
    assert abs(sum(size < math.sqrt(1000) for size in sizes) - 100) < 4 * math.sqrt(200) / 2


def test_random_points_do_not_repeat() -> None:
    assert len(random_points([parse_axis("gamma=0,4")], 10, seed=0)) == 2


FIGURES = st.lists(
    st.one_of(
        st.none(),
        st.fixed_dictionaries(
            {"cost": st.one_of(st.none(), st.integers(0, 4)), "speed": st.one_of(st.none(), st.integers(0, 4))}
        ),
    ),
    max_size=12,
)


@given(figures=FIGURES)
def test_the_front_is_what_nothing_beats(figures: list[dict[str, float | None] | None]) -> None:
    def beats(a: dict[str, float | None], b: dict[str, float | None]) -> bool:
        pairs = [(a["cost"], b["cost"]), (b["speed"], a["speed"])]
        return all(x <= y for x, y in pairs if x is not None and y is not None) and a != b

    whole = [one for one in figures if one is not None and None not in one.values()]
    found = front(figures, [COST, SPEED])
    assert sorted(found) == [
        at
        for at, one in enumerate(figures)
        if one is not None and None not in one.values() and not any(beats(other, one) for other in whole)
    ]
    costs = [figures[at]["cost"] for at in found]  # type: ignore[index]
    assert costs == sorted(costs, key=lambda cost: float(cost or 0))


def test_the_best_goes_the_way_of_the_objective() -> None:
    figures = [{"cost": 3.0, "speed": 1.0}, None, {"cost": 2.0, "speed": None}, {"cost": 2.0, "speed": 5.0}]
    assert best(figures, COST) == 2
    assert best(figures, SPEED) == 3
    assert best([None], COST) is None


def test_the_reference_is_the_base_where_it_is_a_point_else_the_first() -> None:
    points = grid_points(AXES)
    assert Reference(points, {}, {}).home == 0
    assert Reference(points, {}, {"gamma": "4", "max_concurrency": 2}).home == 4
    assert Reference(points, {}, {"gamma": "4", "max_concurrency": 2}).of(points[4]) is None


def test_a_reference_in_part_goes_with_the_point() -> None:
    points = grid_points(AXES)
    reference = Reference(points, {"gamma": 0}, {})
    assert [reference.of(point) for point in points] == [None, None, None, 0, 1, 2]


def test_a_reference_in_full_is_added() -> None:
    points = with_reference(numbered([{"gamma": 4}]), {"gamma": 0})
    assert [(point.number, point.values["gamma"]) for point in points] == [(0, 0), (1, 4)]
    assert with_reference(points, {"gamma": 4}) == points
    with pytest.raises(OptionError, match="no point has it"):
        with_reference(grid_points(AXES), {"gamma": 8})


def test_bars_are_of_axes_that_vary_alone() -> None:
    points = [
        Point(number=0, values={"a": 2, "b": "x"}),
        Point(number=1, values={"a": 1, "b": "x"}),
        Point(number=2, values={"a": 3, "b": "x"}),
        Point(number=3, values={"a": 2, "b": "low"}),
        Point(number=4, values={"a": 2, "b": "high"}),
        Point(number=5, values={"a": 1, "b": "low"}),
    ]
    figures = [{"cost": value} for value in (10.0, 9.0, 12.0, 4.0, 11.0, 100.0)]
    found = bars(points, figures, 0, COST)
    assert [(bar.axis, bar.low_value, bar.high_value, bar.low, bar.high, bar.swing) for bar in found] == [
        ("b", "low", "high", 4.0, 11.0, 7.0),
        ("a", "1", "3", 9.0, 12.0, 3.0),
    ]
