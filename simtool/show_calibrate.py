"""Shows a calibration in the terminal."""

from __future__ import annotations

from scenarios.answer import Interval
from scenarios.calibration.costfit import FittedCost
from scenarios.calibration.depthrates import ClassDepth
from scenarios.calibration.fit import Calibration
from scenarios.calibration.logprobfit import LogprobFigures
from scenarios.calibration.serverfigures import SourceFigures
from simtool.console import number, percent, stdout_console, table


def show(result: Calibration) -> None:
    """Print what was found: sources, cost, acceptance by class, the profile, and what is to be known of them."""
    console = stdout_console()
    for source in result.sources:
        length = source.acceptance_length
        console.print(
            f"{source.source}: gamma {source.gamma}, {source.rounds:,} rounds, acceptance length "
            f"{length.value:.3f} (95 %: {length.low:.3f} to {length.high:.3f}), acceptance rate "
            f"{percent(source.draft_acceptance_rate)}",
            markup=False,
        )
        console.print(table("", ["position", "per position", "per depth", "low", "high", "n"], _depth_rows(source)))
    if result.logprobs is not None:
        _show_logprobs(result.logprobs)
    if result.kappa:
        shown = [
            (one.label, _spread(one.kappa), f"{one.eps:.3f}", f"{one.rho:.3f}", f"{one.n:,}") for one in result.kappa
        ]
        console.print(table("kappa = eps / (1 - rho) (95 %)", ["of", "kappa", "eps", "rho", "n"], shown))
    for text in result.contradictions:
        console.print(f"contradiction: {text}", markup=False)
    if result.cost is not None:
        _show_cost(result.cost)
    if result.hit_share is not None:
        console.print(f"Prefix cache: h {percent(result.hit_share)} of prompt tokens", markup=False)
    if result.depths:
        _show_depths(result.depths)
    if result.autocorrelation:
        pairs = [(one.label, _spread(one.lag1), f"{one.mean:.3f}", f"{one.n:,}") for one in result.autocorrelation]
        title = "Autocorrelation of acceptance, token to token (95 %)"
        console.print(table(title, ["sub-class", "lag1", "mean acceptance", "n"], pairs))
    if result.profile is not None:
        rows = [
            (label, number(eps.value), number(eps.low), number(eps.high), _count(eps.n), eps.origin.value)
            for label, eps in result.profile.eps.items()
        ]
        console.print(table("Profile", ["sub-class", "eps", "low", "high", "n", "origin"], rows))
    for text in result.notes:
        console.print(f"note: {text}", markup=False)
    for name, meaning in result.definitions.items():
        console.print(f"{name}: {meaning}", markup=False)


def _show_cost(cost: FittedCost) -> None:
    console = stdout_console()
    rows = [
        (name, *("n/a" if one is None else number(one) for one in (fitted.value, fitted.low, fitted.high)))
        for name, fitted in (
            ("c_T = c_1 (ms)", cost.c_T_ms),
            ("o", cost.o),
            ("delta + d", cost.delta_plus_d),
            ("delta", cost.delta),
            ("d", cost.d),
            ("eta", cost.eta),
        )
        if fitted is not None
    ]
    behind = f"{cost.runs} runs" + (f" of {cost.requests:,} requests" if cost.requests is not None else "")
    console.print(table(f"Round cost from {behind} (95 %)", ["constant", "value", "low", "high"], rows))
    parts = (cost.delta, cost.d) if cost.delta is not None and cost.d is not None else (None, cost.delta_plus_d)
    delta = f"--delta {parts[0].value:.6g} " if parts[0] is not None else ""
    console.print(
        f"Largest residual {percent(cost.largest_residual)}. For a replay: --c-t-ms {cost.c_T_ms.value:.6g} --overhead "
        f"{cost.o.value:.6g} {delta}--d {parts[1].value:.6g}",
        markup=False,
    )


def _show_depths(depths: list[ClassDepth]) -> None:
    by_label = {label: [one for one in depths if one.label == label] for label in ("S", "R", "F")}
    rows = [
        (label, *(f"{one.accepted.value:.3f} ({one.n:,})" for one in found))
        for label, found in by_label.items()
        if found
    ]
    deepest = max(len(row) for row in rows) - 1
    names = ["class", *(f"draft {at}" for at in range(1, deepest + 1))]
    padded = [(*row, *[""] * (deepest + 1 - len(row))) for row in rows]
    stdout_console().print(table("Acceptance by depth, those before accepted (n)", names, padded))


def _count(n: int | None) -> str:
    return "n/a" if n is None else f"{n:,}"


def _show_logprobs(found: LogprobFigures) -> None:
    console = stdout_console()
    console.print(
        f"Token logprobs: {found.tokens:,} tokens of {found.outputs:,} outputs, top {found.top_k}; rho_bar "
        f"{_spread(found.rho_bar)}",
        markup=False,
    )
    rows = [
        (
            one.label,
            f"{one.tokens:,}",
            _spread(one.entropy),
            _spread(one.entropy_most),
            _spread(one.rho),
            _spread(one.likeliest),
            _spread(one.surprisal),
        )
        for one in found.classes
    ]
    names = ["class", "n", "H least (nats)", "H most", "rho", "likeliest p", "surprisal"]
    console.print(table("Entropy by class (95 %)", names, rows))


def _spread(one: Interval) -> str:
    return f"{one.value:.3f} ({one.low:.3f}-{one.high:.3f})"


def _depth_rows(source: SourceFigures) -> list[tuple[str, ...]]:
    return [
        (
            str(one.position),
            f"{one.per_position:.3f}",
            f"{one.per_depth.value:.3f}",
            f"{one.per_depth.low:.3f}",
            f"{one.per_depth.high:.3f}",
            f"{one.n:,}",
        )
        for one in source.depths
    ]
