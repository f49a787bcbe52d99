"""Composition against hand-made replays: where it is exact, and where it must fail in a known direction."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from scenarios.answer import Interval
from scenarios.composition.compose import Composed, Factors, compose
from scenarios.composition.levers import ALL_LEVERS, Draws, lever_runs
from scenarios.composition.run import composition, ruled
from scenarios.options.parameters import ParameterBook
from scenarios.options.read import ReadOptions
from scenarios.options.replay import ClusterOptions, CostOptions, OptionError, PlatformOptions, ReplayOptions
from scenarios.resolve.platform import Platform, resolve_platform
from simulator.acceptance.table import from_eps
from simulator.gate import gated
from simulator.gateconfig import GateConfig
from simulator.prefix import BlockPaths
from simulator.resample import resample
from simulator.sessions import LoadConfig
from simulator.workload import Workload
from tests.shared import AGENT_LOOP
from tests.simulator.cases import single_turns

EPS = (0.4,) * 8
ALONE = LoadConfig(max_concurrency=1)


class _Choice:
    replayed = from_eps(EPS)


def platform(*, prefill_us: float = 0.0) -> Platform:
    costs = CostOptions(c_T_ms=10.0, delta=0.01, d=0.1, prefill_us_per_token=prefill_us)
    return resolve_platform(PlatformOptions(num_speculative_tokens=4), costs, ParameterBook())


def run(workload: Workload, nu: float, *, prefill_us: float = 0.0) -> tuple[Factors, dict[str, Composed]]:
    draws = Draws(
        once=resample(workload, 1.0, 0),
        resampled=resample(workload, nu, 0),
        acceptance_once=_Choice(),  # type: ignore[arg-type]
        acceptance_resampled=_Choice(),  # type: ignore[arg-type]
    )
    runs = list(lever_runs(draws, platform(prefill_us=prefill_us), ALONE, 0))
    factors, composed = compose(runs, 0)
    return factors, {row.levers: row for row in composed}


def reusable(count: int, prompt: int, output: int) -> Workload:
    """Turns alike that share nothing with each other; a turn drawn again finds its own prompt."""
    blocks = prompt // 16
    paths = [np.arange(at * blocks, (at + 1) * blocks, dtype=np.int32) for at in range(count)]
    return replace(single_turns([prompt] * count, [output] * count), paths=BlockPaths(paths, count * blocks))


def test_single_levers_compose_to_themselves() -> None:
    _, rows = run(reusable(12, 160, 60), 1.5, prefill_us=100)
    for levers in ALL_LEVERS:
        if levers.cache + levers.speculation + levers.resampling <= 1:
            assert rows[str(levers)].residual.value == pytest.approx(0, abs=1e-9), levers


def test_parts_sum_to_the_residual() -> None:
    _, rows = run(reusable(12, 160, 60), 2.0, prefill_us=300)
    for row in rows.values():
        assert sum(part.share for part in row.parts) == pytest.approx(row.residual.value, abs=1e-12)


def test_one_at_a_time_without_prefill_cost_the_formula_is_exact_up_to_what_rounds_draw() -> None:
    _, rows = run(reusable(60, 160, 400), 1.5)
    assert rows["cache + speculation"].residual.value == pytest.approx(0, abs=1e-9)
    assert rows["cache + speculation + resampling"].residual.value == pytest.approx(0, abs=0.02)


def test_retries_that_find_their_prompt_make_the_formula_too_dear() -> None:
    factors, rows = run(reusable(40, 1600, 20), 2.0, prefill_us=500)
    both = rows["cache + resampling"]
    assert factors.h == 0
    assert both.h == pytest.approx((both.nu - 1) / both.nu * (1600 - 16) / 1600, abs=0.02)
    assert both.residual.low > 0
    assert "retries find their prompt in the cache" in max(both.parts, key=lambda part: part.share).cause


def test_a_gate_pays_for_each_draw_and_composes() -> None:
    workload = reusable(40, 160, 60)
    gate = GateConfig(pass_call=0.6, pass_answer=0.6, gate_gpu_s=0.25)
    draws = Draws(
        once=resample(workload, 1.0, 0),
        resampled=gated(workload, gate, 0),
        acceptance_once=_Choice(),  # type: ignore[arg-type]
        acceptance_resampled=_Choice(),  # type: ignore[arg-type]
    )
    factors, rows = compose(list(lever_runs(draws, platform(prefill_us=100), ALONE, 0)), 0)
    assert factors.C_gate_s == pytest.approx(0.25)
    by_levers = {row.levers: row for row in rows}
    alone, none = by_levers["resampling"], by_levers["none"]
    assert alone.residual.value == pytest.approx(0, abs=1e-9)
    assert alone.C_total_joint_s == pytest.approx(alone.nu * (none.C_total_joint_s + 0.25))
    for row in rows:
        assert sum(part.share for part in row.parts) == pytest.approx(row.residual.value, abs=1e-12)


def test_replicas_and_gates_reach_the_composition() -> None:
    one, two = (
        composition([str(AGENT_LOOP)], ReadOptions(), ReplayOptions(cluster=ClusterOptions(replicas=count)))
        for count in (1, 2)
    )
    assert (one.config["replicas"].value, two.config["replicas"].value) == (1, 2)
    assert two.combinations[0].mean_batch < one.combinations[0].mean_batch
    gate = GateConfig(pass_call=0.5)
    drawn = composition([str(AGENT_LOOP)], ReadOptions(), ReplayOptions(gate=gate))
    assert drawn.factors.nu > one.factors.nu
    with pytest.raises(OptionError, match="--gate"):
        composition([str(AGENT_LOOP)], ReadOptions(), ReplayOptions(gate=gate, nu=1.2))


@pytest.mark.parametrize(
    ("low", "high", "ruling"),
    [
        (-0.14, 0.15, "holds"),
        (-0.3, 0.1, "undecided"),
        (0.1, 0.2, "undecided"),
        (0.151, 0.3, "rejected"),
        (-0.4, -0.16, "rejected"),
    ],
)
def test_r3_is_ruled_by_the_whole_interval(low: float, high: float, ruling: str) -> None:
    assert ruled(Interval((low + high) / 2, low, high)) == ruling


def test_the_decode_residual_is_told_by_the_batch_without_each_lever() -> None:
    answer = composition([str(AGENT_LOOP)], ReadOptions(), ReplayOptions())
    rows = {row.levers: row for row in answer.combinations}
    both = rows["cache + speculation"]
    cause = next(part.cause for part in both.parts if part.cause.startswith("decode"))
    assert f"{both.mean_batch:.2f} sequences share a step" in cause
    assert f"{rows['speculation'].mean_batch:.2f} without cache" in cause
    assert f"{rows['cache'].mean_batch:.2f} without speculation" in cause
    assert "without resampling" not in cause
