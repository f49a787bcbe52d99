"""The law's closed forms for one set of numbers, under the names of its symbols."""

from __future__ import annotations

from dataclasses import dataclass

from simulator import law

Table = dict[str, float | int | bool | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class LawInputs:
    """What the law needs: costs, and either eps_bar or kappa with the classes S, R, F in this order."""

    gamma: int
    delta: float
    d: float
    o: float = 0.0
    eps_bar: float | None = None
    kappa: float | None = None
    rho: tuple[float, float, float] = (1.0, 1.0, 1.0)
    w: tuple[float, float, float] = (1.0, 0.0, 0.0)
    nu: float = 1.0
    h: float = 0.0
    c_hit: float = 0.0
    C_pre: float = 0.0
    C_dec: float = 0.0


def law_table(inputs: LawInputs) -> Table:
    """All closed forms that the inputs determine. Raises ValueError on inputs out of range or too few."""
    gamma, delta, d, o = inputs.gamma, inputs.delta, inputs.d, inputs.o
    table: Table = {"gamma": gamma, "delta": delta, "d": d, "o": o}
    eps_bar = inputs.eps_bar
    if eps_bar is not None and inputs.kappa is not None:
        raise ValueError("give --eps-bar or --kappa, not both: eps_bar follows from kappa and the classes")
    if eps_bar is None:
        if inputs.kappa is None:
            raise ValueError("give --eps-bar, or --kappa with --rho-s --rho-r --rho-f and --w-s --w-r --w-f")
        rho_bar = law.mean_over_classes(inputs.w, inputs.rho)
        mismatch = law.eps(inputs.kappa, rho_bar)
        eps_bar = mismatch.value
        table |= {"kappa": inputs.kappa, "rho_bar": rho_bar, "eps_bar_clipped": mismatch.clipped}
    ratio = law.c_net_over_c_T(eps_bar, gamma, delta, d, o)
    table |= {
        "eps_bar": eps_bar,
        "tau": law.tau(eps_bar, gamma),
        "tokens_per_round": law.tokens_per_round(eps_bar, gamma),
        "c_net_over_c_T": ratio,
        "saving": law.saving(eps_bar, gamma, delta, d, o),
        "speedup": law.speedup(eps_bar, gamma, delta, d, o),
    }
    best = law.best_gamma(eps_bar, range(17), delta, d, o)
    table |= {"best_gamma": best.gamma, "best_gamma_speedup": best.speedup}
    if gamma:
        table |= _break_even(inputs)
    if inputs.C_pre or inputs.C_dec:
        table |= {"nu": inputs.nu, "h": inputs.h, "c_hit": inputs.c_hit, "C_pre": inputs.C_pre, "C_dec": inputs.C_dec}
        table["c_net_over_c_1"] = ratio
        table["C_total"] = law.C_total(inputs.nu, inputs.h, inputs.c_hit, inputs.C_pre, inputs.C_dec, ratio)
    return table


def _break_even(inputs: LawInputs) -> Table:
    gamma, delta, d, o = inputs.gamma, inputs.delta, inputs.d, inputs.o
    table: Table = {
        "schema_ceiling_speedup": law.schema_ceiling_speedup(gamma, delta, d, o),
        "entropy_floor_saving": law.entropy_floor_saving(gamma, delta, d, o),
        "eps_star_first_order": law.eps_star_first_order(gamma, delta, d, o),
        "eps_star_exact": law.eps_star_exact(gamma, delta, d, o),
    }
    if not inputs.kappa:
        return table
    rho_S, rho_R, rho_F = inputs.rho
    rest = inputs.w[1] + inputs.w[2]
    rho_n = (inputs.w[1] * rho_R + inputs.w[2] * rho_F) / rest if rest else rho_F
    table |= {
        "rho_S": rho_S,
        "rho_F": rho_F,
        "rho_n": rho_n,
        "w_S_star_first_order": law.w_S_star_first_order(gamma, delta, d, inputs.kappa, rho_S, rho_n, o),
        "w_S_star_exact": law.w_S_star_exact(gamma, delta, d, inputs.kappa, rho_S, rho_n, o),
        "dtau_dw": law.dtau_dw(gamma, inputs.kappa, rho_S, rho_F),
    }
    return table
