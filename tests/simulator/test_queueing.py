"""Settings under which the engine is a textbook queue, against the formulas and against Ciw."""

from __future__ import annotations

import math
from functools import cache

import ciw
import numpy as np
import pytest

from simulator.config import EngineConfig
from simulator.cost import DeclaredCost
from simulator.metrics import latencies
from simulator.replay import Replay, ReplayConfig, run
from simulator.sessions import LoadConfig, SessionMode
from tests.simulator.cases import single_turns

N_REQUESTS = 12_000
WARM_UP = 1_000
STEP_S = 0.01
BATCHES = 20


def _engine(c: int) -> EngineConfig:
    return EngineConfig(max_num_seqs=c, num_gpu_blocks=100_000, max_model_len=40_000)


def _replay(outputs: list[int], *, rate_per_s: float, servers: int, burstiness: float = 1.0, seed: int = 1) -> Replay:
    """One-token prompts whose prefill takes no time: a request needs (tokens - 1) steps of STEP_S."""
    load = LoadConfig(mode=SessionMode.RATE, request_rate_per_s=rate_per_s, burstiness=burstiness)
    config = ReplayConfig(
        engine=_engine(servers), cost=DeclaredCost(c_T_s=STEP_S), acceptance=None, load=load, seed=seed
    )
    return run(single_turns([1] * len(outputs), outputs), config)


@cache
def _geometric(mean: float) -> tuple[int, ...]:
    """Tokens beyond the first: geometric with *mean*."""
    return tuple((1 + np.random.default_rng(7).geometric(1 / mean, N_REQUESTS)).tolist())


def _mean_and_error(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> tuple[float, float]:
    """Mean after warm-up, and its standard error by batch means."""
    batches = np.array([batch.mean() for batch in np.array_split(values[WARM_UP:], BATCHES)])
    return float(batches.mean()), float(batches.std(ddof=1) / math.sqrt(BATCHES))


def _assert_mean(values: np.ndarray[tuple[int], np.dtype[np.float64]], expected: float) -> None:
    mean, error = _mean_and_error(values)
    assert abs(mean - expected) < 3.5 * error, (mean, expected, error)
    assert error < 0.12 * expected, "the run is too short to say anything"


def erlang_c(servers: int, load: float) -> float:
    """Probability that an arrival waits in M/M/c; *load* is the offered load in servers."""
    terms = [load**k / math.factorial(k) for k in range(servers)]
    last = load**servers / math.factorial(servers) * servers / (servers - load)
    return last / (sum(terms) + last)


@pytest.mark.parametrize("utilisation", [0.5, 0.8])
def test_fixed_lengths_one_at_a_time_are_m_d_1(utilisation: float) -> None:
    service_s = 10 * STEP_S
    replay = _replay([11] * N_REQUESTS, rate_per_s=utilisation / service_s, servers=1)
    expected = utilisation * service_s / (2 * (1 - utilisation))
    _assert_mean(latencies(replay)["queue_s"], expected)
    assert replay.busy_s == pytest.approx(N_REQUESTS * service_s, rel=1e-9)


@pytest.mark.parametrize("utilisation", [0.5, 0.8])
def test_geometric_lengths_one_at_a_time_are_m_g_1(utilisation: float) -> None:
    """Pollaczek-Khinchine: W = lambda E[S^2] / (2 (1 - rho)); near M/M/1 as the step is short."""
    steps = 50.0
    replay = _replay(list(_geometric(steps)), rate_per_s=utilisation / (steps * STEP_S), servers=1)
    second_moment = (2 * steps**2 - steps) * STEP_S**2
    rate = utilisation / (steps * STEP_S)
    expected = rate * second_moment / (2 * (1 - utilisation))
    exponential = utilisation / (1 - utilisation) * steps * STEP_S
    assert expected == pytest.approx(exponential, rel=0.02)
    _assert_mean(latencies(replay)["queue_s"], expected)


def test_sojourn_of_m_m_1_is_exponential() -> None:
    steps, utilisation = 50.0, 0.5
    replay = _replay(list(_geometric(steps)), rate_per_s=utilisation / (steps * STEP_S), servers=1)
    sojourn_s = latencies(replay)["e2el_s"][WARM_UP:]
    mean_s = steps * STEP_S / (1 - utilisation)
    for share in (0.5, 0.9, 0.99):
        assert np.quantile(sojourn_s, share) == pytest.approx(-mean_s * math.log(1 - share), rel=0.1)


@pytest.mark.parametrize(("servers", "utilisation"), [(2, 0.5), (4, 0.6)])
def test_a_batch_of_c_is_m_m_c(servers: int, utilisation: float) -> None:
    """With a step time that does not depend on the batch, each of c places is a server.

    Joining a batch that decodes takes until the end of the step, and one step more for the prompt: hence long outputs.
    """
    steps = 200.0
    rate = servers * utilisation / (steps * STEP_S)
    replay = _replay(list(_geometric(steps)), rate_per_s=rate, servers=servers)
    expected = erlang_c(servers, servers * utilisation) * steps * STEP_S / (servers * (1 - utilisation))
    _assert_mean(latencies(replay)["queue_s"], expected)


@pytest.mark.parametrize(("servers", "tolerance_steps"), [(1, 1e-3), (2, 8.0), (4, 8.0)])
def test_ciw_gives_the_same_waits(servers: int, tolerance_steps: float) -> None:
    """Given the very arrivals and service times, waits agree: exactly for one place, up to steps shared for more."""
    count, steps = 2000, 500.0
    lengths = list(_geometric(steps)[:count])
    replay = _replay(lengths, rate_per_s=servers * 0.7 / (steps * STEP_S), servers=servers)
    gaps = np.diff(replay.arrival_s, prepend=0.0).tolist()
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Sequential([*gaps, 1e9])],
        service_distributions=[ciw.dists.Sequential([(tokens - 1) * STEP_S for tokens in lengths])],
        number_of_servers=[servers],
    )
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_time(1e8)
    records = sorted(simulation.get_all_records(), key=lambda record: float(record.arrival_date))
    waits_s = np.array([record.waiting_time for record in records])
    queue_s = latencies(replay)["queue_s"]
    assert waits_s.mean() > 10 * STEP_S
    assert abs(queue_s.mean() - waits_s.mean()) < tolerance_steps * STEP_S
    assert np.corrcoef(queue_s, waits_s)[0, 1] > 0.99


@pytest.mark.parametrize("burstiness", [0.3, 1.0, 4.0])
def test_littles_law(burstiness: float) -> None:
    """The load log's mean numbers over time = throughput times the mean times of requests, whatever the arrivals."""
    steps, servers = 50.0, 4
    rate = servers * 0.8 / (steps * STEP_S)
    replay = _replay(list(_geometric(steps)), rate_per_s=rate, servers=servers, burstiness=burstiness)
    parts = latencies(replay)
    throughput = N_REQUESTS / replay.duration_s
    assert throughput == pytest.approx(rate, rel=0.05)
    spans_s = np.diff(replay.load["time_s"])
    logged = {name: float((column[:-1] * spans_s).sum()) for name, column in replay.load.items()}
    in_service = throughput * (parts["prefill_s"] + parts["decode_s"]).mean()
    assert logged["num_requests_running"] / replay.duration_s == pytest.approx(in_service, rel=1e-6)
    waiting = throughput * parts["queue_s"].mean()
    assert logged["num_requests_waiting"] / replay.duration_s == pytest.approx(waiting, rel=1e-6)


def test_arrivals_are_poisson_and_gamma_as_asked() -> None:
    for burstiness in (1.0, 0.25):
        replay = _replay([2] * N_REQUESTS, rate_per_s=5.0, servers=1024, burstiness=burstiness)
        gaps = np.diff(replay.arrival_s)
        assert gaps.mean() == pytest.approx(0.2, rel=0.05)
        assert gaps.std() / gaps.mean() == pytest.approx(burstiness**-0.5, rel=0.05)
