"""What each tool costs on the GPUs: the calls that the model writes, and the prefill of the turns that read results."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from simulator.callspans import UNKNOWN_TOOL, call_spans
from simulator.replay import Replay
from simulator.toolruns import ToolRuns
from simulator.workload import NO_PARENT, Workload
from tokenclass.classes import CLASS_OF_SUBCLASS, PositionClass
from traces.safetext import safe_line

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

MOST_TOOLS = 200
"""Tools listed by name; the cheaper ones beyond are one row."""
OTHERS = "(other tools)"
UNNAMED = "(calls without a recorded tool run)"
_CLASS = np.array(CLASS_OF_SUBCLASS, dtype=np.uint8)


class ToolCost(msgspec.Struct, frozen=True, kw_only=True):
    """One tool, over all its runs."""

    tool: str
    runs: int
    call_tokens: float
    """Tokens of its calls, rejected draws included."""
    call_gpu_s: float
    """Decode seconds of those tokens."""
    result_prefill_gpu_s: float
    """Prefill of the turns that follow its runs, shared evenly by tools that ran side by side."""
    wait_s: float | None
    """Sum of its recorded run times; None: none recorded."""
    usd: float
    """Both GPU times at the replay's price."""


def tool_costs(replay: Replay, workload: Workload, usd_per_gpu_s: float) -> list[ToolCost]:
    """A row a tool, the dearest first; empty for a workload that does not know its tools by name.

    The tokens of a turn's calls are told apart where as many tool names were written as tools ran, and shared evenly
    elsewhere.
    """
    runs = workload.tool_runs
    if runs is None or not runs.names:
        return []
    n = len(runs.names)
    owner, run = _pairs(workload, runs)
    schema_before = np.concatenate([[0], np.cumsum(_CLASS[workload.labels] == PositionClass.S)])
    share = _shares(workload, owner, schema_before)
    tokens = np.diff(schema_before[workload.offsets]).astype(np.float64)
    gpu_s = replay.by_step.decode_gpu_s_by_class[:, PositionClass.S]
    tool = runs.tool[run]
    by_tool = [np.bincount(tool, column[owner] * share, n) for column in (tokens, gpu_s)]
    known = ~np.isnan(runs.duration_s)
    wait_s = np.bincount(runs.tool[known], runs.duration_s[known], n)
    has_wait = np.bincount(runs.tool[known], minlength=n) > 0
    count = np.bincount(runs.tool, minlength=n)
    prefill = _result_prefill(replay, workload, runs)
    rows = [
        _row(
            safe_line(runs.names[k]),
            int(count[k]),
            float(by_tool[0][k]),
            (float(by_tool[1][k]), float(prefill[k])),
            float(wait_s[k]) if has_wait[k] else None,
            usd_per_gpu_s,
        )
        for k in range(n)
    ]
    alone = np.bincount(owner, minlength=tokens.size) == 0
    rest = float(tokens[alone].sum())
    if rest:
        rows.append(_row(UNNAMED, 0, rest, (float(gpu_s[alone].sum()), 0.0), None, usd_per_gpu_s))
    return _shortened(sorted(rows, key=lambda row: (-row.usd, row.tool)))


def _row(
    tool: str, runs: int, tokens: float, gpu_s: tuple[float, float], wait_s: float | None, usd_per_gpu_s: float
) -> ToolCost:
    return ToolCost(
        tool=tool,
        runs=runs,
        call_tokens=tokens,
        call_gpu_s=gpu_s[0],
        result_prefill_gpu_s=gpu_s[1],
        wait_s=wait_s,
        usd=sum(gpu_s) * usd_per_gpu_s,
    )


def _shortened(rows: Sequence[ToolCost]) -> list[ToolCost]:
    rest = rows[MOST_TOOLS:]
    if not rest:
        return list(rows)
    waits = [row.wait_s for row in rest if row.wait_s is not None]
    others = ToolCost(
        tool=OTHERS,
        runs=sum(row.runs for row in rest),
        call_tokens=sum(row.call_tokens for row in rest),
        call_gpu_s=sum(row.call_gpu_s for row in rest),
        result_prefill_gpu_s=sum(row.result_prefill_gpu_s for row in rest),
        wait_s=sum(waits) if waits else None,
        usd=sum(row.usd for row in rest),
    )
    return [*rows[:MOST_TOOLS], others]


def _pairs(workload: Workload, runs: ToolRuns) -> tuple[I64, I64]:
    """Each attempt with each tool run of its turn: numbers of the attempts, and of the runs."""
    turn = workload.attempt_turn
    count = np.diff(runs.offsets)[turn]
    owner = np.repeat(np.arange(turn.size), count)
    within = np.arange(owner.size) - np.repeat(np.cumsum(count) - count, count)
    return owner, runs.offsets[turn[owner]] + within


def _shares(workload: Workload, owner: I64, schema_before: I64) -> F64:
    """Share of its attempt's call tokens that each pair gets; *schema_before* counts those before each token."""
    share: F64 = 1.0 / np.bincount(owner, minlength=workload.n_attempts)[owner]
    calls = call_spans(workload)
    told = calls.tool != UNKNOWN_TOOL
    attempt, start, end = calls.attempt[told], calls.start[told], calls.end[told]
    if not attempt.size:
        return share
    first = np.concatenate([[True], attempt[1:] != attempt[:-1]])
    begin = np.where(first, workload.offsets[attempt], start)
    weight = (schema_before[end] - schema_before[begin]).astype(np.float64)
    matched = np.bincount(attempt, minlength=workload.n_attempts) > 0
    share[matched[owner]] = weight / np.bincount(attempt, weight, workload.n_attempts)[attempt]
    return share


def _result_prefill(replay: Replay, workload: Workload, runs: ToolRuns) -> F64:
    """Prefill seconds by tool of the turns that wait for tool runs."""
    by_turn = np.bincount(workload.attempt_turn, replay.prefill_gpu_s + replay.draft_prefill_gpu_s, workload.n_turns)
    child = np.flatnonzero(workload.turn_parent != NO_PARENT)
    after = np.bincount(workload.turn_parent[child], by_turn[child], workload.n_turns)
    count = np.diff(runs.offsets)
    turn = runs.turn
    return np.bincount(runs.tool, after[turn] / count[turn], len(runs.names)).astype(np.float64)
