"""Figures by session and by task: a task is a session that a user started, with all its sub-agents."""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

from scenarios.agents.quality import QualityBudget
from scenarios.answer import Interval
from scenarios.ask import Asked
from simulator.gate import measured_nu
from simulator.gateconfig import Check, GateConfig
from simulator.metrics import describe, paid_s
from simulator.replay import Replay
from simulator.sessiontime import session_times
from simulator.solved import accepted_turns, solved_tasks, task_of_session
from simulator.workload import Workload

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Distribution = dict[str, float | None]


class UnitFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Distributions over sessions or tasks of one replay."""

    count: int
    turns: Distribution
    draws: Distribution
    latency_s: Distribution
    """From the first request to the last end; a task's counts sub-agents that outlive their parent."""
    decode_s: Distribution
    prefill_s: Distribution
    queue_s: Distribution
    tool_wait_s: Distribution
    """Neither of the three, for all sessions of a task together: tools, gates, people, sub-agents waited for."""
    time_share: Distribution
    """Each of the four over their sum, of all sessions or tasks together; None where that is 0."""
    gpu_s: Distribution
    usd: Distribution


class GateFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What the gate itself did and cost."""

    verdicts: int
    rejected_by: dict[str, int]
    """Draws by the check that rejected them; any: a pass probability given without a check."""
    turns_given_up: int
    """Turns drawn of which no draw passed."""
    turns_abandoned: int
    """Turns not sent, because a turn given up before them ended the session."""
    gpu_s: float
    usd: float
    gpu_s_per_accepted_turn: float


class UnitCost(msgspec.Struct, frozen=True, kw_only=True):
    """What results cost, everything spent on failures in it; the gate's own cost is counted."""

    accepted_turns: int
    gpu_s_per_accepted_turn: float | None
    usd_per_accepted_turn: float | None
    solved_tasks: int
    """Tasks of which every turn was accepted: none was given up, refused or abandoned. Where the recording has outcomes
    of tasks, those among them that it calls solved."""
    tasks_with_outcome: int
    """Tasks whose outcome the recording has."""
    gpu_s_per_solved_task: float | None
    usd_per_solved_task: float | None


class SessionReport(msgspec.Struct, frozen=True, kw_only=True):
    """One replay by session and by task."""

    gamma: int
    nu: Interval
    """Draws per accepted turn, 95 % by bootstrap over sessions."""
    sessions: UnitFigures
    tasks: UnitFigures
    gate: GateFigures | None
    cost: UnitCost
    quality: QualityBudget
    """What the levers of the replay may cost in quality."""


def session_reports(asked: Asked, gate: GateConfig | None, seed: int) -> list[SessionReport]:
    """A report of the replay, and one of that without speculation if there is one."""
    replays = [asked.replay, *([asked.baseline] if asked.baseline is not None else [])]
    return [_report(replay, asked, gate, seed) for replay in replays]


def _report(replay: Replay, asked: Asked, gate: GateConfig | None, seed: int) -> SessionReport:
    workload = asked.workload
    usd_per_s = asked.platform.gpu_usd_per_s
    own = np.arange(workload.n_sessions)
    task = task_of_session(workload)
    return SessionReport(
        gamma=replay.config.engine.num_speculative_tokens,
        nu=Interval(*measured_nu(workload, replay.done, seed)),
        sessions=_figures(replay, workload, own, usd_per_s),
        tasks=_figures(replay, workload, task, usd_per_s),
        gate=_gate(replay, workload, usd_per_s) if gate is not None else None,
        cost=_cost(replay, workload, usd_per_s),
        quality=asked.answer.quality,
    )


def _figures(replay: Replay, workload: Workload, unit: I64, usd_per_s: float) -> UnitFigures:
    """Figures of the sessions grouped by *unit*."""
    count = workload.n_sessions
    kept = np.unique(unit)
    session = workload.attempt_session

    def summed(per_session: npt.NDArray[np.float64] | npt.NDArray[np.int64]) -> F64:
        return np.bincount(unit, np.nan_to_num(per_session), count)[kept].astype(np.float64)

    ends = np.full(count, -np.inf)
    np.maximum.at(ends, unit, np.where(np.isnan(replay.session_end_s), -np.inf, replay.session_end_s))
    starts = np.full(count, np.inf)
    np.minimum.at(starts, unit, np.where(np.isnan(replay.session_start_s), np.inf, replay.session_start_s))
    latency = (ends - starts)[kept]
    gpu_s = summed(np.bincount(session, np.where(replay.done, paid_s(replay, workload), 0.0), count))
    times = {name: summed(values) for name, values in session_times(replay, workload).items()}
    spent_s = float(sum(values.sum() for values in times.values()))
    share = {name: float(values.sum()) / spent_s if spent_s else None for name, values in times.items()}
    return UnitFigures(
        count=kept.size,
        turns=describe(summed(np.diff(workload.session_turns).astype(np.float64))),
        draws=describe(summed(np.bincount(session, replay.done, count))),
        latency_s=describe(np.where(np.isfinite(latency), latency, np.nan)),
        gpu_s=describe(gpu_s),
        usd=describe(gpu_s * usd_per_s),
        time_share=share,
        **{name: describe(values) for name, values in times.items()},
    )


def _gate(replay: Replay, workload: Workload, usd_per_s: float) -> GateFigures:
    plan = workload.draws
    assert plan is not None
    done = replay.done
    verdicts = int(done.sum())
    accepted = int((done & ~workload.attempt_rejected).sum())
    gpu_s = float(plan.gate_gpu_s[done].sum())
    counts = np.bincount(plan.rejected_by[done] + 1, minlength=len(Check) + 1)[1:]
    first = workload.turn_attempts[:-1]
    return GateFigures(
        verdicts=verdicts,
        rejected_by={check.value: int(count) for check, count in zip(Check, counts, strict=True) if count},
        turns_given_up=int((plan.given_up & done[workload.turn_attempts[1:] - 1]).sum()),
        turns_abandoned=int(replay.abandoned[first].sum()),
        gpu_s=gpu_s,
        usd=gpu_s * usd_per_s,
        gpu_s_per_accepted_turn=gpu_s / max(1, accepted),
    )


def _cost(replay: Replay, workload: Workload, usd_per_s: float) -> UnitCost:
    total_s = float(paid_s(replay, workload)[replay.done].sum())
    found = solved_tasks(replay, workload)
    solved = found.solved
    turns = int(accepted_turns(replay, workload).sum())
    return UnitCost(
        accepted_turns=turns,
        gpu_s_per_accepted_turn=total_s / turns if turns else None,
        usd_per_accepted_turn=total_s * usd_per_s / turns if turns else None,
        solved_tasks=solved,
        tasks_with_outcome=found.with_outcome,
        gpu_s_per_solved_task=total_s / solved if solved else None,
        usd_per_solved_task=total_s * usd_per_s / solved if solved else None,
    )
