"""Token ids of a workload's prompts and outputs, each distinct piece held once: what drafters are measured on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simulator.acceptance.tokens import RecordedTokens
from tokenclass.tagged import SegmentPrompt, TaggedAttempt, TaggedSession

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]

UNKNOWN = -1
"""Id of an output token of which only the number is known."""
OPEN_TEXTS = 8
"""Texts of a session that a later prompt may continue: beyond them the oldest is closed."""


class TokenStoreBuilder:
    """Collects the pieces of prompts and outputs; equal pieces of different sessions are one."""

    def __init__(self) -> None:
        self._pool: list[I32] = []
        self._number: dict[int, int] = {}
        self._sessions: list[tuple[_Attempt, ...]] = []

    def add(self, session: TaggedSession) -> None:
        """Add the prompt and output ids of all attempts of *session*."""
        table = session.segments
        numbers = np.array([self._piece(int(key), ids) for key, ids in zip(table.keys, table.ids, strict=True)])
        found = []
        for turn in session.turns:
            known = isinstance(turn.prompt, SegmentPrompt)
            prompt = numbers[turn.prompt.segments] if isinstance(turn.prompt, SegmentPrompt) else np.empty(0, np.int64)
            for attempt in turn.attempts:
                output = self._output(attempt, numbers)
                found.append(_Attempt(prompt.astype(np.int32), output.astype(np.int32), known))
        self._sessions.append(tuple(found))

    def build(self) -> TokenStore:
        """The store of all sessions added."""
        return TokenStore(tuple(self._pool), tuple(self._sessions))

    def _output(self, attempt: TaggedAttempt, numbers: I64) -> I64:
        size = max(1, attempt.labels.n_tokens)
        if attempt.segments is None or attempt.labels.n_tokens == 0:
            return np.array([self._piece(-size, np.broadcast_to(np.int32(UNKNOWN), size))])
        return numbers[list(attempt.segments)]

    def _piece(self, key: int, ids: I32) -> int:
        number = self._number.setdefault(key, len(self._pool))
        if number == len(self._pool):
            self._pool.append(ids)
        return number


@dataclass(frozen=True, slots=True, eq=False)
class _Attempt:
    prompt: I32
    output: I32
    prompt_known: bool


@dataclass(frozen=True, slots=True, eq=False)
class TokenStore:
    """Prompts and outputs of a workload's attempts as numbers of pieces, session by session."""

    _pool: tuple[I32, ...]
    _sessions: tuple[tuple[_Attempt, ...], ...]

    def __iter__(self) -> Iterator[RecordedTokens]:
        """The texts of each session in turn, outputs in the order of `output_order`; may be repeated."""
        return (self._recorded(attempts) for attempts in self._sessions)

    @property
    def output_order(self) -> I64:
        """Number, in the workload, of each attempt in the order in which iteration gives their outputs."""
        order: list[int] = []
        first = 0
        for attempts in self._sessions:
            order += [first + one for text in _texts(attempts) for one in text]
            first += len(attempts)
        return np.array(order, dtype=np.int64)

    @property
    def hidden_output_tokens(self) -> int:
        """Output tokens whose content the recording does not show: no draft of them can be judged."""
        return sum(
            int(np.count_nonzero(self._pool[piece] < 0))
            for attempts in self._sessions
            for attempt in attempts
            for piece in attempt.output.tolist()
        )

    @property
    def attempts_without_prompt(self) -> int:
        """Attempts of whose prompt only the length is known."""
        return sum(not attempt.prompt_known for attempts in self._sessions for attempt in attempts)

    def _recorded(self, attempts: tuple[_Attempt, ...]) -> RecordedTokens:
        pieces: list[I32] = [np.empty(0, np.int32)]
        offsets, starts, ends = [0], [], []
        at = 0
        for text in _texts(attempts):
            written = 0
            for number in text:
                prompt, output = attempts[number].prompt, attempts[number].output
                added = [self._pool[piece] for piece in prompt[written:].tolist()]
                reply = [self._pool[piece] for piece in output.tolist()]
                starts.append(at + sum(piece.size for piece in added))
                at = starts[-1] + sum(piece.size for piece in reply)
                ends.append(at)
                pieces += added + reply
                written = prompt.size + output.size
            offsets.append(at)
        return RecordedTokens(
            np.concatenate(pieces),
            np.array(offsets, dtype=np.int64),
            np.array(starts, dtype=np.int64),
            np.array(ends, dtype=np.int64),
        )


def _texts(attempts: tuple[_Attempt, ...]) -> list[list[int]]:
    """Attempts by text: one joins the text of an earlier attempt if its prompt begins with all of that text."""
    texts: list[list[int]] = []
    open_texts: list[tuple[I32, list[int]]] = []
    for number, attempt in enumerate(attempts):
        longest: tuple[I32, list[int]] | None = None
        for written, members in open_texts:
            fits = written.size <= attempt.prompt.size and np.array_equal(attempt.prompt[: written.size], written)
            if fits and (longest is None or written.size > longest[0].size):
                longest = (written, members)
        if longest is None:
            texts.append([])
            members = texts[-1]
        else:
            members = longest[1]
            open_texts = [one for one in open_texts if one[1] is not members]
        members.append(number)
        open_texts = [*open_texts[1 - OPEN_TEXTS :], (np.concatenate([attempt.prompt, attempt.output]), members)]
    return texts
