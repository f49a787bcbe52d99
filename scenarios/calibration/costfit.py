"""The cost constants as a calibration states them: in ms, with eta, and with the flags of a replay."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from scenarios.calibration.roundcost import Fitted, RoundCost, fitted_round_cost
from scenarios.server.run import ServerRun


class FittedCost(msgspec.Struct, frozen=True, kw_only=True):
    """Round cost constants fitted to times per output token: a round takes c_T (1 + o + gamma (delta + d)).

    delta and d are None where the runs only tell their sum, eta without d or a parameter ratio. c_T is c_1 as well.
    """

    c_T_ms: Fitted
    o: Fitted
    delta_plus_d: Fitted
    delta: Fitted | None
    d: Fitted | None
    eta: Fitted | None
    """The draft's bandwidth utilisation against the target's: d over draft parameters / target parameters."""
    largest_residual: float
    runs: int
    requests: int | None


def fitted_cost(runs: Sequence[ServerRun], parameter_ratio: float | None, notes: list[str]) -> FittedCost | None:
    """The constants of *runs*; None, with the reason in *notes*, where they do not suffice."""
    timed = [run for run in runs if run.tpot_s is not None]
    if not any(run.gamma for run in timed):
        return None
    try:
        cost: RoundCost = fitted_round_cost(timed)
    except ValueError as error:
        notes.append(f"no round cost: {error}")
        return None
    notes.extend(cost.notes)
    if cost.d is None:
        notes.append(
            "delta and d are known as a sum only: give a run of an n-gram drafter (--draft-free), or of the "
            "draft model alone (--draft-alone)"
        )
    return FittedCost(
        c_T_ms=_scaled(cost.c_T_s, 1e3),
        o=cost.o,
        delta_plus_d=cost.delta_plus_d,
        delta=cost.delta,
        d=cost.d,
        eta=_scaled(cost.d, 1 / parameter_ratio) if cost.d is not None and parameter_ratio else None,
        largest_residual=cost.largest_residual,
        runs=len(timed),
        requests=cost.requests,
    )


def _scaled(one: Fitted, by: float) -> Fitted:
    low, high = (None if bound is None else bound * by for bound in (one.low, one.high))
    return Fitted(value=one.value * by, low=low, high=high)
