"""Verification-gated draws: how often each turn is drawn, on what prompt, in what order, and when the gate gives up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from simulator import rng
from simulator.drawplan import DrawPlan
from simulator.gateconfig import ANSWER, CALL, MOST_DRAWS, Check, GateConfig, GiveUp, RetryPrompt
from simulator.resample import repeated
from simulator.workload import Workload, turn_names

Bool = npt.NDArray[np.bool_]
I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]
U64 = npt.NDArray[np.uint64]

BOOTSTRAP_DRAWS = 2000
_NAMES_SHOWN = 8


def gated(workload: Workload, config: GateConfig, seed: int) -> Workload:
    """*workload* with the draws that *config* makes of each turn's accepted output.

    Each draw repeats that output; recorded rejected attempts are left out. Pass or fail of each draw is keyed by its
    turn and number, so it stays when the gate's other settings change. Raises ValueError for a tool that no turn calls.
    """
    passing = np.stack([_passing(workload, config.passing(check)) for check in Check])
    keys = np.array([rng.key(seed, *names, "gate") for names in turn_names(workload)], dtype=np.uint64)
    draws, accepted, given_up = _draws(config, np.prod(np.nan_to_num(passing, nan=1.0), axis=0), keys)
    result = repeated(workload, draws)
    rejected = np.ones(result.n_attempts, dtype=np.bool_)
    kept = np.arange(workload.n_turns) if config.give_up is GiveUp.LAST else np.flatnonzero(~given_up)
    rejected[result.turn_attempts[kept] + accepted[kept]] = False
    number = np.arange(result.n_attempts) - result.turn_attempts[result.attempt_turn]
    extra = np.zeros(result.n_attempts, dtype=np.int64)
    if config.prompt is RetryPrompt.APPENDED:
        extra = number * (result.output_tokens + config.error_tokens)
    unit = rng.uniform(keys[result.attempt_turn], number.astype(np.uint64))
    rejected_by, gate_s, gate_gpu_s = _verdicts(config, passing[:, result.attempt_turn], unit)
    plan = DrawPlan(
        extra_prompt_tokens=extra,
        given_up=given_up,
        parallel=config.parallel_draws is not None,
        ends_sessions=config.give_up is GiveUp.END,
        gate_s=gate_s,
        gate_gpu_s=gate_gpu_s,
        rejected_by=rejected_by,
    )
    return replace(result, attempt_rejected=rejected, draws=plan)


def _passing(workload: Workload, by_kind: Mapping[str, float]) -> F64:
    """Probability of each turn to pass a check; NaN for turns that it does not look at.

    A turn passes with the product over the different tools that it calls, of which those without a probability of
    their own count once together.
    """
    calling = workload.turn_has_tools
    found = np.where(calling, by_kind.get(CALL, np.nan), by_kind.get(ANSWER, np.nan))
    tools = {kind: passing for kind, passing in by_kind.items() if kind not in (CALL, ANSWER)}
    if not tools:
        return found
    runs = workload.tool_runs
    names = runs.names if runs is not None else ()
    for kind in tools:
        if kind not in names:
            shown = ", ".join(names[:_NAMES_SHOWN]) + (", ..." if len(names) > _NAMES_SHOWN else "")
            raise ValueError(f"--gate: no turn calls {kind!r}; this recording's tools: {shown or 'none are named'}")
    assert runs is not None
    own = np.array([tools.get(name, np.nan) for name in names])
    pairs = np.unique(np.stack([runs.turn, runs.tool]), axis=1)
    factor = own[pairs[1]]
    named = ~np.isnan(factor)
    product = np.ones(workload.n_turns)
    np.multiply.at(product, pairs[0][named], factor[named])
    with_own, without = (np.bincount(pairs[0][some], minlength=workload.n_turns) > 0 for some in (named, ~named))
    rest = np.where(without & calling, np.nan_to_num(found, nan=1.0), 1.0)
    return np.where(with_own, product * rest, found)


def _draws(config: GateConfig, passing: F64, keys: U64) -> tuple[I64, I64, Bool]:
    """Per turn: draws, the number of the one that counts, and whether none passed."""
    limit = config.parallel_draws or config.max_draws or MOST_DRAWS
    first = np.full(keys.size, limit, dtype=np.int64)
    for number in range(limit):
        open_turns = np.flatnonzero(first == limit)
        if not open_turns.size:
            break
        unit = rng.uniform(keys[open_turns], np.array([number], dtype=np.uint64))
        first[open_turns[unit < passing[open_turns]]] = number
    given_up = first == limit
    accepted = np.where(given_up, limit - 1, first)
    if config.parallel_draws is not None:
        return np.full(keys.size, config.parallel_draws, dtype=np.int64), accepted, given_up
    return accepted + 1, accepted, given_up


def _verdicts(config: GateConfig, passing: F64, unit: F64) -> tuple[I64, F64, F64]:
    """By draw: the check that rejected it (-1: none), seconds and GPU seconds of its verdict.

    *unit* decides all checks of a draw together: one whose checks before this one pass with probability q is rejected
    here where *unit* lies from q times this check's own probability to q.
    """
    rejected_by = np.full(unit.size, -1, dtype=np.int64)
    gate_s, gate_gpu_s = np.full(unit.size, config.gate_s), np.full(unit.size, config.gate_gpu_s)
    before = np.ones(unit.size)
    for number, check in enumerate(Check):
        looked_at = ~np.isnan(passing[number]) & (unit < before)
        after = before * np.nan_to_num(passing[number], nan=1.0)
        rejected_by[looked_at & (unit >= after)] = number
        cost = config.cost(check)
        gate_s += looked_at * cost.seconds
        gate_gpu_s += looked_at * cost.gpu_seconds
        before = after
    return rejected_by, gate_s, gate_gpu_s


def measured_nu(workload: Workload, done: Bool, seed: int) -> tuple[float, float, float]:
    """Draws per accepted turn of attempts *done*, with its 95 % bootstrap interval over sessions.

    Infinite where no turn was accepted.
    """
    owner = workload.attempt_session
    draws = np.bincount(owner, done, workload.n_sessions)
    accepted = np.bincount(owner, done & ~workload.attempt_rejected, workload.n_sessions)
    count = workload.n_sessions
    weights = rng.generator(seed, "bootstrap", "nu").multinomial(count, np.full(count, 1 / count), BOOTSTRAP_DRAWS)
    with np.errstate(divide="ignore", invalid="ignore"):
        drawn = (weights @ draws) / (weights @ accepted)
        value = float(draws.sum() / accepted.sum())
    low, high = np.percentile(np.where(np.isnan(drawn), np.inf, drawn), [2.5, 97.5], method="nearest")
    return value, float(low), float(high)
