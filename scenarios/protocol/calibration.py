"""What arm A calibrates: c_1, the cost of a round, and kappa, at each batch size."""

from __future__ import annotations

import msgspec

from scenarios.calibration.counterfits import fitted_kappa
from scenarios.calibration.roundcost import fitted_round_cost
from scenarios.protocol.prereg import Content
from scenarios.protocol.results import Results
from scenarios.server.run import ServerRun


class Calibrated(msgspec.Struct, frozen=True, kw_only=True):
    """Constants of arm A at one batch size; None with *problem* where its runs do not suffice."""

    batch: int
    c_1_s: float | None = None
    o: float | None = None
    delta_plus_d: float | None = None
    delta: float | None = None
    """delta + d less the declared d."""
    kappa: dict[str, float] = {}
    """By draft depth, from the declared predictability of prose."""
    problem: str = ""


def calibrated(results: Results, declared: Content | None) -> list[Calibrated]:
    """Arm A's constants at each batch size; *declared* gives d and the predictability of prose."""
    batches = sorted({run.batch for run in results.runs if run.arm == "A"})
    return [_at(results, declared, batch) for batch in batches]


def _at(results: Results, declared: Content | None, batch: int) -> Calibrated:
    runs = []
    plain_s = []
    for run in results.runs:
        if run.arm == "A" and run.batch == batch and run.figures is not None:
            figures = run.figures
            runs.append(
                ServerRun(
                    source=f"arm A, gamma {run.gamma}",
                    num_drafts=figures.num_drafts,
                    num_accepted_tokens=sum(figures.accepted_per_pos),
                    accepted_per_pos=figures.accepted_per_pos,
                    tpot_s=figures.tpot_s,
                )
            )
            if figures.plain_tpot_s is not None:
                plain_s.append(figures.plain_tpot_s)
    plain = [ServerRun(source="arm A, plain", tpot_s=sum(plain_s) / len(plain_s))] if plain_s else []
    kappa = _kappa(runs, declared)
    try:
        cost = fitted_round_cost([*plain, *runs])
    except ValueError as error:
        return Calibrated(batch=batch, kappa=kappa, problem=str(error))
    d = declared.platform.get("d") if declared is not None else None
    return Calibrated(
        batch=batch,
        c_1_s=cost.c_T_s.value,
        o=cost.o.value,
        delta_plus_d=cost.delta_plus_d.value,
        delta=cost.delta_plus_d.value - float(d) if isinstance(d, int | float) else None,
        kappa=kappa,
    )


def _kappa(runs: list[ServerRun], declared: Content | None) -> dict[str, float]:
    if declared is None:
        return {}
    kappa, eps = declared.acceptance.get("kappa"), declared.acceptance.get("eps.F")
    if not isinstance(kappa, int | float) or not isinstance(eps, int | float) or not kappa or not 0 < eps < kappa:
        return {}
    rho_F = 1 - eps / kappa
    return {str(run.gamma): fitted_kappa(run, rho_F) for run in runs if run.num_drafts}
