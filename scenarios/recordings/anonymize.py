"""Recordings without their text: lengths, classes, times and what is shared, enough to replay the same.

A prompt becomes the identities of its blocks of tokens, an output the runs of its sub-classes. Ids of sessions and
turns become salted hashes; names of agents, models and tools become numbers in the order in which they are met.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simulator.tokenblocks import TokenBlocks, chained
from tokenclass.classes import SubClass
from tokenclass.identity import hashed_name
from tokenclass.tagged import BlockPrompt, SegmentPrompt, TaggedAttempt, TaggedSession, TaggedTurn
from tokenclass.tagger import Tagger
from traces.model import (
    Attempt,
    LengthPrompt,
    OpaqueBlock,
    Session,
    SpawnLink,
    ToolWait,
    Turn,
)
from traces.opaque import by_id

BLOCK_TOKENS = 16
"""Tokens of a block whose identity is kept: an engine whose KV blocks are a multiple of it finds the same prefixes."""

NOTE = "anonymized: text and names left out; KV blocks of a multiple of 16 tokens are shared as in the original"
_CUT_OFF = frozenset({"length", "max_tokens"})


@dataclass(slots=True)
class _Names:
    """Numbers for names, in the order in which they are asked for."""

    prefix: str
    known: dict[str, str] = field(default_factory=dict)

    def of(self, name: str) -> str:
        return self.known.setdefault(name, f"{self.prefix}{len(self.known) + 1}")


class Anonymizer:
    """Strips sessions one by one; equal names and equal prefixes are recognised across them.

    Ids are hashed with *salt*; without one they are what random draws know them by, so that a replay draws the same.
    """

    def __init__(self, tagger: Tagger, *, salt: bytes, keep_tool_names: bool = False) -> None:
        self._tagger = tagger
        self._salt = salt
        self._keep_tool_names = keep_tool_names
        self._blocks = TokenBlocks(BLOCK_TOKENS)
        self._seen: dict[int, int] = {}
        """Numbers of blocks of tokens."""
        self._keys: dict[int, int] = {}
        """Numbers of recorded block keys."""
        self._agents = _Names("a")
        self._models = _Names("m")
        self._tools = _Names("tool")

    def sessions(self, sessions: Iterable[Session]) -> Iterator[Session]:
        """Yield each of *sessions* without its text. Raises SimtoolError for outputs that nothing classifies."""
        for session in sessions:
            yield self._session(session, self._tagger.tag(session))

    def _session(self, session: Session, tagged: TaggedSession) -> Session:
        return Session(
            id=self._hashed(session.id),
            turns=tuple(
                self._turn(turn, labelled, tagged) for turn, labelled in zip(session.turns, tagged.turns, strict=True)
            ),
            parent=self._link(session.parent),
            agent=self._agents.of(session.agent) if session.agent is not None else None,
            start_s=session.start_s,
            reward=session.reward,
        )

    def _turn(self, turn: Turn, labelled: TaggedTurn, tagged: TaggedSession) -> Turn:
        prompt, outputs = self._prefixes(labelled, tagged)
        return Turn(
            id=self._hashed(turn.id),
            prompt=prompt,
            attempts=tuple(
                self._attempt(attempt, labels, ids)
                for attempt, labels, ids in zip(turn.attempts, labelled.attempts, outputs, strict=True)
            ),
            parent=self._hashed(turn.parent) if turn.parent is not None else None,
            tool_waits=tuple(self._wait(wait) for wait in turn.tool_waits),
            user_wait_s=turn.user_wait_s,
            model=self._models.of(turn.model) if turn.model is not None else None,
            max_tokens=turn.max_tokens,
        )

    def _attempt(self, attempt: Attempt, labels: TaggedAttempt, ids: tuple[int, ...]) -> Attempt:
        return Attempt(
            output=self._output(attempt, labels),
            usage=attempt.usage,
            times=attempt.times,
            verdict=attempt.verdict,
            finish_reason="length" if attempt.finish_reason in _CUT_OFF else None,
            accepted_per_round=attempt.accepted_per_round,
            block_ids=ids,
        )

    def _prefixes(self, labelled: TaggedTurn, tagged: TaggedSession) -> tuple[LengthPrompt, list[tuple[int, ...]]]:
        """The prompt as identities of its blocks, and those of the blocks that each attempt goes on with."""
        prompt = labelled.prompt
        if isinstance(prompt, SegmentPrompt):
            paths = [self._path(prompt, tagged, attempt) for attempt in labelled.attempts]
            full = prompt.tokens // BLOCK_TOKENS
            head = LengthPrompt(tokens=prompt.tokens, block_tokens=BLOCK_TOKENS, block_ids=paths[0][:full])
            return head, [path[full:] for path in paths]
        ids = self._numbers(prompt.block_keys)
        outputs = [
            self._numbers(attempt.block_keys) if attempt.block_keys is not None else () for attempt in labelled.attempts
        ]
        return LengthPrompt(tokens=prompt.tokens, block_tokens=_width(prompt, ids), block_ids=ids), outputs

    def _path(self, prompt: SegmentPrompt, tagged: TaggedSession, attempt: TaggedAttempt) -> tuple[int, ...]:
        """The full blocks of a prompt and an output as even numbers; each is that of all tokens up to its end."""
        keys = self._blocks.keys(prompt, tagged.segments, attempt.segments)
        names = chained(np.concatenate((keys.prompt, keys.output)))
        return tuple([2 * number for number in _numbered(names, self._seen)])

    def _numbers(self, keys: NDArray[np.uint64]) -> tuple[int, ...]:
        """Recorded block keys as odd numbers; even ones are identities of tokens."""
        return tuple([2 * number + 1 for number in _numbered(keys, self._keys)])

    def _link(self, link: SpawnLink | None) -> SpawnLink | None:
        if link is None:
            return None
        turn_id = self._hashed(link.turn_id) if link.turn_id is not None else None
        return SpawnLink(session_id=self._hashed(link.session_id), turn_id=turn_id)

    def _wait(self, wait: ToolWait) -> ToolWait:
        name = wait.name if self._keep_tool_names else self._tools.of(wait.name)
        return ToolWait(name=name, duration_s=wait.duration_s)

    def _output(self, attempt: Attempt, labels: TaggedAttempt) -> tuple[OpaqueBlock, ...]:
        """The runs of sub-classes; tokens of no known class, where they are all there is, stay so."""
        if attempt.output and all(isinstance(block, OpaqueBlock) and block.label is None for block in attempt.output):
            blocks = (block for block in by_id(attempt.output) if isinstance(block, OpaqueBlock))
            return tuple(
                OpaqueBlock(tokens=block.tokens, key=self._hashed(block.key) if block.key is not None else None)
                for block in blocks
            )
        values, lengths = labels.labels.values.tolist(), labels.labels.lengths.tolist()
        return tuple(
            OpaqueBlock(tokens=length, label=SubClass(value).name)
            for value, length in zip(values, lengths, strict=True)
        )

    def _hashed(self, name: str) -> str:
        return hashed_name(name, self._salt)


def _width(prompt: BlockPrompt, ids: tuple[int, ...]) -> int | None:
    return prompt.block_tokens if ids else None


def _numbered(names: NDArray[np.uint64], known: dict[int, int]) -> list[int]:
    """Number of each of *names*, in the order in which they are first met; new ones join those *known*."""
    return [known.setdefault(name, len(known)) for name in names.tolist()]
