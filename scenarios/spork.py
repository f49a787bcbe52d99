"""Speculative tool execution: the next tool is guessed while the turn is still being generated, and started early.

The guess is made when the turn's first token is out; a right one overlaps the tool's wait with the rest of the
generation, so it saves min(wait, generation left). A wrong one runs for nothing until the true call is known.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise

import msgspec
import numpy as np
import numpy.typing as npt

from scenarios.answer import Interval
from scenarios.ask import Asked
from simulator import rng
from simulator.toolruns import ToolRuns
from simulator.workload import NO_PARENT

F64 = npt.NDArray[np.float64]
PUBLISHED = (0.746, 0.996)
"""Range of tool-name accuracy stated for this technique; declared, not found published."""
ORDERS = (0, 1, 2, 3)
NO_CALL = ""
"""The guess that the turn calls no tool."""


class Predictor(msgspec.Struct, frozen=True, kw_only=True):
    """One way to guess, and what it would bring."""

    name: str
    origin: str
    """declared or measured."""
    accuracy: Interval
    """Share of calling turns whose first tool is guessed; measured ones with their 95 % interval over sessions."""
    guesses: float
    """Tools started per session."""
    saved_s: Interval
    """Latency saved per session."""
    saved_share: float
    """Of the sessions' latency, tool waits and generation together."""
    wasted_runs: float
    """Tools per session that ran for nothing."""
    wasted_s: float
    """Seconds per session that such tools ran."""


class SporkAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Speculative tool execution on one recording."""

    sessions: int
    turns: int
    calling_turns: int
    known_waits: int
    """Calling turns whose slowest tool's duration is known."""
    overlap_s: float
    """Mean overlap that a right guess would bring to a calling turn with known waits."""
    predictors: list[Predictor]
    notes: list[str]


def spork(asked: Asked, declared: Sequence[float], cost_s_per_run: float, seed: int) -> SporkAnswer:
    """What guessing tools would bring to the replay of *asked*; *cost_s_per_run* is charged for each wrong start.

    Raises ValueError for an accuracy outside 0..1.
    """
    for accuracy in declared:
        if not 0 <= accuracy <= 1:
            raise ValueError(f"--accuracy {accuracy} is outside 0..1")
    calls = _Calls(asked)
    rows = [_declared(calls, accuracy, cost_s_per_run, seed) for accuracy in declared]
    rows += [_measured(calls, order, cost_s_per_run, seed) for order in ORDERS]
    known = calls.calling & ~np.isnan(calls.wait_s)
    return SporkAnswer(
        sessions=calls.workload.n_sessions,
        turns=calls.workload.n_turns,
        calling_turns=int(calls.calling.sum()),
        known_waits=int(known.sum()),
        overlap_s=float(calls.overlap_s[known].mean()) if known.any() else 0.0,
        predictors=rows,
        notes=[
            "only the first call of a turn is guessed; arguments count as right with the name, so savings are bounds",
            "sub-agents are not started early",
            "a tool with side effects must not be started on a guess",
        ],
    )


class _Calls:
    """What each turn called, and what an early start would overlap."""

    def __init__(self, asked: Asked) -> None:
        self.workload = asked.workload
        replay = asked.replay
        runs = self.workload.tool_runs
        if runs is None:
            raise ValueError("the workload does not name its tools")
        counts = np.diff(runs.offsets)
        self.calling = counts > 0
        self.first_tool = _first_tools(runs)
        self.wait_s = np.full(self.workload.n_turns, np.nan)
        first = runs.offsets[:-1][self.calling]
        self.wait_s[self.calling] = runs.duration_s[first]
        final = self.workload.turn_attempts[1:] - 1
        generation = replay.finish_s[final] - replay.first_token_s[final]
        self.left_s = np.nan_to_num(np.where(replay.done[final], generation, 0.0))
        slowest = runs.slowest(np.nan_to_num(runs.duration_s), np.zeros(self.workload.n_turns, dtype=np.int64))
        others = _others(runs)
        started = np.maximum(np.nan_to_num(self.wait_s) - self.left_s, others)
        self.overlap_s = np.where(self.calling, slowest - np.minimum(slowest, started), 0.0)
        parents = self.workload.session_parent
        self.overlap_s[parents[parents != NO_PARENT]] = 0.0
        self.session_s = np.nan_to_num(replay.session_end_s - replay.session_start_s)

    def outcome(
        self, name: str, origin: str, guess: npt.NDArray[np.bool_], right: F64, cost_s: float, seed: int
    ) -> Predictor:
        """Figures of a predictor that starts a tool where *guess* and is right with probability *right*."""
        session = self.workload.turn_session
        count = self.workload.n_sessions
        hit = np.where(guess & self.calling, right, 0.0)
        wrong = np.where(guess, 1.0 - hit, 0.0)
        saved = np.bincount(session, hit * self.overlap_s, count)
        turns = np.bincount(session, self.calling, count)
        weights = rng.generator(seed, "bootstrap", "spork").multinomial(count, np.full(count, 1 / count), 2000)
        shares = (weights @ np.bincount(session, hit, count)) / np.maximum(weights @ turns, 1)
        means = (weights @ saved) / count
        accuracy = float(hit.sum() / max(1, self.calling.sum()))
        return Predictor(
            name=name,
            origin=origin,
            accuracy=Interval(accuracy, *map(float, np.percentile(shares, [2.5, 97.5]))),
            guesses=float(guess.sum() / count),
            saved_s=Interval(float(saved.mean()), *map(float, np.percentile(means, [2.5, 97.5]))),
            saved_share=float(saved.sum() / max(self.session_s.sum(), 1e-300)),
            wasted_runs=float(wrong.sum() / count),
            wasted_s=float((wrong * (self.left_s + cost_s)).sum() / count),
        )


def _declared(calls: _Calls, accuracy: float, cost_s: float, seed: int) -> Predictor:
    right = np.full(calls.workload.n_turns, accuracy)
    return calls.outcome(f"declared {accuracy:g}", "declared", calls.calling, right, cost_s, seed)


def _measured(calls: _Calls, order: int, cost_s: float, seed: int) -> Predictor:
    """A Markov predictor of that order over an agent's calls, which learns as the sessions go by.

    The guess for a turn counts what followed the last *order* tools in turns before it, in all sessions before and its
    own, of sub-agents apart; shorter histories serve where a longer one is new. Order 0 is the commonest tool.
    """
    seen: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    guesses = np.zeros(calls.workload.n_turns, dtype=np.bool_)
    right = np.zeros(calls.workload.n_turns)
    bounds = calls.workload.session_turns.tolist()
    for session, (low, high) in enumerate(pairwise(bounds)):
        agent = "user's" if calls.workload.session_parent[session] == NO_PARENT else "sub-agent"
        history: tuple[str, ...] = ()
        for turn in range(low, high):
            contexts = [(agent, *history[len(history) - n :]) for n in range(min(order, len(history)), -1, -1)]
            guess = next((_likeliest(seen[one]) for one in contexts if seen.get(one)), NO_CALL)
            actual = calls.first_tool[turn]
            guesses[turn] = guess != NO_CALL
            right[turn] = guess == actual
            for one in contexts:
                seen[one][actual] += 1
            history = (*history, actual)[-max(order, 1) :] if order else ()
    name = "commonest tool" if order == 0 else "last tool" if order == 1 else f"last {order} tools"
    return calls.outcome(name, "measured", guesses, right, cost_s, seed)


def _likeliest(counts: Counter[str]) -> str:
    return min(counts, key=lambda name: (-counts[name], name))


def _first_tools(runs: ToolRuns) -> list[str]:
    firsts = zip(runs.offsets[:-1].tolist(), runs.offsets[1:].tolist(), strict=True)
    return [runs.names[int(runs.tool[low])] if high > low else NO_CALL for low, high in firsts]


def _others(runs: ToolRuns) -> F64:
    """Longest known wait of each turn's tools without the first."""
    duration_s = np.nan_to_num(runs.duration_s).copy()
    duration_s[runs.offsets[:-1][np.diff(runs.offsets) > 0]] = 0.0
    return runs.slowest(duration_s, np.zeros(runs.offsets.size - 1, dtype=np.int64))
