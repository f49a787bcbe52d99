"""What each tool costs on the GPUs: the calls that the model writes, and the prefill of the turns that read results."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from simulator.replay import Replay
from simulator.toolruns import ToolRuns
from simulator.workload import NO_PARENT, Workload
from tokenclass.classes import CLASS_OF_SUBCLASS, PositionClass, SubClass
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
    count = np.bincount(owner, minlength=workload.n_attempts)
    share: F64 = 1.0 / count[owner]
    starts = _call_starts(workload)
    name_owner = np.searchsorted(workload.offsets, starts, side="right") - 1
    matched = np.bincount(name_owner, minlength=workload.n_attempts) == count
    starts, name_owner = starts[matched[name_owner]], name_owner[matched[name_owner]]
    if not starts.size:
        return share
    first = np.concatenate([[True], name_owner[1:] != name_owner[:-1]])
    begin = np.where(first, workload.offsets[name_owner], starts)
    end = np.append(begin[1:], 0)
    last = np.append(first[1:], True)
    end = np.where(last, workload.offsets[name_owner + 1], end)
    weight = (schema_before[end] - schema_before[begin]).astype(np.float64)
    total = np.bincount(name_owner, weight, workload.n_attempts)
    share[matched[owner]] = weight / total[name_owner]
    return share


def _call_starts(workload: Workload) -> I64:
    """Where each call begins: at the delimiter before its name, if there is one between it and the name before."""
    names, marks = (_run_starts(workload, label) for label in (SubClass.N, SubClass.D))
    if not names.size or not marks.size:
        return names
    before = np.searchsorted(marks, names, side="right") - 1
    mark = np.where(before >= 0, marks[np.maximum(before, 0)], -1)
    attempt = workload.offsets[np.searchsorted(workload.offsets, names, side="right") - 1]
    least = np.maximum(attempt, np.concatenate([[-1], names[:-1]]))
    return np.where(mark >= least, mark, names)


def _run_starts(workload: Workload, label: SubClass) -> I64:
    """Where runs of *label* begin; none goes over the end of an output."""
    among = workload.labels == label
    begins = among.copy()
    begins[1:] &= ~among[:-1]
    firsts = workload.offsets[:-1][np.diff(workload.offsets) > 0]
    begins[firsts] = among[firsts]
    return np.flatnonzero(begins)


def _result_prefill(replay: Replay, workload: Workload, runs: ToolRuns) -> F64:
    """Prefill seconds by tool of the turns that wait for tool runs."""
    by_turn = np.bincount(workload.attempt_turn, replay.prefill_gpu_s + replay.draft_prefill_gpu_s, workload.n_turns)
    child = np.flatnonzero(workload.turn_parent != NO_PARENT)
    after = np.bincount(workload.turn_parent[child], by_turn[child], workload.n_turns)
    count = np.diff(runs.offsets)
    turn = runs.turn
    return np.bincount(runs.tool, after[turn] / count[turn], len(runs.names)).astype(np.float64)
