"""The Draft Law's prediction P1 and its rejection rules R1 to R4, as predicates that can come out either way."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

P1_RATIO = 1.5
"""P1 asks tau_S / tau_F to exceed this."""
R2_SCHEMA_SHARE = 0.6
"""R2 looks at mixes with at least this schema share."""
R3_RESIDUAL = 0.15
"""R3 rejects orthogonal composition above this relative residual of C_total."""


class Ruling(StrEnum):
    """What a predicate found; UNTESTED where its premise is not met by the data."""

    HOLDS = "holds"
    REJECTED = "rejected"
    UNTESTED = "untested"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One predicate's ruling with the figures it rests on."""

    name: str
    ruling: Ruling
    reason: str


def p1(tau_S: float | None, tau_R: float | None, tau_F: float | None) -> Verdict:
    """P1: tau_S > tau_R > tau_F and tau_S / tau_F > 1.5. None stands for a class without rounds."""
    if tau_S is None or tau_R is None or tau_F is None:
        pairs = zip("SRF", (tau_S, tau_R, tau_F), strict=True)
        shown = ", ".join(f"tau_{name} {value:.4g}" for name, value in pairs if value is not None)
        missing = ", ".join(name for name, value in zip("SRF", (tau_S, tau_R, tau_F), strict=True) if value is None)
        return Verdict("P1", Ruling.UNTESTED, f"{shown or 'nothing measured'}; no rounds start in {missing}")
    ordered = tau_S > tau_R > tau_F
    apart = tau_S > P1_RATIO * tau_F
    figures = f"tau_S {tau_S:.4g}, tau_R {tau_R:.4g}, tau_F {tau_F:.4g}"
    return Verdict("P1", _holds(ordered and apart), figures)


def r1(tau_S: float | None, tau_F: float | None) -> Verdict:
    """R1: the law is rejected if tau_S <= tau_F."""
    if tau_S is None or tau_F is None:
        return Verdict("R1", Ruling.UNTESTED, "S or F has no rounds")
    return Verdict("R1", _holds(tau_S > tau_F), f"tau_S {tau_S:.4g}, tau_F {tau_F:.4g}")


def r2(w_S: float, saving: float) -> Verdict:
    """R2: the break-even model is rejected if the saving is negative at w_S >= 0.6."""
    if w_S < R2_SCHEMA_SHARE:
        return Verdict("R2", Ruling.UNTESTED, f"w_S {w_S:.4g} is below {R2_SCHEMA_SHARE}")
    return Verdict("R2", _holds(saving >= 0), f"saving {saving:.4g} at w_S {w_S:.4g}")


def r3(C_total_predicted: float, C_total_measured: float) -> Verdict:
    """R3: orthogonal composition is rejected if C_total is off by more than 15 % of the measured cost."""
    if C_total_measured <= 0:
        return Verdict("R3", Ruling.UNTESTED, "nothing was measured")
    residual = abs(C_total_predicted - C_total_measured) / C_total_measured
    return Verdict("R3", _holds(residual <= R3_RESIDUAL), f"residual {residual:.4g} of the measured cost")


def r4(mismatched_outputs: int, compared_outputs: int) -> Verdict:
    """R4: losslessness is rejected by one output at temperature 0 that differs with speculation on."""
    if compared_outputs == 0:
        return Verdict("R4", Ruling.UNTESTED, "no outputs were compared")
    return Verdict("R4", _holds(mismatched_outputs == 0), f"{mismatched_outputs} of {compared_outputs} differ")


def _holds(value: bool) -> Ruling:
    return Ruling.HOLDS if value else Ruling.REJECTED
