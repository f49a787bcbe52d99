"""How much of the GPU time goes into prompts."""

from __future__ import annotations

from scenarios.runs.metric import Metric
from simulator.metrics import attributed_s
from simulator.replay import Replay
from simulator.window import Window
from simulator.workload import Workload


def _of(replay: Replay, _: Workload, measured: Window) -> float | None:
    done = replay.done & measured.attempts
    total = float(attributed_s(replay)[done].sum())
    return float((replay.prefill_gpu_s + replay.draft_prefill_gpu_s)[done].sum()) / total if total else None


METRIC = Metric(
    name="prefill_share",
    label="prefill of all GPU time",
    unit="%",
    lower_is_better=True,
    definition="Prefill of target and draft over the attributed GPU seconds of the measured requests: what drafts "
    "cannot save.",
    of=_of,
)
