"""The law's cost constants from times per output token: c_T, o, delta and d, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from scenarios.server.run import Drafting, ServerRun
from simulator import law
from simulator.acceptance.base import F64
from simulator.intervals import Z_95

C_T, OVERHEAD, DELTA, D, DELTA_PLUS_D = "c_T_s", "o", "delta", "d", "delta + d"


class Fitted(msgspec.Struct, frozen=True, kw_only=True):
    """A fitted constant; *low* and *high* are None where no source tells its spread and no run is left to judge by."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundCost:
    """A round takes c_T (1 + o + gamma (delta + d)); delta and d are None where the runs only tell their sum.

    c_T is c_1 too, the time per token without speculation.
    """

    c_T_s: Fitted
    o: Fitted
    delta_plus_d: Fitted
    delta: Fitted | None
    d: Fitted | None
    largest_residual: float
    """Greatest relative error of a fitted time."""
    requests: int | None
    """Requests behind the times; None where a source does not say."""
    notes: tuple[str, ...] = ()

    def tpot_s(self, gamma: int, acceptance_length: float) -> float:
        """Time per output token at *gamma* drafts a round and *acceptance_length* tokens."""
        per_c_T = law.round_cost_over_c_T(gamma, self.delta_plus_d.value, 0.0, self.o.value)
        return self.c_T_s.value * per_c_T / acceptance_length


def fitted_round_cost(runs: Sequence[ServerRun]) -> RoundCost:
    """Cost constants from runs with times per output token, one without speculation and one with it.

    A token's time is linear in what the run spent on it: target passes, rounds that drafted, drafts verified, draft
    passes. Runs whose drafts cost no pass, or the draft model served alone, part d from delta; two depths of one
    drafter give o, which is 0 otherwise. Least squares, weighted by the spread over requests where every run has it.
    Raises ValueError if the runs do not suffice, and for constants surely below 0 (runs of other load).
    """
    timed = [run for run in runs if run.tpot_s is not None]
    if not any(_is_plain(run) for run in timed) or not any(run.gamma for run in timed):
        raise ValueError("round cost needs times per output token of a run without speculation and one with it")
    return _fit(timed, _terms(timed), ())


def _is_plain(run: ServerRun) -> bool:
    return not run.gamma and run.drafting is not Drafting.ALONE


def _terms(runs: Sequence[ServerRun]) -> tuple[str, ...]:
    """The constants that *runs* can tell apart."""
    depths = {kind: {run.gamma for run in runs if run.gamma and run.drafting is kind} for kind in Drafting}
    parts = depths[Drafting.FREE] or any(run.drafting is Drafting.ALONE for run in runs)
    names = [C_T]
    if any(len(found) > 1 for found in depths.values()):
        names.append(OVERHEAD)
    if not parts:
        names.append(DELTA_PLUS_D)
    elif depths[Drafting.MODEL] or any(run.drafting is Drafting.ALONE for run in runs):
        names += [DELTA, D]
    else:
        names.append(DELTA)
    return tuple(names)


def _row(run: ServerRun, terms: Sequence[str]) -> list[float]:
    """What *run* spent of each term per output token."""
    if run.drafting is Drafting.ALONE:
        return [1.0 if term == D else 0.0 for term in terms]
    drafts = run.drafts_per_token
    passes = drafts if run.drafting is Drafting.MODEL else 0.0
    spent = {
        C_T: run.rounds_per_token,
        OVERHEAD: run.drafting_per_token,
        DELTA: drafts,
        D: passes,
        DELTA_PLUS_D: drafts,
    }
    return [spent[term] for term in terms]


def _fit(runs: Sequence[ServerRun], terms: tuple[str, ...], notes: tuple[str, ...]) -> RoundCost:
    rows = np.array([_row(run, terms) for run in runs])
    times = np.array([run.tpot_s for run in runs], dtype=np.float64)
    if np.linalg.matrix_rank(rows) < len(terms):
        raise ValueError(f"the runs cannot tell {', '.join(terms)} apart: add a run of another depth or drafter")
    spread = _spread_s(runs)
    scale = np.array(spread) if spread else np.where(rows[:, 0] > 0, rows[:, 0], 1.0)  # else round times count alike
    theta, covariance, quantile = _least_squares(rows / scale[:, None], times / scale, known=bool(spread))
    unit = dict(zip(terms, np.eye(len(terms)), strict=True))
    parted = DELTA_PLUS_D not in unit
    if parted:
        unit[DELTA_PLUS_D] = unit.get(DELTA, 0) + unit.get(D, np.zeros(len(terms)))
    found = {name: _ratio(name, one, theta, covariance, quantile) for name, one in unit.items()}
    for name in terms:
        one = found[name]
        if one.value < 0:
            if one.high is None or one.high < 0:
                raise ValueError(f"fitted {name} is {one.value:.4g}, it must not be negative: use runs of equal load")
            kept = tuple(term for term in terms if term != name)
            return _fit(runs, kept, (*notes, f"{name} came out as {one.value:.3g}, 0 within its error: taken as 0"))
    nothing = Fitted(value=0.0, low=None, high=None)
    counts = [run.num_requests for run in runs]
    return RoundCost(
        c_T_s=found[C_T],
        o=found.get(OVERHEAD, nothing),
        delta_plus_d=found[DELTA_PLUS_D],
        delta=found.get(DELTA, nothing) if parted else None,
        d=found.get(D, nothing) if parted else None,
        largest_residual=float(np.abs(rows @ theta / times - 1).max()),
        requests=None if None in counts else sum(count for count in counts if count is not None),
        notes=notes,
    )


def _spread_s(runs: Sequence[ServerRun]) -> list[float]:
    """Standard errors of the times of *runs*; empty unless all are known and above 0."""
    errors = [run.tpot_error_s or 0.0 for run in runs]
    return errors if all(errors) else []


def _least_squares(rows: F64, times: F64, *, known: bool) -> tuple[F64, F64 | None, float]:
    """Solution, its covariance and the quantile of 95 % intervals, for rows over their errors where *known*.

    Known errors are taken as too small where the fit misses by more than they allow (Birge's ratio); without them and
    without runs to spare there is no covariance.
    """
    theta = np.linalg.lstsq(rows, times, rcond=None)[0].astype(np.float64)
    spare = len(times) - rows.shape[1]
    squares = float(((times - rows @ theta) ** 2).sum())
    if not spare and not known:
        return theta, None, 0.0
    ratio = squares / spare if spare else 1.0
    covariance: F64 = np.linalg.inv(rows.T @ rows) * (max(1.0, ratio) if known else ratio)
    return theta, covariance, Z_95 if known else _student(spare)


def _student(degrees: int) -> float:
    from scipy.special import stdtrit  # here, since only fits without known errors need it

    return float(stdtrit(degrees, 0.975))


def _ratio(name: str, combined: F64, theta: F64, covariance: F64 | None, quantile: float) -> Fitted:
    """c_T itself, or a combination of the other solutions over it; its error is linearised."""
    c_T = float(theta[0])
    if name == C_T:
        value, gradient = c_T, combined
    else:
        value = float(combined @ theta) / c_T
        gradient = combined / c_T
        gradient = gradient - value / c_T * np.eye(len(theta))[0]
    if covariance is None:
        return Fitted(value=value, low=None, high=None)
    half = quantile * float(np.sqrt(gradient @ covariance @ gradient))
    return Fitted(value=value, low=value - half, high=value + half)
