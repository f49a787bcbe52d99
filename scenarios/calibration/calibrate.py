"""Fits the law's parameters to what a real server reported: acceptance, round cost, prefix-cache hits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from scenarios.server.run import ServerRun, pooled
from simulator import law
from simulator.acceptance.table import alpha_of_acceptance_length, conditional_of_survival
from simulator.profile import AcceptanceProfile, with_conditional, with_counts
from tokenclass.classes import PositionClass, SubClass


@dataclass(frozen=True, slots=True)
class RoundCost:
    """Cost constants fitted to times per output token: a round takes c_T (1 + o + gamma (delta + d))."""

    c_T_s: float
    o: float
    delta_plus_d: float
    largest_residual: float
    """Greatest relative error of a fitted round cost."""

    def tpot_s(self, gamma: int, acceptance_length: float) -> float:
        """Time per output token at *gamma* drafts a round and *acceptance_length* tokens."""
        return self.c_T_s * law.round_cost_over_c_T(gamma, self.delta_plus_d, 0.0, self.o) / acceptance_length


def calibrated_profile(base: AcceptanceProfile, runs: Sequence[ServerRun], date: str = "") -> AcceptanceProfile:
    """*base* with acceptance per draft depth as *runs* measured it, the same for every label.

    A server's counters know no classes. Raises ValueError where `pooled` does.
    """
    run = pooled(runs)
    rates = conditional_of_survival(run.survival)
    checks, right = [run.num_drafts] * len(SubClass), [run.accepted_per_pos[0]] * len(SubClass)
    counted = with_counts(base, checks, right, run.source, date)
    by_depth = with_conditional(counted, {one.name: rates for one in PositionClass}, run.source)
    return msgspec.structs.replace(
        counted, name=f"measured: {run.source}", conditional=by_depth.conditional, clipped=()
    )


def fitted_kappa(run: ServerRun, rho_bar: float) -> float:
    """Kappa of a run on traffic of mean predictability *rho_bar*: eps_bar over 1 - rho_bar.

    eps_bar is that of the constant acceptance with the run's acceptance length. Raises ValueError without speculation
    or at *rho_bar* 1, where any kappa fits.
    """
    if not run.num_drafts:
        raise ValueError(f"{run.source} ran without speculation: kappa needs a run with it")
    if not 0 < rho_bar < 1:
        raise ValueError(f"rho_bar {rho_bar} must be between 0 and 1 to fit kappa")
    return (1 - alpha_of_acceptance_length(run.acceptance_length, run.gamma)) / (1 - rho_bar)


def fitted_round_cost(runs: Sequence[ServerRun]) -> RoundCost:
    """Cost constants from runs with times per output token, one of them without speculation.

    Two or more draft depths give o as well; with one, o is taken as 0. Least squares on acceptance length times time
    per output token. Raises ValueError if the runs do not suffice, and for constants below 0 (noise, or other load).
    """
    timed = [run for run in runs if run.tpot_s is not None]
    plain = [run.tpot_s for run in timed if run.gamma == 0 and run.tpot_s is not None]
    drafting = [run for run in timed if run.gamma]
    if not plain or not drafting:
        raise ValueError("round cost needs times per output token of a run without speculation and one with it")
    c_T_s = float(np.mean(plain))
    gamma = np.array([run.gamma for run in drafting], dtype=np.float64)
    cost = np.array([run.acceptance_length * (run.tpot_s or 0.0) / c_T_s for run in drafting])
    terms = [gamma] if len(set(gamma.tolist())) == 1 else [gamma, np.ones(len(gamma))]
    slope, *rest = np.linalg.lstsq(np.stack(terms, axis=1), cost - 1, rcond=None)[0].tolist()
    o = rest[0] if rest else 0.0
    if slope < 0 or o < 0:
        raise ValueError(f"fitted delta + d {slope:.4g} and o {o:.4g} must not be negative: use runs of equal load")
    residual = np.abs((1 + o + slope * gamma) / cost - 1).max()
    return RoundCost(c_T_s, o, slope, float(residual))


def hit_share(runs: Sequence[ServerRun]) -> float | None:
    """h: prefix-cache hit tokens over tokens queried, None without queries."""
    queries = sum(run.prefix_queries_tokens or 0.0 for run in runs)
    return sum(run.prefix_hits_tokens or 0.0 for run in runs) / queries if queries else None
