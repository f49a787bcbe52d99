"""Sessions whose prompts and outputs are known by their lengths only: many of them are labelled at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from tokenclass.blockkeys import block_prompts
from tokenclass.hidden import own_key
from tokenclass.identity import hashed_name
from tokenclass.mix import Mix
from tokenclass.parents import parent_places
from tokenclass.tagged import TaggedCounts
from traces.model import LengthPrompt, OpaqueBlock, Session, Turn, Verdict

_TOGETHER_TURNS = 1 << 13
_TOGETHER_NUMBERS = 1 << 20
"""Output tokens and block ids of those labelled together, about."""
_REMEMBERED_NAMES = 1 << 12
"""Hashes of turn ids that are kept: sessions often number their turns alike."""


@dataclass(slots=True, eq=False)
class CountedSessions:
    """Sessions of lengths, in each turn one output; turns, prompts and lengths of outputs of all of them end to end."""

    sessions: list[Session] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    prompts: list[LengthPrompt] = field(default_factory=list)
    output_tokens: list[int] = field(default_factory=list)
    block_ids: int = 0
    """Those of all prompts."""
    tokens: int = 0
    """Those of all outputs."""

    @property
    def full(self) -> bool:
        """Whether there are enough to be labelled."""
        return len(self.turns) >= _TOGETHER_TURNS or self.tokens + self.block_ids >= _TOGETHER_NUMBERS


def counted_together(sessions: Iterable[Session]) -> Iterator[Session | CountedSessions]:
    """*sessions* in order, neighbours of which nothing but lengths is known together, though not too many."""
    held = CountedSessions()
    for session in sessions:
        lengths = _lengths(session)
        if lengths is not None:
            prompts, tokens = lengths
            held.sessions.append(session)
            held.turns += session.turns
            held.prompts += prompts
            held.output_tokens += tokens
            held.tokens += sum(tokens)
            held.block_ids += sum([len(prompt.block_ids) for prompt in prompts])
        if held.turns and (lengths is None or held.full):
            yield held
            held = CountedSessions()
        if lengths is None:
            yield session
    if held.turns:
        yield held


def tag_counted(counted: CountedSessions, mix: Mix) -> TaggedCounts:
    """*counted* in numbers, labelled by *mix*. Raises SimtoolError for a parent that is no turn."""
    hashed_turn = lru_cache(_REMEMBERED_NAMES)(hashed_name)
    identities = [
        own_key(hashed, hashed_turn(turn.id), "0", "0")
        for hashed, session in ((hashed_name(session.id), session) for session in counted.sessions)
        for turn in session.turns
    ]
    output_tokens = np.array(counted.output_tokens, np.int64)
    return TaggedCounts(
        sessions=counted.sessions,
        turns=counted.turns,
        parents=[place for session in counted.sessions for place in parent_places(session)],
        prompts=block_prompts(counted.prompts) if counted.block_ids else [],
        prompt_tokens=np.array([prompt.tokens for prompt in counted.prompts], np.int64),
        output_tokens=output_tokens,
        labels=mix.draw_all(output_tokens, identities),
        assumptions={mix.assumption: len(counted.turns)},
    )


def _lengths(session: Session) -> tuple[Sequence[LengthPrompt], Sequence[int]] | None:
    """Prompts and output tokens of the turns of *session*; None if it has no turns, or more is known of any."""
    prompts: list[LengthPrompt] = []
    tokens: list[int] = []
    for turn in session.turns:
        if type(turn.prompt) is not LengthPrompt or len(turn.attempts) != 1:
            return None
        attempt = turn.attempts[0]
        if len(attempt.output) != 1 or attempt.verdict is not Verdict.ACCEPTED:
            return None
        if attempt.accepted_per_round is not None or attempt.block_ids:
            return None
        block = attempt.output[0]
        if type(block) is not OpaqueBlock or block.label is not None or block.tokens <= 0:
            return None
        if block.key is not None or block.block_ids:
            return None
        prompts.append(turn.prompt)
        tokens.append(block.tokens)
    return (prompts, tokens) if prompts else None
