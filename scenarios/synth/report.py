"""How far a synthetic trace is from its source: two-sample tests over what a replay depends on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import groupby

import msgspec
import numpy as np
from scipy import stats

from tokenclass.classes import CLASS_OF_SUBCLASS, PositionClass, SubClass
from tokenclass.tagged import LabelRuns, TaggedSession

Features = dict[str, list[float]]
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
    energy_distance: float
    """In the square root of the quantity's unit."""


def features(sessions: Iterable[TaggedSession]) -> Features:
    """What a replay depends on, one value a session, turn, span or wait."""
    found: Features = defaultdict(list)
    starts = []
    for session in sessions:
        found["turns per session"].append(len(session.turns))
        counts = session.class_tokens
        if counts.sum():
            found["w_S of a session"].append(float(counts[PositionClass.S] / counts.sum()))
        if session.parent is None and session.start_s is not None:
            starts.append(session.start_s)
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
    found["gap between sessions s"] += np.diff(np.sort(starts)).tolist()
    return {name: values for name, values in found.items() if values}


def compare(source: Features, synthetic: Features) -> list[Compared]:
    """Both traces side by side, quantity by quantity; those that one of them lacks are left out."""
    rows = []
    for name in sorted(source.keys() & synthetic.keys()):
        ours, theirs = np.array(source[name]), np.array(synthetic[name])
        test = stats.ks_2samp(ours, theirs)
        rows.append(
            Compared(
                quantity=name,
                source_n=ours.size,
                synthetic_n=theirs.size,
                source_mean=float(ours.mean()),
                synthetic_mean=float(theirs.mean()),
                ks_statistic=float(test.statistic),
                ks_p=float(test.pvalue),
                energy_distance=float(stats.energy_distance(ours, theirs)),
            )
        )
    return rows


def _spans(labels: LabelRuns) -> list[tuple[str, int]]:
    """Class spans of an output as (class, tokens)."""
    runs = zip((_CLASS_OF[value] for value in labels.values.tolist()), labels.lengths.tolist(), strict=True)
    return [(name, sum(length for _, length in group)) for name, group in groupby(runs, key=lambda run: run[0])]
