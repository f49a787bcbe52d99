"""How far a synthetic trace is from its source: two-sample tests over what a replay depends on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
from scipy import sparse, stats

from simulator import rng
from tokenclass.classes import CLASS_OF_SUBCLASS, PositionClass, SubClass
from tokenclass.tagged import LabelRuns, TaggedSession

PERMUTATIONS = 499
_BINS = 256
_AT_ONCE = 50
F64 = npt.NDArray[np.float64]


class Sample(NamedTuple):
    """Values of one quantity, and the session that each is of."""

    values: list[float]
    session: list[int]


Features = dict[str, Sample]
_CLASS_OF = {int(label): CLASS_OF_SUBCLASS[label].name for label in SubClass}


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """One quantity in both traces."""

    quantity: str
    source_n: int
    synthetic_n: int
    source_mean: float
    synthetic_mean: float
    ks_statistic: float
    """Largest gap between the two cumulative distributions."""
    ks_p: float
    """How often a gap as large comes about where whole sessions are dealt to both sides at random.

    Values of one session are no independent draws: a test that takes them as such finds differences between halves of
    one recording.
    """
    energy_distance: float
    """In the square root of the quantity's unit."""


def features(sessions: Iterable[TaggedSession]) -> Features:
    """What a replay depends on, one value a session, turn, span or wait."""
    found: defaultdict[str, Sample] = defaultdict(lambda: Sample([], []))
    starts = []
    for number, session in enumerate(sessions):
        for name, values in _of_session(session).items():
            found[name].values.extend(values)
            found[name].session.extend([number] * len(values))
        if session.parent is None and session.start_s is not None:
            starts.append(session.start_s)
    gaps = np.diff(np.sort(starts)).tolist()
    found["gap between sessions s"] = Sample(gaps, list(range(len(gaps))))
    return {name: sample for name, sample in found.items() if sample.values}


def _of_session(session: TaggedSession) -> dict[str, list[float]]:
    found: defaultdict[str, list[float]] = defaultdict(list)
    found["turns per session"].append(len(session.turns))
    counts = session.class_tokens
    if counts.sum():
        found["w_S of a session"].append(float(counts[PositionClass.S] / counts.sum()))
    before = None
    for turn in session.turns:
        found["draws per turn"].append(len(turn.attempts))
        found["output tokens of a turn"].append(turn.final.labels.n_tokens)
        found["prompt tokens of a turn"].append(turn.prompt.tokens)
        if before is not None:
            found["prompt growth in tokens"].append(turn.prompt.tokens - before)
        before = turn.prompt.tokens
        found["calls per turn"].append(len(turn.tool_waits))
        found["tool wait s"] += [wait.duration_s for wait in turn.tool_waits if wait.duration_s is not None]
        for name, length in _spans(turn.final.labels):
            found[f"{name} span tokens"].append(length)
    return found


def compare(source: Features, synthetic: Features) -> list[Compared]:
    """Both traces side by side, quantity by quantity; those that one of them lacks are left out."""
    rows = []
    for name in sorted(source.keys() & synthetic.keys()):
        ours, theirs = np.array(source[name].values), np.array(synthetic[name].values)
        rows.append(
            Compared(
                quantity=name,
                source_n=ours.size,
                synthetic_n=theirs.size,
                source_mean=float(ours.mean()),
                synthetic_mean=float(theirs.mean()),
                ks_statistic=float(stats.ks_2samp(ours, theirs).statistic),
                ks_p=permutation_p(source[name], synthetic[name]),
                energy_distance=float(stats.energy_distance(ours, theirs)),
            )
        )
    return rows


def permutation_p(one: Sample, other: Sample) -> float:
    """Share of random deals of the sessions of both samples, theirs among them, with a gap as large as between them.

    The gap is looked at between at most _BINS values. PERMUTATIONS deals of sides of as many sessions as they have.
    """
    values = np.concatenate([one.values, other.values])
    _, ours = np.unique(one.session, return_inverse=True)
    _, theirs = np.unique(other.session, return_inverse=True)
    n_ours = int(ours.max()) + 1
    owner = np.concatenate([ours, theirs + n_ours])
    n_units = int(owner.max()) + 1
    edges = np.unique(np.quantile(values, np.linspace(0, 1, _BINS + 1), method="inverted_cdf"))
    bins = np.minimum(edges.searchsorted(values), edges.size - 1)
    counts = sparse.coo_array((np.ones(values.size), (owner, bins)), shape=(n_units, edges.size)).tocsr()
    total = np.asarray(counts.sum(axis=0))
    draw = rng.generator(0, "permutation of sessions")
    seen = _gap(np.arange(n_units)[None] < n_ours, counts, total)[0]
    as_large = 1
    for first in range(0, PERMUTATIONS, _AT_ONCE):
        deals = draw.random((min(_AT_ONCE, PERMUTATIONS - first), n_units)).argsort(axis=1) < n_ours
        as_large += int(np.count_nonzero(_gap(deals, counts, total) >= seen - 1e-12))
    return as_large / (1 + PERMUTATIONS)


def _gap(dealt: npt.NDArray[np.bool_], counts: sparse.csr_array, total: F64) -> F64:
    """Largest gap of the cumulative shares of units that are *dealt* (deals, units) and of the others."""
    mine = np.cumsum(np.asarray(dealt.astype(np.float64) @ counts), axis=1)
    rest = np.cumsum(total) - mine
    return np.asarray(np.abs(mine / mine[:, -1:] - rest / rest[:, -1:]).max(axis=1))


def _spans(labels: LabelRuns) -> list[tuple[str, int]]:
    """Class spans of an output as (class, tokens)."""
    runs = zip((_CLASS_OF[value] for value in labels.values.tolist()), labels.lengths.tolist(), strict=True)
    return [(name, sum(length for _, length in group)) for name, group in groupby(runs, key=lambda run: run[0])]
