"""How many tokens are drafted and verified in vain."""

from __future__ import annotations

from scenarios.runs.metric import Metric
from simulator.replay import Replay
from simulator.window import Window
from simulator.workload import Workload


def _of(replay: Replay, _: Workload, measured: Window) -> float | None:
    if not replay.config.engine.num_speculative_tokens:
        return None
    done = replay.done & measured.attempts
    emitted = int(replay.output_tokens[done].sum())
    rejected = int((replay.by_step.draft_tokens - replay.by_step.accepted_tokens)[done].sum())
    return rejected / emitted if emitted else None


METRIC = Metric(
    name="rejected_draft_tokens_per_output_token",
    label="drafts rejected per output token",
    unit="",
    lower_is_better=True,
    definition="Draft tokens that were verified and rejected over output tokens, both of the measured requests.",
    of=_of,
)
