"""What a server's counters say beside acceptance: kappa at a known predictability, prefix-cache hits."""

from __future__ import annotations

from collections.abc import Sequence

from scenarios.server.run import ServerRun
from simulator.acceptance.table import alpha_of_acceptance_length


def eps_bar(acceptance_length: float, gamma: int) -> float:
    """The eps of the constant acceptance whose rounds of *gamma* drafts emit *acceptance_length* tokens."""
    return 1 - alpha_of_acceptance_length(acceptance_length, gamma)


def check_rho_bar(rho_bar: float) -> None:
    """Raise ValueError for a mean predictability of 0 or 1, where any kappa fits, or beyond."""
    if not 0 < rho_bar < 1:
        raise ValueError(f"rho_bar {rho_bar} must be between 0 and 1 to fit kappa")


def fitted_kappa(run: ServerRun, rho_bar: float) -> float:
    """Kappa of a run on traffic of mean predictability *rho_bar*: eps_bar over 1 - rho_bar.

    eps_bar is that of the constant acceptance with the run's acceptance length. Raises ValueError without speculation
    or at *rho_bar* 1, where any kappa fits.
    """
    if not run.num_drafts:
        raise ValueError(f"{run.source} ran without speculation: kappa needs a run with it")
    check_rho_bar(rho_bar)
    return eps_bar(run.acceptance_length, run.gamma) / (1 - rho_bar)


def hit_share(runs: Sequence[ServerRun]) -> float | None:
    """h: prefix-cache hit tokens over tokens queried, None without queries."""
    queries = sum(run.prefix_queries_tokens or 0.0 for run in runs)
    return sum(run.prefix_hits_tokens or 0.0 for run in runs) / queries if queries else None
