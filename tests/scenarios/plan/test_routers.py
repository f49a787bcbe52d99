"""Routers as an axis of a plan."""

from __future__ import annotations

import pytest

from scenarios.options.replay import OptionError
from scenarios.plan.axes import ROUTERS
from scenarios.plan.document import ANY
from simulator.router import router_names
from tests.scenarios.plan.conftest import LOOSE, Planned

ALL = {"router": ",".join(router_names())}


def test_the_routers_by_default_are_policies() -> None:
    named = ROUTERS.split(",")
    assert set(named) == set(router_names()) - {"round-robin"}


def test_one_row_a_router_and_the_best_one_first(planned: Planned) -> None:
    target = "ttft:p95:1000"
    result = planned(target, tasks_per_s=2.5, axes=ALL, max_requests=1500)
    assert {row.router for row in result.rows} == set(router_names())
    counts = {row.router: row.sized.replicas for row in result.rows if row.sized}
    assert list(counts.values()) == sorted(counts.values())
    assert counts["least-loaded"] <= counts["round-robin"]  # joining the shortest queue never waits longer
    alone = planned(target, tasks_per_s=2.5, axes={"router": "round-robin"}, max_requests=1500).rows[0].sized
    assert alone is not None
    assert alone.replicas == counts["round-robin"]


def test_a_single_replica_has_no_router(planned: Planned) -> None:
    result = planned(LOOSE, tasks_per_s=0.4, axes=ALL, max_requests=1000)
    assert [(row.name, row.router) for row in result.rows] == [("H200 tp1 gamma 0", ANY)]
    capacity = planned(LOOSE, gpus_available=1, axes=ALL, max_requests=1000).capacity
    assert [row.name for row in capacity] == ["H200 tp1 gamma 0"]


def test_growth_names_each_kind_once(planned: Planned) -> None:
    axes = {"gpu": "H200,H100-SXM", **ALL}
    result = planned(LOOSE, tasks_per_s=1.5, growth=2.0, axes=axes, max_requests=1000)
    assert len(result.growth) == 2
    assert {one.name.split()[0] for one in result.growth} == {"H200", "H100-SXM"}


def test_an_unknown_router_is_named_with_all_others(planned: Planned) -> None:
    with pytest.raises(OptionError, match="--routers 'random': give some of least-loaded, prefix-aware, round-robin"):
        planned(LOOSE, tasks_per_s=1.0, axes={"router": "random"})
