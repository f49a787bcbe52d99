"""The workload as columns: what the engine replays, without text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from simulator.drawplan import DrawPlan
from simulator.longcolumns import LongColumn, ScalarColumn, full_apart, let_go, let_go_all
from simulator.names import Names, NamesBuilder
from simulator.prefix import BlockPaths, PrefixIndex
from simulator.tokenstore import TokenStore, TokenStoreBuilder
from simulator.toolruns import ToolRuns, ToolRunsBuilder
from tokenclass.classes import SubClass
from tokenclass.identity import hashed_name
from tokenclass.tagged import BlockPrompt, TaggedSession, TaggedTurn
from traces.model import Verdict

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]
U8 = npt.NDArray[np.uint8]

NO_PARENT = -1
_HELD_TURNS = 1 << 14
"""Turns whose numbers are held until they go to their columns."""
_REMEMBERED_NAMES = 1 << 12
"""Hashes of turn ids that are kept: sessions often number their turns alike."""
_END_ONLY = np.array([SubClass.F], dtype=np.uint8)
"""Output of a turn that records none: the engine samples at least the token that ends the turn."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Workload:
    """Sessions, turns and attempts in flat columns; those of one session, and of one turn, stand together.

    Session s owns turns ``session_turns[s]:session_turns[s + 1]``, turn t owns attempts
    ``turn_attempts[t]:turn_attempts[t + 1]`` and attempt a owns labels ``offsets[a]:offsets[a + 1]``.
    Unknown times are NaN; NO_PARENT marks a turn that waits for its session's start only.
    """

    session_ids: Sequence[str]
    session_start_s: F64
    session_parent: I32
    """Turn whose finish starts the session (a sub-agent's), or NO_PARENT."""
    session_reward: F64
    """What the recording's own evaluation gave the task, 1 if solved; NaN: not recorded."""
    session_turns: I64
    turn_ids: Sequence[str]
    turn_parent: I32
    turn_prompt_tokens: I64
    turn_tool_wait_s: F64
    """Seconds of the slowest tool that runs after the turn; NaN: not recorded."""
    turn_has_tools: npt.NDArray[np.bool_]
    turn_user_wait_s: F64
    turn_sent_s: F64
    """When the turn was sent, on the recording's clock."""
    turn_attempts: I64
    attempt_rejected: npt.NDArray[np.bool_]
    labels: U8
    offsets: I64
    paths: BlockPaths
    tokens: TokenStore | None = None
    """Token ids of the attempts as recorded; None unless they were kept."""
    tool_runs: ToolRuns | None = None
    """Each tool run by its name; None: only the slowest of each turn is known."""
    draws: DrawPlan | None = None
    """How repeated draws follow each other; None: one after the other, on the same prompt."""

    @property
    def n_sessions(self) -> int:
        """Number of sessions."""
        return len(self.session_ids)

    @property
    def n_turns(self) -> int:
        """Number of turns."""
        return len(self.turn_ids)

    @property
    def n_attempts(self) -> int:
        """Number of attempts."""
        return self.offsets.size - 1

    @property
    def output_tokens(self) -> I64:
        """Output tokens of each attempt."""
        return np.diff(self.offsets)

    @property
    def attempt_turn(self) -> I64:
        """The turn of each attempt."""
        return np.repeat(np.arange(self.n_turns), np.diff(self.turn_attempts))

    def end_of_draws(self, attempt: int) -> int:
        """The attempt after the last draw of the turn of *attempt*."""
        place = np.searchsorted(self.turn_attempts, attempt, side="right")
        return int(self.turn_attempts[place])

    @property
    def attempt_prompt_tokens(self) -> I64:
        """Prompt length of each attempt."""
        tokens: I64 = self.turn_prompt_tokens[self.attempt_turn]
        return tokens if self.draws is None else tokens + self.draws.extra_prompt_tokens

    @property
    def turn_session(self) -> I64:
        """The session of each turn."""
        return np.repeat(np.arange(self.n_sessions), np.diff(self.session_turns))


def turn_names(workload: Workload) -> list[tuple[str, str]]:
    """Session and turn id of each turn, hashed: what random keys are made of."""
    return list(each_turn_names(workload))


def each_turn_names(workload: Workload) -> Iterator[tuple[str, str]]:
    """The names of one turn after the other."""
    hashed_turn = lru_cache(_REMEMBERED_NAMES)(hashed_name)
    bounds = workload.session_turns
    for session, first, last in zip(workload.session_ids, bounds[:-1].data, bounds[1:].data, strict=True):
        hashed = hashed_name(session)
        for turn in workload.turn_ids[first:last]:
            yield hashed, hashed_turn(turn)


class WorkloadBuilder:
    """Turns tagged sessions into a Workload, one at a time, so that a long recording need not be held.

    *keep_ids* keeps the token ids, which drafters without a model are measured on.
    """

    def __init__(self, block_size: int, *, keep_ids: bool = False) -> None:
        self._prefix = PrefixIndex(block_size)
        self._tokens = TokenStoreBuilder() if keep_ids else None
        self._session_ids = NamesBuilder()
        self._session_start = ScalarColumn("d")
        self._session_reward = ScalarColumn("d")
        self._session_links: dict[int, tuple[str, str]] = {}
        self._session_turns = ScalarColumn("q", [0])
        self._turn_ids = NamesBuilder()
        self._parents = ScalarColumn("i")
        self._prompt_tokens = ScalarColumn("q")
        self._tool_wait = ScalarColumn("d")
        self._has_tools = ScalarColumn("b")
        self._tool_runs = ToolRunsBuilder()
        self._user_wait = ScalarColumn("d")
        self._sent = ScalarColumn("d")
        self._turn_attempts = ScalarColumn("q", [0])
        self._rejected = ScalarColumn("b")
        self._labels = LongColumn(np.uint8)
        self._offsets = ScalarColumn("q", [0])
        self._settle_at = _HELD_TURNS

    def add(self, session: TaggedSession) -> None:
        """Add one session; one without turns has nothing to replay and is passed over."""
        if not session.turns:
            return
        first = len(self._turn_ids)
        link = session.parent
        if link is not None and link.turn_id is not None:
            self._session_links[len(self._session_ids)] = (link.session_id, link.turn_id)
        self._session_ids.append(session.id)
        self._session_start.append(_seconds(session.start_s))
        self._session_reward.append(_seconds(session.reward))
        for turn in session.turns:
            self._add_turn(session, turn, first)
        if self._tokens is not None:
            self._tokens.add(session)
        self._session_turns.append(len(self._turn_ids))
        if len(self._turn_ids) >= self._settle_at:
            self._settle()

    def build(self, *, every_prompt_twice: bool = False) -> Workload:
        """The workload of all sessions added (see PrefixIndex.build for *every_prompt_twice*)."""
        session_turns, turn_attempts = self._session_turns.array(), self._turn_attempts.array()
        session_ids, turn_ids = self._session_ids.build(), self._turn_ids.build()
        workload = Workload(
            session_ids=session_ids,
            session_start_s=_seconds_column(self._session_start),
            session_parent=self._spawners(session_ids, turn_ids, session_turns),
            session_reward=_seconds_column(self._session_reward),
            session_turns=session_turns,
            turn_ids=turn_ids,
            turn_parent=self._parents.array(),
            turn_prompt_tokens=self._prompt_tokens.array(),
            turn_tool_wait_s=_seconds_column(self._tool_wait),
            turn_has_tools=self._has_tools.array().view(np.bool_),
            turn_user_wait_s=_seconds_column(self._user_wait),
            turn_sent_s=_seconds_column(self._sent),
            turn_attempts=session_turns if np.array_equal(session_turns, turn_attempts) else turn_attempts,
            attempt_rejected=self._rejected.array().view(np.bool_),
            labels=self._labels.array(),
            offsets=self._offsets.array(),
            paths=self._prefix.build(every_prompt_twice=every_prompt_twice),
            tool_runs=self._tool_runs.build(),
            tokens=self._tokens.build() if self._tokens is not None else None,
        )
        let_go_all()
        return workload

    def _settle(self) -> None:
        """Let columns go to files."""
        self._settle_at = len(self._turn_ids) + _HELD_TURNS
        for column in vars(self).values():
            if isinstance(column, ScalarColumn):
                column.settle()
        self._tool_runs.settle()

    def _add_turn(self, session: TaggedSession, turn: TaggedTurn, first: int) -> None:
        self._turn_ids.append(turn.id)
        self._parents.append(_parent(turn.parent, first, len(self._turn_ids) - 1))
        self._prompt_tokens.append(turn.prompt.tokens)
        waits = [wait.duration_s for wait in turn.tool_waits if wait.duration_s is not None]
        self._tool_wait.append(max(waits, default=float("nan")))
        self._has_tools.append(bool(turn.tool_waits))
        self._tool_runs.add_turn([(wait.name, wait.duration_s) for wait in turn.tool_waits])
        self._user_wait.append(_seconds(turn.user_wait_s))
        times = turn.attempts[0].times
        self._sent.append(_seconds(times.sent_s if times else None))
        for attempt in turn.attempts:
            self._rejected.append(attempt.verdict is Verdict.REJECTED)
            labels = attempt.labels.expand() if attempt.labels.values.size else _END_ONLY
            self._labels.append(labels)
            self._offsets.append(len(self._labels))
            if isinstance(turn.prompt, BlockPrompt):
                self._prefix.add_keys(turn.prompt, attempt.block_keys, attempt.labels.n_tokens)
            else:
                self._prefix.add_prompt(turn.prompt, session.segments, attempt.segments)
        self._turn_attempts.append(len(self._rejected))

    def _spawners(self, session_ids: Names, turn_ids: Names, bounds: I64) -> I32:
        """For each session the turn that starts it; sessions that no root leads to become roots themselves."""
        parents = full_apart(len(session_ids), NO_PARENT, np.int32)
        if not self._session_links:
            return parents
        wanted = set(self._session_links.values())
        index = {
            key: at
            for session, name in enumerate(session_ids)
            for at in range(bounds[session], bounds[session + 1])
            if (key := (name, turn_ids[at])) in wanted
        }
        for session, link in self._session_links.items():
            parents[session] = index.get(link, NO_PARENT)
        owner = np.where(parents == NO_PARENT, NO_PARENT, np.searchsorted(bounds, parents, side="right") - 1)
        rooted = parents == NO_PARENT
        while True:
            reached = rooted | ((owner != NO_PARENT) & rooted[owner])
            if (reached == rooted).all():
                break
            rooted = reached
        parents[~rooted] = NO_PARENT
        return parents


def _parent(parent: int | None, first: int, turn: int) -> int:
    """Index of the turn waited for; one that does not come before the turn itself is no parent."""
    return NO_PARENT if parent is None or first + parent >= turn else first + parent


def _seconds(value: float | None) -> float:
    return float("nan") if value is None else value


def _seconds_column(values: ScalarColumn) -> F64:
    """The column of *values*; one without any known time takes no memory."""
    column = values.array()
    none = np.isnan(column).all()
    let_go(column)
    return np.broadcast_to(np.float64("nan"), column.shape) if none else column
