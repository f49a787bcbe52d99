"""The schema share at which speculation breaks even: by the law, and on the real spans of a recording."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from scenarios.acceptance.expected import AcceptanceChoice, expectation
from scenarios.law.labelcounts import chosen_labels, label_counts
from scenarios.law.stretch import schema_share, stretched
from simulator import law
from simulator.acceptance.base import F64, Outputs
from simulator.lawcosts import LawCosts
from simulator.roots import find_root
from tokenclass.classes import CLASS_OF_SUBCLASS, PositionClass

BREAK_EVEN_TOKENS = 40_000
"""Output tokens that the break-even on real spans is searched on; a larger trace is thinned evenly by outputs."""
MOST_STRETCH = 64.0


class BreakEvens(msgspec.Struct, frozen=True, kw_only=True):
    """Schema share at which speculation neither pays nor loses, three ways; None: at no share."""

    w_S: float
    """The traffic's own."""
    eps_S: float | None
    eps_n: float | None
    """Mismatch of the tokens outside schema."""
    first_order: float | None
    exact: float | None
    """From the root of tau = o + gamma (delta + d)."""
    first_order_reading: str
    exact_reading: str
    """Where speculation pays: a share outside 0..1 means at every share, or at none."""
    on_spans: float | None
    """Schema spans stretched alike, all others kept, until the exact saving is 0."""
    stretch: float | None
    on_spans_note: str


def break_evens(
    outputs: Outputs, choice: AcceptanceChoice, costs: LawCosts, gamma: int, per_round: float
) -> BreakEvens:
    """Break-evens on *outputs*; a round costs *per_round* relative to c_T."""
    counts = label_counts(outputs.labels)
    is_S = np.array([one is PositionClass.S for one in CLASS_OF_SUBCLASS])
    eps_S, eps_n = (_mean(choice.eps[part], counts[part]) for part in (is_S, ~is_S))
    depth, by_chain = choice.law_terms(gamma, costs)
    terms = (depth, by_chain.delta, by_chain.d, max(0.0, costs.o))
    stars = law.eps_star_first_order(*terms), law.eps_star_exact(*terms)
    shares = []
    for star in stars:
        usable = star is not None and eps_S is not None and eps_n is not None and eps_S != eps_n
        shares.append((eps_n - star) / (eps_n - eps_S) if usable else None)  # type: ignore[operator]
    on_spans, stretch, note = _on_spans(outputs, choice, gamma, per_round)
    return BreakEvens(
        w_S=schema_share(outputs.labels),
        eps_S=eps_S,
        eps_n=eps_n,
        first_order=shares[0],
        exact=shares[1],
        first_order_reading=_reading(shares[0], stars[0], eps_S, eps_n),
        exact_reading=_reading(shares[1], stars[1], eps_S, eps_n),
        on_spans=on_spans,
        stretch=stretch,
        on_spans_note=note,
    )


def _reading(share: float | None, star: float | None, eps_S: float | None, eps_n: float | None) -> str:
    """At which schema shares speculation pays, by the law."""
    if star is None:
        return "pays at no share: even drafts that are always right lose"
    if share is None or eps_S is None or eps_n is None:
        return "the share of schema has no effect"
    if not 0 <= share <= 1:
        return "pays at every share" if eps_S < star else "pays at no share"
    return "pays above it" if eps_S < eps_n else "pays below it: schema is harder to draft here than the rest"


def _mean(values: F64, counts: Sequence[int] | np.ndarray[tuple[int], np.dtype[np.int64]]) -> float | None:
    total = float(np.sum(counts))
    return float(values @ np.asarray(counts) / total) if total else None


def _on_spans(
    outputs: Outputs, choice: AcceptanceChoice, gamma: int, per_round: float
) -> tuple[float | None, float | None, str]:
    """Schema share, and stretch of the schema spans, at which the exact saving is 0; and what that means."""
    every = max(1, -(-len(outputs.labels) // BREAK_EVEN_TOKENS))
    thinned = _thinned(outputs, every)

    def saving(factor: float) -> float:
        return (
            1
            - per_round
            / expectation(choice.by_label or choice.table, stretched(thinned, factor), gamma).tokens_per_round
        )

    if not schema_share(thinned.labels):
        return None, None, "there is no schema to stretch"
    without, most = saving(0.0), saving(MOST_STRETCH)
    if (without > 0) == (most > 0):
        state = "pays" if without > 0 else "loses"
        return None, None, f"{state} with the schema spans removed and at {MOST_STRETCH:g} times their length alike"
    factor = find_root(saving, 0.0, MOST_STRETCH, xtol=1e-3)
    share = schema_share(stretched(thinned, factor).labels)
    return share, factor, f"schema spans {factor:.3g} times as long as recorded"


def _thinned(outputs: Outputs, every: int) -> Outputs:
    chosen = np.arange(0, len(outputs), every)
    labels, offsets = chosen_labels(outputs.labels, outputs.offsets, chosen)
    context = None if outputs.context_tokens is None else outputs.context_tokens[chosen]
    return Outputs(labels, offsets, outputs.keys[chosen], context)
