"""Compares two tables of attempts: sessions are resampled, in both runs alike where they replay one trace."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from scenarios.answer import Answer
from scenarios.comparison.breakdown import NOT_SAVED, sampled_breakdowns
from scenarios.comparison.document import Metric, Pairing, Requests
from scenarios.comparison.findings import Asked, Findings, metric_row
from scenarios.comparison.gates import objectives
from scenarios.comparison.metrics import estimators, kinds
from scenarios.comparison.parts import has_saved, makeups
from scenarios.comparison.resample import F64, I64, differences, estimate, interval, resamples_for, weights
from scenarios.comparison.rows import Rows, common_attempts, own_rows, paired_rows
from scenarios.comparison.totals import unsampled_figures
from traces.errors import SimtoolError

FEW_SESSIONS = 20
"""Below it, intervals from resampling tend to be too narrow."""
MIN_SESSIONS = 2
"""Below it, there is nothing to resample."""
_SAME_PRICE = 1e-9
"""Prices are read back from rounded sums."""
_COLUMNS = ("session_id", "turn_id", "attempt", "accepted", "refused", "measured", "rounds", "cost_usd")


def by_sessions(a: tuple[Answer, pa.Table], b: tuple[Answer, pa.Table], asked: Asked) -> Findings:
    """Compare two replays by their summaries and tables of attempts. Raises SimtoolError for a table of old."""
    for side, (_, table) in zip("AB", (a, b), strict=True):
        missing = [name for name in _COLUMNS if name not in table.column_names]
        if missing:
            raise SimtoolError(f"the table of attempts of {side} has no column {missing[0]!r}: replay again")
    paired = a[0].trace.sha256 == b[0].trace.sha256
    rows = paired_rows(a[1], b[1]) if paired else (own_rows(a[1]), own_rows(b[1]))
    pairs = common_attempts(a[1], b[1]) if paired else None
    sampled, resamples = _sampled((a[0], b[0]), rows, pairs, asked)
    with_saved = has_saved(rows[0]) and has_saved(rows[1])
    prices = _usd_per_s(a[0]), _usd_per_s(b[0])
    if math.isclose(*prices, rel_tol=_SAME_PRICE):
        prices = prices[0], prices[0]
    notes = [] if with_saved else [NOT_SAVED]
    return Findings(
        pairing=Pairing.PAIRED if paired else Pairing.UNPAIRED,
        reason=_reason(rows, paired=paired),
        metrics=_metrics((a[0], b[0]), sampled, asked),
        breakdowns=sampled_breakdowns(*sampled, prices, asked.confidence_level, notes),
        objectives=objectives(*rows, asked.slos, asked.wanted_attainment),
        resamples=resamples,
        requests=None if pairs is None else _requests(rows, pairs),
        warnings=_warnings(rows),
    )


def _sampled(
    answers: tuple[Answer, Answer], rows: tuple[Rows, Rows], pairs: tuple[I64, I64] | None, asked: Asked
) -> tuple[tuple[dict[str, F64], dict[str, F64]], int]:
    """All figures of both runs, as they are and resampled, and how often they are resampled."""
    longest = max(one.session.size for one in rows)
    resamples = resamples_for(longest) if min(one.n_sessions for one in rows) >= MIN_SESSIONS else 0
    with_saved = has_saved(rows[0]) and has_saved(rows[1])
    found = []
    for side, answer, one in zip((0, 1), answers, rows, strict=True):
        common = np.ones(one.session.size, dtype=np.bool_)
        if pairs is not None:
            common = _in_both(rows, pairs)[side]
        every = [
            *estimators(one, asked.percentiles, asked.slos, answer.replay.cost.provisioned_usd),
            *makeups(one, common, with_saved=with_saved),
        ]
        name = "AB"[side] if pairs is None else "both"
        found.append(estimate(every, weights(one.n_sessions, resamples, asked.seed, name)))
    return (found[0], found[1]), resamples


def _in_both(rows: tuple[Rows, Rows], pairs: tuple[I64, I64]) -> list[np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """Attempts that both runs have measured, in each of them."""
    both = rows[0].measured_done[pairs[0]] & rows[1].measured_done[pairs[1]]
    flags = [np.zeros(one.session.size, dtype=np.bool_) for one in rows]
    for flag, pair in zip(flags, pairs, strict=True):
        flag[pair[both]] = True
    return flags


def _metrics(
    answers: tuple[Answer, Answer], sampled: tuple[Mapping[str, F64], Mapping[str, F64]], asked: Asked
) -> list[Metric]:
    """A row for each metric that one of the runs has."""
    found = []
    whole = [unsampled_figures(answer, asked.percentiles) for answer in answers]
    for key, kind in kinds(asked.percentiles, asked.slos).items():
        between = None
        if key in sampled[0] and key in sampled[1]:
            values = [_known(float(side[key][0])) for side in sampled]
            if None not in values:
                between = interval(differences(sampled[0][key], sampled[1][key]), asked.confidence_level)
        else:
            values = [side.get(key) for side in whole]
        if values != [None, None]:
            found.append(metric_row(key, kind, values[0], values[1], between))
    return found


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value


def _usd_per_s(answer: Answer) -> float:
    cost = answer.replay.cost
    return cost.C_total_usd / cost.C_total_s if cost.C_total_s else 0.0


def _requests(rows: tuple[Rows, Rows], pairs: tuple[I64, I64]) -> Requests:
    in_a, in_b = _in_both(rows, pairs)
    both = in_a[pairs[0]]
    moved = rows[1].column("e2el_s")[pairs[1][both]] - rows[0].column("e2el_s")[pairs[0][both]]
    return Requests(
        common=int(both.sum()),
        only_in_a=int((rows[0].measured_done & ~in_a).sum()),
        only_in_b=int((rows[1].measured_done & ~in_b).sum()),
        faster=int((moved < 0).sum()),
        slower=int((moved > 0).sum()),
        equal=int((moved == 0).sum()),
    )


def _reason(rows: tuple[Rows, Rows], *, paired: bool) -> str:
    if paired:
        return "both replay the same trace: each resample draws the same sessions in both"
    counts = " and ".join(f"{one.n_sessions:,}" for one in rows)
    return f"the traces differ: the {counts} sessions are resampled in each run by itself"


def _warnings(rows: tuple[Rows, Rows]) -> list[str]:
    fewest = min(one.n_sessions for one in rows)
    if fewest < MIN_SESSIONS:
        return ["fewer than 2 sessions: no intervals, so that nothing is judged"]
    if fewest < FEW_SESSIONS:
        return [f"only {fewest} sessions: intervals tend to be too narrow"]
    return []
