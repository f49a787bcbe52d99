"""How much of each prompt repeats the beginning of an earlier prompt or reply of the same trace."""

from __future__ import annotations

import msgspec
import xxhash
from msgspec.structs import replace

from traces.model import LengthPrompt, Message, MessagePrompt, OpaqueBlock, Session, TextBlock, ToolResultBlock, Turn
from traces.opaque import by_id

MAX_PREFIXES = 4_000_000
"""Distinct prefixes remembered, which bounds memory: sessions that come when so many are known are not looked at."""

CHARACTERS_PER_TOKEN = 4
"""Weight of a token whose text is not recorded, beside texts weighed by their characters."""

Part = tuple[int, int]
"""Identity and weight of a message."""


class PrefixReuse:
    """Estimates prefix reuse over a whole trace, as an unbounded cache of whole messages or blocks would see it.

    Prompts of messages are weighed in characters, prompts known by length in tokens. A prefix is shared only
    between calls of one model with the same tools and the same hidden head.
    """

    def __init__(self) -> None:
        self.characters = 0
        self.reused_characters = 0
        self.tokens = 0
        self.reused_tokens = 0
        self.sessions = 0
        """Sessions that the sums are over."""
        self._seen: set[int] = set()

    def add(self, session: Session) -> None:
        """Account for the prompts of *session*, in the order of its turns; nothing when the memory is full."""
        if len(self._seen) >= MAX_PREFIXES:
            return
        self.sessions += 1
        parts = [message_part(message) for message in session.messages]
        tools = msgspec.json.encode(session.tools)
        head = session.head.key if session.head is not None else ""
        for turn in session.turns:
            start = xxhash.xxh3_64_intdigest(tools + f"\0{head}\0{turn.model}".encode())
            prompt = turn.prompt
            if isinstance(prompt, MessagePrompt):
                listed = [part for first, end in prompt.ranges for part in parts[first:end]]
                self._add_messages(start, len(tools) if session.tools else 0, listed, turn)
            else:
                self._add_blocks(turn, prompt)

    def _add_messages(self, start: int, tools_weight: int, parts: list[Part], turn: Turn) -> None:
        hit = start in self._seen
        self._seen.add(start)
        self.characters += tools_weight
        self.reused_characters += tools_weight if hit else 0
        digest = start
        for identity, weight in parts:
            digest = hash((digest, identity))
            hit = hit and digest in self._seen
            self._seen.add(digest)
            self.characters += weight
            self.reused_characters += weight if hit else 0
        reply = Message(role="assistant", blocks=turn.final.output)
        self._seen.add(hash((digest, message_part(reply)[0])))

    def _add_blocks(self, turn: Turn, prompt: LengthPrompt) -> None:
        self.tokens += prompt.tokens
        left = prompt.tokens
        digest = hash((turn.model, prompt.block_tokens))
        hit = True
        for block in prompt.block_ids:
            size = min(prompt.block_tokens or 0, left)
            left -= size
            digest = hash((digest, block, size))
            hit = hit and digest in self._seen
            self._seen.add(digest)
            self.reused_tokens += size if hit else 0
        for block in turn.final.block_ids:
            digest = hash((digest, block, prompt.block_tokens))
            self._seen.add(digest)


def message_part(message: Message) -> Part:
    """Identity of *message*, and its weight: the characters of its text, or its tokens as characters."""
    blocks = by_id(message.blocks)
    data = msgspec.json.encode(message if blocks is message.blocks else replace(message, blocks=blocks))
    weight = 0
    for block in blocks:
        if isinstance(block, (TextBlock, ToolResultBlock)):
            weight += len(block.text)
        elif isinstance(block, OpaqueBlock):
            weight += block.tokens * CHARACTERS_PER_TOKEN
        else:
            weight += len(msgspec.json.encode(block))
    return xxhash.xxh3_64_intdigest(data), weight
