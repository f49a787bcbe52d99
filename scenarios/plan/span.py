"""How long a replay of steady traffic is, and which part of it is measured."""

from __future__ import annotations

import msgspec

from scenarios.plan.targets import SESSION, Objectives
from scenarios.plan.timeline import Timeline

MEASURED_TASKS = 400
"""Tasks that the measured time has at least, where session times are judged: of a p95, twenty lie beyond."""
MEASURED_REQUESTS = 4000
"""Requests that it has at least: of a p99, forty lie beyond."""


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """Times of a replay, in seconds: tasks arrive all the way through, the middle is measured."""

    warmup_s: float
    measured_s: float
    drain_s: float
    """Tasks arrive after the measured time too, so that its last ones do not run alone."""
    shortened: bool = False
    """Whether the limit on requests made all three shorter than they should be."""

    @property
    def total_s(self) -> float:
        """All three."""
        return self.warmup_s + self.measured_s + self.drain_s


def span_for(
    timeline: Timeline, objectives: Objectives, tasks_per_s: float, attempts_per_task: float, max_requests: int
) -> Span:
    """Times for traffic that runs as *timeline* on an idle replica; at most about *max_requests* requests arrive.

    Sessions under way at the start have empty caches: warm-up lasts until nearly all have sent a request, and for as
    long as a session spends in the engine. The drain lasts as long as a session where session times are judged, else
    as a request.
    """
    judged = any(one.metric == SESSION for one in objectives.targets)
    wanted_s = max(MEASURED_REQUESTS / attempts_per_task, MEASURED_TASKS if judged else 0) / tasks_per_s
    warmup_s = max(timeline.gap_s, timeline.engine_s)
    drain_s = timeline.session_s if judged else timeline.request_s
    measured_s = max(wanted_s, warmup_s)
    most_s = max_requests / (tasks_per_s * attempts_per_task)
    scale = min(1.0, most_s / (warmup_s + measured_s + drain_s))
    return Span(warmup_s=warmup_s * scale, measured_s=measured_s * scale, drain_s=drain_s * scale, shortened=scale < 1)
