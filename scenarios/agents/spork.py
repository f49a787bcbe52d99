"""Speculative tool execution: the calls of a turn are guessed while it is still generated, and their tools started.

The guess is made when the turn's first token is out; a right one overlaps the tool's wait with the rest of the
generation. Tools that run side by side are over with the slowest, so a turn's saving depends on which calls were
guessed. A wrong one runs for nothing until the true calls are known.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise

import msgspec
import numpy as np

from scenarios.agents.sporkcalls import F64, Names, TurnCalls, matched
from scenarios.answer import Interval
from scenarios.ask import Asked
from simulator import rng
from simulator.workload import NO_PARENT

PUBLISHED = (0.746, 0.996)
"""Range of tool-name accuracy stated for this technique; declared, not found published."""
ORDERS = (1, 2, 3)
_HISTORY = max(ORDERS)
"""Turns before that a guesser may look at."""
COMMONEST, AGAIN = "commonest calls", "last calls again"


class Predictor(msgspec.Struct, frozen=True, kw_only=True):
    """One way to guess, and what it would bring."""

    name: str
    origin: str
    """declared or measured."""
    accuracy: Interval
    """Share of calls that are guessed; measured ones with their 95 % interval over sessions."""
    accuracy_told: float
    """The same if the guesser knew which turns call anything: the accuracy that is stated of this technique."""
    whole_turns: float
    """Share of calling turns of which every call is guessed."""
    guessed_by_calls: dict[str, float]
    """By the number of calls of a turn, how many of them are guessed on average."""
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
    calls: int
    known_waits: int
    """Calling turns of which some tool's duration is recorded."""
    overlap_s: float
    """Mean overlap that guessing all calls would bring to a calling turn that waits for a tool."""
    predictors: list[Predictor]
    notes: list[str]


def spork(asked: Asked, declared: Sequence[float], cost_s_per_run: float, seed: int) -> SporkAnswer:
    """What guessing tools would bring to the replay of *asked*; *cost_s_per_run* is charged for each wrong start.

    Raises ValueError for an accuracy outside 0..1.
    """
    for accuracy in declared:
        if not 0 <= accuracy <= 1:
            raise ValueError(f"--accuracy {accuracy} is outside 0..1")
    calls = TurnCalls(asked)
    rows = [_summed(calls, _declared(calls, accuracy), cost_s_per_run, seed) for accuracy in declared]
    guessers: list[_Counted | _Last] = [
        _Counted(COMMONEST, 0),
        _Last(),
        *(_Counted(f"Markov of order {order}", order) for order in ORDERS),
    ]
    rows += [_summed(calls, _measured(calls, guesser), cost_s_per_run, seed) for guesser in guessers]
    waiting = np.flatnonzero(calls.calling & calls.waiting)
    overlap_s = np.array([calls.saved_s(turn, [True] * len(calls.names[turn])) for turn in waiting.tolist()])
    return SporkAnswer(
        sessions=calls.workload.n_sessions,
        turns=calls.workload.n_turns,
        calling_turns=int(calls.calling.sum()),
        calls=int(calls.calls.sum()),
        known_waits=int((calls.calling & calls.known).sum()),
        overlap_s=float(overlap_s.mean()) if waiting.size else 0.0,
        predictors=rows,
        notes=[
            "a measured predictor guesses too whether a turn calls anything; told that it does, it is right more often",
            "all calls of a turn are guessed at once; arguments count as right with the name, so savings are bounds",
            "sub-agents are not started early",
            "a tool with side effects must not be started on a guess",
        ],
    )


class _Guesses:
    """What one predictor did, by turn."""

    def __init__(self, name: str, origin: str, turns: int) -> None:
        self.name = name
        self.origin = origin
        self.started: F64 = np.zeros(turns)
        self.hits: F64 = np.zeros(turns)
        """Calls guessed."""
        self.hits_told: F64 = np.zeros(turns)
        """Calls guessed if it were known which turns call."""
        self.whole: F64 = np.zeros(turns)
        """Probability that all calls of the turn were."""
        self.saved_s: F64 = np.zeros(turns)


def _summed(calls: TurnCalls, guesses: _Guesses, cost_s: float, seed: int) -> Predictor:
    """Figures of a predictor per session, with bootstrap intervals over sessions."""
    session = calls.workload.turn_session
    count = calls.workload.n_sessions
    wrong = guesses.started - guesses.hits
    saved = np.bincount(session, guesses.saved_s, count)
    weights = rng.generator(seed, "bootstrap", "spork").multinomial(count, np.full(count, 1 / count), 2000)
    total = int(calls.calls.sum())
    shares = (weights @ np.bincount(session, guesses.hits, count)) / np.maximum(
        weights @ np.bincount(session, calls.calls, count), 1
    )
    means = (weights @ saved) / count
    accuracy = float(guesses.hits.sum() / max(1, total))
    turns = max(1, int(calls.calling.sum()))
    return Predictor(
        name=guesses.name,
        origin=guesses.origin,
        accuracy=Interval(accuracy, *map(float, np.percentile(shares, [2.5, 97.5]))),
        accuracy_told=float(guesses.hits_told.sum() / max(1, total)),
        whole_turns=float(guesses.whole[calls.calling].sum() / turns),
        guessed_by_calls={
            str(k): float(guesses.hits[calls.calls == k].mean()) for k in np.unique(calls.calls[calls.calling]).tolist()
        },
        guesses=float(guesses.started.sum() / count),
        saved_s=Interval(float(saved.mean()), *map(float, np.percentile(means, [2.5, 97.5]))),
        saved_share=float(saved.sum() / max(calls.session_s.sum(), 1e-300)),
        wasted_runs=float(wrong.sum() / count),
        wasted_s=float((wrong * (calls.left_s + cost_s)).sum() / count),
    )


def _declared(calls: TurnCalls, accuracy: float) -> _Guesses:
    """Each call guessed with probability *accuracy*, whatever the turn's other calls; as many guesses as calls."""
    found = _Guesses(f"declared {accuracy:g}", "declared", calls.workload.n_turns)
    found.started = calls.calls.astype(np.float64)
    found.hits = found.hits_told = accuracy * found.started
    found.whole = np.where(calls.calling, accuracy**found.started, 0.0)
    for turn in np.flatnonzero(calls.calling).tolist():
        found.saved_s[turn] = calls.expected_saved_s(turn, accuracy)
    return found


class _Counted:
    """A Markov predictor over the turns of an agent: which calls followed those of the last *order* turns before.

    Counted in all sessions before and its own, of sub-agents apart; shorter histories serve where a longer one is new.
    Order 0 guesses what is commonest.
    """

    def __init__(self, name: str, order: int) -> None:
        self.name = name
        self._order = order
        self._seen: dict[tuple[str, tuple[Names, ...]], Counter[Names]] = defaultdict(Counter)

    def guess(self, agent: str, history: tuple[Names, ...]) -> tuple[Names, Names]:
        """The calls guessed, and those guessed of a turn that is known to call."""
        seen = [self._seen[one] for one in self._contexts(agent, history) if one in self._seen]
        calling = [{names: n for names, n in counts.items() if names} for counts in seen]
        return (_likeliest(seen), _likeliest(calling))

    def learn(self, agent: str, history: tuple[Names, ...], actual: Names) -> None:
        """Count that *actual* followed *history*."""
        for one in self._contexts(agent, history):
            self._seen[one][actual] += 1

    def _contexts(self, agent: str, history: tuple[Names, ...]) -> list[tuple[str, tuple[Names, ...]]]:
        """Longest first."""
        return [(agent, history[len(history) - n :]) for n in range(min(self._order, len(history)), -1, -1)]


class _Last:
    """Guesses that a turn calls what the one before called."""

    name = AGAIN

    def guess(self, _agent: str, history: tuple[Names, ...]) -> tuple[Names, Names]:
        """The calls guessed, and those guessed of a turn that is known to call: the last ones made."""
        return (history[-1] if history else (), next((names for names in reversed(history) if names), ()))

    def learn(self, _agent: str, _history: tuple[Names, ...], _actual: Names) -> None:
        """There is nothing to learn."""


def _measured(calls: TurnCalls, guesser: _Counted | _Last) -> _Guesses:
    """*guesser* over all turns as the sessions go by, each guessed before it is learnt."""
    work = calls.workload
    found = _Guesses(guesser.name, "measured", work.n_turns)
    for session, (low, high) in enumerate(pairwise(work.session_turns.tolist())):
        agent = "user's" if work.session_parent[session] == NO_PARENT else "sub-agent"
        history: tuple[Names, ...] = ()
        for turn in range(low, high):
            if not calls.served[turn]:
                continue
            guess, told = guesser.guess(agent, history)
            actual = calls.names[turn]
            early = matched(actual, guess)
            found.started[turn] = len(guess)
            found.hits[turn] = sum(early)
            found.hits_told[turn] = sum(matched(actual, told))
            found.whole[turn] = bool(actual) and all(early)
            found.saved_s[turn] = calls.saved_s(turn, early)
            guesser.learn(agent, history, actual)
            history = (*history, actual)[-_HISTORY:]
    return found


def _likeliest(longest_first: Sequence[Mapping[Names, int]]) -> Names:
    """The commonest calls of the first counts that have any."""
    counts = next((one for one in longest_first if one), None)
    return min(counts, key=lambda names: (-counts[names], names)) if counts else ()
