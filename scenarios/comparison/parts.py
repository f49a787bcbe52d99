"""What the time of requests and sessions and the GPU seconds of turns are made of, as parts that add up.

Cache and prefill are told apart by what cached tokens would have cost to prefill on an idle replica (cache_saved_s of
the table): the prefill part is the prefill with that added, the cache part is that, negative. A table without this
column has both in the prefill part.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scenarios.comparison.resample import F64, Estimator, ratio
from scenarios.comparison.rows import Bool, Rows
from simulator.sessiontime import covered_s

TOTAL = "total"
MEANINGS = {
    "queue": "arrival to first schedule",
    "prefill": "schedule to first token, as if nothing were cached",
    "cache": "prefill of cached tokens on an idle replica, saved; loading them from the host adds",
    "decode": "first token to last",
    "gate": "the gate's own GPU seconds",
    "retries": "rejected attempts",
    "tool waits": "no request under way: tools, people, gates, sub-agents",
    "price": "price of a GPU second",
}
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Makeup:
    """A total as sums by session: each part's numerators, and the denominators that they share."""

    key: str
    parts: dict[str, F64]
    total: F64
    count: F64

    def estimator(self) -> Estimator:
        """Each part, and the total, over the count: ``key/part`` and ``key/total``."""
        made = {name: ratio(values, self.count) for name, values in (self.parts | {TOTAL: self.total}).items()}
        return lambda weights: {f"{self.key}/{name}": one(weights) for name, one in made.items()}


def makeups(rows: Rows, common: Bool, *, with_saved: bool) -> list[Estimator]:
    """The parts of E2EL (e2el), session time (session) and GPU seconds of a turn (cost) of one run, in seconds.

    *common* marks the attempts that the other run has too. Without *with_saved*, the cache part is 0.
    """
    saved_s = rows.column("cache_saved_s") if with_saved else np.zeros(rows.session.size)
    return [_request(rows, saved_s, common), _session(rows, saved_s).estimator(), _cost(rows, saved_s).estimator()]


def has_saved(rows: Rows) -> bool:
    """Whether the table says what the cache saved."""
    return "cache_saved_s" in rows.table.column_names


def _request(rows: Rows, saved_s: F64, common: Bool) -> Estimator:
    """E2EL of a measured request, mean; the parts are of the *common* ones.

    Retries is what requests that only this run has add to the mean.
    """
    known = rows.measured_done & common
    parts = {
        "queue": rows.column("queue_s"),
        "prefill": rows.column("prefill_s") + saved_s,
        "cache": -saved_s,
        "decode": rows.column("decode_s"),
    }
    sums = {name: rows.by_session(values, known) for name, values in parts.items()}
    e2el_s = rows.column("e2el_s")
    of_parts = Makeup("e2el", sums, rows.by_session(e2el_s, known), rows.by_session(None, known)).estimator()
    every = ratio(rows.by_session(e2el_s, rows.measured_done), rows.by_session(None, rows.measured_done))

    def under(weights: F64) -> dict[str, F64]:
        found = of_parts(weights)
        total = every(weights)
        return found | {"e2el/retries": total - found["e2el/total"], "e2el/total": total}

    return under


def _session(rows: Rows, saved_s: F64) -> Makeup:
    """Time of a measured session.

    While several requests of a session are under way, the moment counts for the furthest of its accepted ones, decode
    before prefill before queue; what rejected ones alone cover is retries, and what none covers is tool waits.
    """
    kept = rows.measured_sessions
    accepted = rows.done & rows.accepted
    ends = rows.column("finish_s")
    reached = [
        _covered(rows, accepted, rows.column(start), ends) for start in ("first_token_s", "scheduled_s", "arrival_s")
    ]
    present = _covered(rows, rows.done, rows.column("arrival_s"), ends)
    total = np.where(kept, np.nan_to_num(rows.session_s), 0.0)
    saved = rows.by_session(saved_s, accepted)
    parts = {
        "queue": reached[2] - reached[1],
        "prefill": reached[1] - reached[0] + saved,
        "cache": -saved,
        "decode": reached[0],
        "retries": present - reached[2],
        "tool waits": total - present,
    }
    sums = {name: np.where(kept, values, 0.0) for name, values in parts.items()}
    return Makeup("session", sums, total, kept.astype(np.float64))


def _cost(rows: Rows, saved_s: F64) -> Makeup:
    """GPU seconds per accepted turn; queueing and tool waits take none."""
    accepted, rejected = rows.done & rows.accepted, rows.done & ~rows.accepted
    parts = {
        "prefill": rows.column("prefill_gpu_s") + rows.column("draft_prefill_gpu_s") + saved_s,
        "cache": rows.column("kv_load_s") - saved_s,
        "decode": rows.column("decode_gpu_s"),
    }
    gpu_s = rows.column("gpu_s")
    rest = gpu_s - sum(parts.values())
    parts["gate"] = np.where(rest > _ROUNDING * gpu_s, rest, 0.0)
    sums = {name: rows.by_session(values, accepted) for name, values in parts.items()}
    sums["retries"] = rows.by_session(gpu_s, rejected)
    return Makeup("cost", sums, rows.by_session(gpu_s, rows.done), rows.by_session(rows.accepted))


def _covered(rows: Rows, of: Bool, starts: F64, ends: F64) -> F64:
    return covered_s(rows.session[of], starts[of], ends[of], rows.n_sessions)
