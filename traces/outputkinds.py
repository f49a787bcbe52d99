"""What outputs are made of as recorded, before anything is tokenized: text by its size, hidden tokens by class."""

from __future__ import annotations

from collections import Counter

import msgspec

from traces.model import Attempt, OpaqueBlock, RawBlock, ReasoningBlock, TextBlock, ToolCallBlock

UNKNOWN = "unknown"
"""Class of tokens of which neither text nor label is recorded."""
_CLASS = {**dict.fromkeys("SDNKVTP", "S"), "R": "R", "F": "F"}


class OutputKinds(msgspec.Struct, frozen=True, kw_only=True):
    """Sums over the attempts that count."""

    call_characters: int
    """Names and arguments of tool calls, without the markup that an output format puts around them."""
    reasoning_characters: int
    prose_characters: int
    raw_characters: int
    """Completions recorded as emitted: what is in them shows when they are tagged."""
    tokens_without_text: dict[str, int]
    """By class: S, R, F or UNKNOWN."""

    def character_shares(self) -> dict[str, float] | None:
        """Shares of S, R and F in the characters of parsed outputs; None without any."""
        counts = {"S": self.call_characters, "R": self.reasoning_characters, "F": self.prose_characters}
        total = sum(counts.values())
        return {name: count / total for name, count in counts.items()} if total else None


class OutputTally:
    """Adds attempts up."""

    def __init__(self) -> None:
        self._characters: Counter[str] = Counter()
        self._tokens: Counter[str] = Counter()

    def add(self, attempt: Attempt) -> None:
        """Count one attempt; media has no text and no class."""
        for block in attempt.output:
            if isinstance(block, OpaqueBlock):
                self._tokens[_CLASS.get(block.label or "", UNKNOWN)] += block.tokens
            elif isinstance(block, ReasoningBlock):
                self._characters["R"] += len(block.text or "")
                if block.text is None:
                    self._tokens["R"] += block.tokens or 0
            elif isinstance(block, ToolCallBlock):
                self._characters["S"] += len(block.name) + len(block.arguments)
            elif isinstance(block, TextBlock):
                self._characters["F"] += len(block.text)
            elif isinstance(block, RawBlock):
                self._characters["raw"] += len(block.text)

    def kinds(self) -> OutputKinds:
        """The sums so far."""
        return OutputKinds(
            call_characters=self._characters["S"],
            reasoning_characters=self._characters["R"],
            prose_characters=self._characters["F"],
            raw_characters=self._characters["raw"],
            tokens_without_text={name: self._tokens[name] for name in ("S", "R", "F", UNKNOWN) if self._tokens[name]},
        )
