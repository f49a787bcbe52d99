"""The Draft Law's closed forms, in its own symbols.

They are mean-field figures: one mismatch probability for the whole output. `simulator.exact` gives the expectation over
a labelled output. `o`, the fixed overhead of a round that drafts, is an extension; at 0 the forms are the paper's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from simulator.roots import find_root

F64 = npt.NDArray[np.float64]
T = TypeVar("T", float, F64)


class Eps(NamedTuple):
    """A mismatch probability and whether kappa (1 - rho) had to be clipped to 1."""

    value: float
    clipped: bool


class BestGamma(NamedTuple):
    """The draft depth of least cost per token and the speedup it gives."""

    gamma: int
    speedup: float


def rho_of_entropy(H_nats: float) -> float:
    """Predictability exp(-H) of a class of mean next-token entropy *H_nats*."""
    if H_nats < 0:
        raise ValueError(f"entropy {H_nats} nats is negative: give a value >= 0")
    return math.exp(-H_nats)


def mean_over_classes(w: Sequence[float], values: Sequence[float]) -> float:
    """Sum of w_c times the class value: rho_bar of rho, eps_bar of eps. Raises ValueError unless *w* sums to 1."""
    _check_shares(w)
    return sum(share * value for share, value in zip(w, values, strict=True))


def eps(kappa: float, rho: float) -> Eps:
    """Mismatch probability kappa (1 - rho), clipped to 1; *rho* is a class's predictability or the mean rho_bar."""
    if kappa < 0:
        raise ValueError(f"kappa {kappa} is negative: give a value >= 0")
    if not 0 <= rho <= 1:
        raise ValueError(f"rho {rho} is outside 0..1")
    value = kappa * (1 - rho)
    return Eps(min(value, 1.0), value > 1)


def draft_cost_ratio(parameter_ratio: float, eta: float) -> float:
    """d, the cost of a draft pass relative to c_T: parameter ratio times the draft's bandwidth utilisation eta."""
    return parameter_ratio * eta


def tau(eps_bar: T, gamma: int) -> T:
    """Expected accepted drafts of a round of *gamma*: the sum of (1 - eps_bar)^i for i = 1..gamma."""
    _check_eps(eps_bar)
    _check_gamma(gamma)
    alpha = 1 - eps_bar
    total = alpha * 0
    for _ in range(gamma):
        total = alpha * (1 + total)
    return total


def tokens_per_round(eps_bar: T, gamma: int) -> T:
    """Tokens emitted by a round: tau + 1, the target's own token included."""
    return tau(eps_bar, gamma) + 1


def span_limit_tokens_per_round(w: Sequence[float], eps_by_class: Sequence[float], gamma: int) -> float:
    """Tokens per round over an output whose spans are much longer than *gamma*: 1 / sum_c w_c / (tau_c + 1)."""
    return 1 / mean_over_classes(w, [1 / tokens_per_round(value, gamma) for value in eps_by_class])


def round_cost_over_c_T(gamma: int, delta: float, d: float, o: float = 0.0) -> float:
    """Cost of a round of *gamma* drafts relative to a plain decode pass: 1 + o + gamma (delta + d); 1 at gamma 0."""
    _check_gamma(gamma)
    if min(delta, d, o) < 0:
        raise ValueError(f"delta {delta}, d {d} and o {o} must not be negative")
    return 1 + o + gamma * (delta + d) if gamma else 1.0


def c_net_over_c_T(eps_bar: T, gamma: int, delta: float, d: float, o: float = 0.0) -> T:
    """Net cost per emitted token relative to c_T, draft passes included."""
    return round_cost_over_c_T(gamma, delta, d, o) / tokens_per_round(eps_bar, gamma)


def saving(eps_bar: T, gamma: int, delta: float, d: float, o: float = 0.0) -> T:
    """Net saving s = 1 - c_net / c_T; negative where speculation loses."""
    return 1 - c_net_over_c_T(eps_bar, gamma, delta, d, o)


def speedup(eps_bar: T, gamma: int, delta: float, d: float, o: float = 0.0) -> T:
    """Decode speedup u = 1 / (1 - s) = c_T / c_net."""
    return tokens_per_round(eps_bar, gamma) / round_cost_over_c_T(gamma, delta, d, o)


def schema_ceiling_speedup(gamma: int, delta: float, d: float, o: float = 0.0) -> float:
    """Speedup in the limit w_S = 1, rho_S = 1: each draft is accepted."""
    return speedup(0.0, gamma, delta, d, o)


def entropy_floor_saving(gamma: int, delta: float, d: float, o: float = 0.0) -> float:
    """Saving in the limit of a fully misaligned draft without schema: no draft is accepted."""
    return saving(1.0, gamma, delta, d, o)


def dtau_dw(gamma: int, kappa: float, rho_S: float, rho_F: float) -> float:
    """First-order gain of tau per share of mass moved from F to S: gamma (gamma + 1) / 2 kappa (rho_S - rho_F)."""
    _check_gamma(gamma)
    return gamma * (gamma + 1) / 2 * kappa * (rho_S - rho_F)


def eps_star_first_order(gamma: int, delta: float, d: float, o: float = 0.0) -> float:
    """Break-even mismatch probability to first order, 2 (1 - delta - d - o / gamma) / (gamma + 1); not clipped.

    Far off for deep drafts: decide by `eps_star_exact`. Raises ValueError at gamma 0.
    """
    if gamma < 1:
        raise ValueError(f"gamma {gamma} drafts nothing: a break-even needs gamma >= 1")
    return 2 * (1 - delta - d - o / gamma) / (gamma + 1)


def eps_star_exact(gamma: int, delta: float, d: float, o: float = 0.0) -> float | None:
    """Mismatch probability where a round pays for itself: the root of tau(eps, gamma) = o + gamma (delta + d).

    None if even a draft that is always accepted loses. Raises ValueError at gamma 0.
    """
    if gamma < 1:
        raise ValueError(f"gamma {gamma} drafts nothing: a break-even needs gamma >= 1")
    extra = round_cost_over_c_T(gamma, delta, d, o) - 1
    if extra > gamma:
        return None
    return find_root(lambda value: tau(value, gamma) - extra, 0.0, 1.0, xtol=1e-16, rtol=1e-15)


def rho_star(eps_star: float, kappa: float) -> float:
    """Break-even predictability 1 - eps* / kappa; below 0 if speculation pays at any. Raises ValueError at kappa 0."""
    if kappa <= 0:
        raise ValueError(f"kappa {kappa}: a break-even predictability needs kappa > 0")
    return 1 - eps_star / kappa


def w_S_star(eps_star: float, kappa: float, rho_S: float, rho_n: float) -> float | None:
    """Schema share (rho* - rho_n) / (rho_S - rho_n) at which a mix breaks even; *rho_n* is that of the rest.

    Below 0 speculation pays at every share, above 1 at none. None if rho_S = rho_n: the share then has no effect.
    """
    if rho_S == rho_n:
        return None
    return (rho_star(eps_star, kappa) - rho_n) / (rho_S - rho_n)


def w_S_star_first_order(
    gamma: int, delta: float, d: float, kappa: float, rho_S: float, rho_n: float, o: float = 0.0
) -> float | None:
    """Break-even schema share from the first-order eps*; None as in `w_S_star`."""
    return w_S_star(eps_star_first_order(gamma, delta, d, o), kappa, rho_S, rho_n)


def w_S_star_exact(
    gamma: int, delta: float, d: float, kappa: float, rho_S: float, rho_n: float, o: float = 0.0
) -> float | None:
    """Break-even schema share from the exact eps*; None without a break-even or as in `w_S_star`."""
    eps_star = eps_star_exact(gamma, delta, d, o)
    return None if eps_star is None else w_S_star(eps_star, kappa, rho_S, rho_n)


def C_total(nu: float, h: float, c_hit: float, C_pre: float, C_dec: float, c_net_over_c_1: float) -> float:
    """Cost of an accepted turn, nu [(1 - h + h c_hit) C_pre + (c_net / c_1) C_dec], in the unit of C_pre and C_dec.

    *C_dec* is the decode cost of the same turn without speculation.
    """
    if nu < 1:
        raise ValueError(f"nu {nu} is below 1: an accepted turn takes at least one draw")
    if not 0 <= h <= 1:
        raise ValueError(f"h {h} is outside 0..1")
    return nu * ((1 - h + h * c_hit) * C_pre + c_net_over_c_1 * C_dec)


def best_gamma(eps_bar: float, gammas: Iterable[int], delta: float, d: float, o: float = 0.0) -> BestGamma:
    """The depth of *gammas* with the greatest speedup, the smallest of equals. Raises ValueError if there is none."""
    rated = [BestGamma(gamma, speedup(eps_bar, gamma, delta, d, o)) for gamma in sorted(set(gammas))]
    if not rated:
        raise ValueError("no draft depth to choose from")
    return max(rated, key=lambda one: one.speedup)


def _check_gamma(gamma: int) -> None:
    if gamma < 0:
        raise ValueError(f"gamma {gamma} is negative: give the number of tokens drafted a round")


def _check_eps(eps_bar: float | F64) -> None:
    if not np.all((np.asarray(eps_bar) >= 0) & (np.asarray(eps_bar) <= 1)):
        raise ValueError(f"eps {eps_bar} is outside 0..1")


def _check_shares(w: Sequence[float]) -> None:
    if min(w) < 0 or abs(sum(w) - 1) > 1e-9:
        raise ValueError(f"class shares {list(w)} must be >= 0 and sum to 1")
