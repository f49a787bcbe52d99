"""Plans against queueing theory, and against each other."""

from __future__ import annotations

import math

import msgspec
import pytest

from scenarios.options.replay import OptionError
from scenarios.plan.document import Plan, Sized
from tests.scenarios.plan.conftest import LOOSE, SERVICE_S, Planned


def only(result: Plan) -> Sized:
    (row,) = result.rows
    assert row.sized is not None, row.reason
    return row.sized


@pytest.mark.parametrize("tasks_per_s", [0.4, 2.5, 5.5, 10.5])
def test_a_stable_queue_needs_more_servers_than_its_load(planned: Planned, tasks_per_s: float) -> None:
    result = planned(LOOSE, tasks_per_s=tasks_per_s)
    load = tasks_per_s * SERVICE_S
    sized = only(result)
    assert sized.replicas == math.floor(load) + 1
    assert sized.at_rate.utilization == pytest.approx(load / sized.replicas, rel=0.06)
    fewer = sized.one_fewer
    assert (fewer is None) == (sized.replicas == 1)
    assert fewer is None or (fewer.replicas, fewer.met) == (sized.replicas - 1, False)
    assert sized.gpus == sized.replicas
    assert sized.usd_per_1000_tasks == pytest.approx(sized.usd_per_hour / 3600 / tasks_per_s * 1000)


def test_the_capacity_of_servers_is_their_number(planned: Planned) -> None:
    (row,) = planned(LOOSE, gpus_available=3, max_requests=4000).capacity
    assert row.tasks_per_s == pytest.approx(3 / SERVICE_S, rel=0.1)
    assert row.next_rate is not None
    assert not row.next_rate.met
    (fewer,) = planned(LOOSE, gpus_available=3, lose_one=True, max_requests=4000).capacity
    assert fewer.tasks_per_s == pytest.approx(2 / SERVICE_S, rel=0.1)
    (burst,) = planned(LOOSE, gpus_available=3, headroom=1.5, max_requests=4000).capacity
    assert burst.tasks_per_s == pytest.approx(row.tasks_per_s / 1.5)


def test_waiting_is_that_of_an_m_d_1_queue(planned: Planned) -> None:
    """Mean wait of M/D/1 is rho S / (2 (1 - rho)) (Pollaczek-Khinchine); here through its mean E2EL."""
    rho = 0.5
    sized = only(planned("e2el:p100:1000000000", tasks_per_s=rho / SERVICE_S, max_requests=200_000))
    assert sized.replicas == 1
    under_way = rho + rho * rho / (2 * (1 - rho))
    assert sized.at_rate.running_per_replica == pytest.approx(under_way, rel=0.12)


def test_looser_targets_never_need_more(planned: Planned) -> None:
    found = [
        only(planned(f"ttft:p95:{limit}", tasks_per_s=3.0, max_requests=2000)).replicas
        for limit in (20, 300, 1000, 4000)
    ]
    assert found == sorted(found, reverse=True)
    assert found[0] > found[-1] >= 4


def test_more_is_asked_for_with_headroom_a_lost_replica_and_growth(planned: Planned) -> None:
    base = only(planned(LOOSE, tasks_per_s=2.5)).replicas
    result = planned(LOOSE, tasks_per_s=2.5, lose_one=True, growth=2.2)
    spare = only(result)
    assert (spare.replicas, spare.decided_by) == (base + 1, "lost replica")
    assert spare.one_lost is not None
    assert (spare.one_lost.replicas, spare.one_lost.met) == (base, True)
    assert spare.one_fewer is not None
    assert spare.one_fewer.replicas == base - 1
    assert [one.sized.replicas for one in result.growth if one.sized] == [math.floor(2.2 * 2.5) + 2]
    burst = only(planned(LOOSE, tasks_per_s=2.5, headroom=1.8, max_requests=4000))
    assert (burst.replicas, burst.decided_by) == (5, "burst")
    assert burst.at_burst is not None
    assert burst.at_burst.met
    assert burst.one_fewer is not None
    assert burst.one_fewer.tasks_per_s == pytest.approx(4.5)


def test_what_an_idle_replica_misses_is_not_searched(planned: Planned) -> None:
    result = planned("tpot:p99:9", tasks_per_s=2.0)
    assert (result.cheapest, result.feasible) == (None, False)
    assert result.rows[0].reason.startswith("idle replica: tpot p99 10 > 9 ms")
    assert result.rows[0].tried == []


def test_candidates_that_do_not_fit_are_rows(planned: Planned) -> None:
    result = planned(LOOSE, tasks_per_s=1.5, axes={"gpu": "RTX-4090,H200,L40S", "tensor_parallel_size": "1,3"})
    reasons = {row.name: row.reason for row in result.rows}
    assert "GB short" in reasons["RTX-4090 tp1 gamma 0"]
    assert "does not divide" in reasons["H200 tp3 gamma 0"]
    assert result.cheapest == result.fewest_gpus == 0
    assert result.rows[0].name == "H200 tp1 gamma 0"


def test_too_few_gpus_allowed(planned: Planned) -> None:
    result = planned(LOOSE, tasks_per_s=5.5, max_gpus=4)
    assert not result.feasible
    assert "4" in result.rows[0].reason


def test_processes_change_nothing(planned: Planned) -> None:
    axes = {"gpu": "H200,H100-SXM", "tensor_parallel_size": "1,2"}
    one, two = (planned("ttft:p95:1000", tasks_per_s=1.5, axes=axes, jobs=jobs, max_requests=1500) for jobs in (1, 2))
    assert msgspec.json.encode(one) == msgspec.json.encode(two)


def test_the_request_rate_is_that_of_all_requests(planned: Planned) -> None:
    by_requests = planned(LOOSE, requests_per_s=2.5, max_requests=1500)
    by_tasks = planned(LOOSE, tasks_per_s=2.5, max_requests=1500)
    assert by_requests.rows == by_tasks.rows


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({}, "give one of"),
        ({"tasks_per_s": 1.0, "gpus_available": 2}, "give one of"),
        ({"tasks_per_s": -1.0}, "--sessions-per-s is -1"),
        ({"tasks_per_s": 1.0, "headroom": 0.5}, "--headroom is 0.5"),
        ({"gpus_available": 2, "growth": 2.0}, "--growth needs"),
        ({"tasks_per_s": 1.0, "axes": {"gpu": "H2000"}}, "--gpus"),
        ({"tasks_per_s": 1.0, "axes": {"tensor_parallel_size": "0"}}, "--tensor-parallel '0'"),
        ({"tasks_per_s": 1.0, "axes": {"gamma": "0,,3"}}, "--gammas"),
        ({"tasks_per_s": 1.0, "axes": {"gpu": "RTX-4090"}}, "no candidate can be asked"),
    ],
)
def test_what_cannot_be_asked_is_an_error(planned: Planned, more: dict[str, object], says: str) -> None:
    with pytest.raises(OptionError, match=says):
        planned(LOOSE, **more)


def test_a_plan_needs_a_target(planned: Planned) -> None:
    with pytest.raises(OptionError, match="--target"):
        planned(tasks_per_s=1.0)


@pytest.mark.parametrize(
    ("target", "more"), [(LOOSE, {}), ("ttft:p95:1000", {"lose_one": True}), ("ttft:p95:1000", {"headroom": 1.6})]
)
def test_leaving_out_what_cannot_be_better_changes_no_answer(
    planned: Planned, target: str, more: dict[str, object]
) -> None:
    axes = {"gpu": "H100-SXM,H200,B200", "tensor_parallel_size": "1,2", "router": "round-robin,least-loaded"}
    asked = {"tasks_per_s": 1.5, "axes": axes, "max_requests": 500, **more}
    whole, short = (planned(target, every=every, **asked) for every in (True, False))
    assert short.cheapest is not None
    assert short.fewest_gpus is not None
    for at in ("cheapest", "fewest_gpus"):
        best = [one.rows[getattr(one, at)] for one in (whole, short)]
        assert best[0].name == best[1].name
        assert best[0].sized is not None
        assert best[1].sized is not None
        assert best[0].sized.usd_per_hour == best[1].sized.usd_per_hour
    assert {row.name.split(" gamma")[0] for row in short.rows} == {row.name.split(" gamma")[0] for row in whole.rows}
    tried = [sum(len(row.tried) for row in one.rows) for one in (whole, short)]
    assert tried[1] < tried[0]
    left = [row for row in short.rows if row.looked_at is not None]
    assert left
    assert all(row.sized is None and "$/h" in row.reason for row in left)
