"""Block ids for prompts recorded as messages, so that formats without text keep their shared prefixes.

The ids follow from which messages lead up to a block and where in them it ends. Where a message ends in tokens
is estimated from its characters and the session's recorded prompt lengths.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import xxhash

from traces.lengths import block_count_fits
from traces.model import LengthPrompt, MessagePrompt, Session, Turn
from traces.prefixes import CHARACTERS_PER_TOKEN, message_part

_STEP = 0.25
"""Estimated characters a token are rounded to this, so that sessions alike cut their blocks alike."""


class BlockIds:
    """Ids of the blocks of *block_tokens* tokens of a session's prompts."""

    def __init__(self, session: Session, block_tokens: int) -> None:
        self._session = session
        self._size = block_tokens
        self._parts = [message_part(message) for message in session.messages]
        self._ratio = self._characters_per_token()
        self._head = self._head_characters()

    def of(self, turn: Turn, input_tokens: int) -> list[int]:
        """Ids of the blocks that *input_tokens* tokens fill, the last one perhaps partial."""
        wanted = -(-input_tokens // self._size)
        prompt = turn.prompt
        if isinstance(prompt, LengthPrompt):
            if prompt.block_tokens == self._size and block_count_fits(input_tokens, len(prompt.block_ids), self._size):
                return [value if isinstance(value, int) else _number(value.encode()) for value in prompt.block_ids]
            return [_number(f"{self._session.id}\0{turn.id}\0{index}".encode()) for index in range(wanted)]
        ids = list(self._ends(prompt))[:wanted]
        own = f"{self._session.id}\0{turn.id}"
        return ids + [_number(f"{own}\0{index}".encode()) for index in range(len(ids), wanted)]

    def _ends(self, prompt: MessagePrompt) -> Iterator[int]:
        step = self._size * self._ratio
        head = self._session.head.key if self._session.head is not None else ""
        start = f"{head}\0{self._session.turns[0].model}".encode() + msgspec.json.encode(self._session.tools)
        parts = [(_number(start), self._head)]
        for first, end in prompt.ranges:
            parts += [(identity, float(weight)) for identity, weight in self._parts[first:end]]
        digest, place, boundary = 0, 0.0, step
        for identity, weight in parts:
            digest = _number(digest.to_bytes(8, "big") + identity.to_bytes(8, "big"))
            while boundary <= place + weight:
                yield _number(f"{digest} {round(boundary - place, 3)}".encode())
                boundary += step
            place += weight

    def _visible(self, turn: Turn) -> int:
        if isinstance(turn.prompt, LengthPrompt):
            return 0
        return sum(weight for first, end in turn.prompt.ranges for _, weight in self._parts[first:end])

    def _characters_per_token(self) -> float:
        """From the growth of the prompts, which a hidden head does not change."""
        known = [(self._visible(turn), tokens) for turn in self._session.turns if (tokens := _input_tokens(turn))]
        if len(known) < 2 or known[-1][1] <= known[0][1] or known[-1][0] <= known[0][0]:
            return float(CHARACTERS_PER_TOKEN)
        ratio = (known[-1][0] - known[0][0]) / (known[-1][1] - known[0][1])
        return max(1.0, round(ratio / _STEP) * _STEP)

    def _head_characters(self) -> float:
        first = self._session.turns[0]
        tokens = _input_tokens(first) or 0
        return max(0.0, tokens * self._ratio - self._visible(first))


def _input_tokens(turn: Turn) -> int | None:
    return turn.final.usage.input_tokens if turn.final.usage is not None else None


def _number(data: bytes) -> int:
    return xxhash.xxh3_64_intdigest(data)
