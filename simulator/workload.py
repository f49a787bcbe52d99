"""The workload as columns: what the engine replays, without text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from simulator.drawplan import DrawPlan
from simulator.prefix import BlockPaths
from simulator.tokenstore import TokenStore
from simulator.toolruns import ToolRuns
from tokenclass.identity import hashed_name

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]
U8 = npt.NDArray[np.uint8]

NO_PARENT = -1
_REMEMBERED_NAMES = 1 << 12
"""Hashes of turn ids that are kept: sessions often number their turns alike."""


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

    @property
    def attempt_session(self) -> I64:
        """The session of each attempt."""
        return np.repeat(np.arange(self.n_sessions), np.diff(self.turn_attempts[self.session_turns]))

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
