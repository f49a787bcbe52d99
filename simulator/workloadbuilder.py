"""From tagged sessions to the columns of a workload."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simulator.longcolumns import LongColumn, ScalarColumn, full_apart, let_go, let_go_all
from simulator.names import Names, NamesBuilder
from simulator.prefix import PrefixIndex
from simulator.tokenstore import TokenStoreBuilder
from simulator.toolruns import ToolRunsBuilder
from simulator.workload import F64, I32, I64, NO_PARENT, Workload
from tokenclass.classes import SubClass
from tokenclass.tagged import BlockPrompt, TaggedCounts, TaggedSession, TaggedTurn
from traces.model import SpawnLink, ToolWait, Verdict

_HELD_TURNS = 1 << 14
"""Turns whose numbers are held until they go to their columns."""
_END_ONLY = np.array([SubClass.F], dtype=np.uint8)
"""Output of a turn that records none: the engine samples at least the token that ends the turn."""


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
        self._settled = (
            *(self._session_start, self._session_reward, self._session_turns),
            *(self._parents, self._prompt_tokens, self._tool_wait, self._has_tools, self._user_wait, self._sent),
            *(self._turn_attempts, self._rejected, self._offsets),
        )

    def add(self, session: TaggedSession) -> None:
        """Add one session; one without turns has nothing to replay and is passed over."""
        if not session.turns:
            return
        first = len(self._turn_ids)
        self._link(session.parent, len(self._session_ids))
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

    def add_counts(self, counts: TaggedCounts) -> None:
        """Add many sessions of lengths; their tokens have no ids to be kept."""
        sessions, turns = counts.sessions, counts.turns
        first = len(self._turn_ids)
        for at, session in enumerate(sessions, start=len(self._session_ids)):
            self._link(session.parent, at)
        self._session_ids.extend([session.id for session in sessions])
        self._session_start.extend(_float_column([session.start_s for session in sessions]))
        self._session_reward.extend(_float_column([session.reward for session in sessions]))
        ends = first + np.cumsum([len(session.turns) for session in sessions])
        self._session_turns.extend(ends)
        self._turn_ids.extend([turn.id for turn in turns])
        begins = np.concatenate(([first], ends[:-1])).repeat(np.diff(ends, prepend=first))
        self._parents.extend(_parent_column(counts.parents, begins))
        self._prompt_tokens.extend(counts.prompt_tokens)
        self._add_tools([turn.tool_waits for turn in turns])
        self._user_wait.extend(_float_column([turn.user_wait_s for turn in turns]))
        times = [turn.attempts[0].times for turn in turns]
        self._sent.extend(_float_column([one.sent_s if one else None for one in times]))
        self._rejected.extend(np.zeros(len(turns), np.bool_))
        self._offsets.extend(len(self._labels) + np.cumsum(counts.output_tokens))
        self._labels.append(counts.labels)
        attempts = len(self._rejected)
        self._turn_attempts.extend(np.arange(attempts - len(turns), attempts) + 1)
        for prompt in counts.prompts:
            self._prefix.add_keys(prompt)
        if not counts.prompts:
            self._prefix.add_unshared(counts.prompt_tokens)

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
        for column in self._settled:
            column.settle()
        self._tool_runs.settle()

    def _link(self, parent: SpawnLink | None, session: int) -> None:
        if parent is not None and parent.turn_id is not None:
            self._session_links[session] = (parent.session_id, parent.turn_id)

    def _add_tools(self, waits: Sequence[Sequence[ToolWait]]) -> None:
        """Add the tools after turns."""
        if not any(waits):
            self._tool_wait.extend(np.full(len(waits), np.nan))
            self._has_tools.extend(np.zeros(len(waits), np.bool_))
            self._tool_runs.add_turns_without(len(waits))
            return
        for tools in waits:
            known = [wait.duration_s for wait in tools if wait.duration_s is not None]
            self._tool_wait.append(max(known, default=float("nan")))
            self._has_tools.append(bool(tools))
            self._tool_runs.add_turn([(wait.name, wait.duration_s) for wait in tools])

    def _add_turn(self, session: TaggedSession, turn: TaggedTurn, first: int) -> None:
        self._turn_ids.append(turn.id)
        self._parents.append(_parent(turn.parent, first, len(self._turn_ids) - 1))
        self._prompt_tokens.append(turn.prompt.tokens)
        self._add_tools([turn.tool_waits])
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


def _parent_column(places: Sequence[int | None], begins: I64) -> I64:
    """Indices of the turns waited for, by their places in sessions whose first turns are *begins*; as `_parent`."""
    parents: I64 = np.array([NO_PARENT if place is None else place for place in places], np.int64)
    parents = np.where(parents == NO_PARENT, NO_PARENT, parents + begins)
    return np.where(parents < np.arange(parents.size) + begins[0], parents, NO_PARENT)


def _float_column(values: Sequence[float | None]) -> F64:
    """Numbers, NaN for those not known."""
    return np.array(values, np.float64)


def _seconds(value: float | None) -> float:
    return float("nan") if value is None else value


def _seconds_column(values: ScalarColumn) -> F64:
    """The column of *values*; one without any known time takes no memory."""
    column = values.array()
    none = np.isnan(column).all()
    let_go(column)
    return np.broadcast_to(np.float64("nan"), column.shape) if none else column
