"""Invented words and identifiers of a wanted length in tokens."""

from __future__ import annotations

from scenarios.synth.empirical import Source
from simulator import rng
from tokenclass.tokenizers import Tokenizer

_STARTS = ("b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z", "br", "dr", "kl", "pl", "tr")
_MIDDLES = ("a", "e", "i", "o", "u", "ai", "ou")
_ENDS = ("", "n", "r", "l", "k", "m", "s")
_WORDS = 600
_STOP_EVERY = 0.09


class Vocabulary:
    """Words that no recording holds, with their length in the target's tokens."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        source = Source(0, "vocabulary")
        self.words = list(dict.fromkeys(_word(source) for _ in range(_WORDS)))
        self._leading = [len(tokenizer.encode(word)) for word in self.words]
        self._spaced = [len(tokenizer.encode(f" {word}")) for word in self.words]
        longest = max(*self._leading, *self._spaced)
        self._fitting = [[at for at, n in enumerate(self._spaced) if n <= most] for most in range(longest + 1)]
        self._fitting_first = [[at for at, n in enumerate(self._leading) if n <= most] for most in range(longest + 1)]

    def prose(self, source: Source, tokens: int) -> str:
        """Words and full stops of exactly *tokens* tokens where words are tokenized apart, about as many elsewhere."""
        parts: list[str] = []
        left, stopped = tokens, True
        while left > 0:
            fitting = (self._fitting if parts else self._fitting_first)[min(left, len(self._fitting) - 1)]
            if not fitting or (not stopped and (left == 1 or source.unit() < _STOP_EVERY)):
                parts.append("." if not stopped else "a" if not parts else " a")
                left, stopped = left - 1, not stopped
                continue
            at = fitting[source.below(len(fitting))]
            left -= self._spaced[at] if parts else self._leading[at]
            parts.append(f" {self.words[at]}" if parts else self.words[at])
            stopped = False
        return "".join(parts)

    def joined(self, source: Source, tokens: int, joint: str) -> str:
        """Words joined by *joint*, cut after *tokens* tokens."""
        if tokens <= 0:
            return ""
        text = joint.join(self.words[source.below(len(self.words))] for _ in range(tokens + 1))
        ends = self._tokenizer.encode(text).ends
        return text[: int(ends[min(tokens, len(ends)) - 1])]

    def described(self, text: str) -> str:
        """Invented words of the length of *text*, the same wherever it stands."""
        return self.prose(Source(0, "described", text), len(self._tokenizer.encode(text)))

    def stand_in(self, listed: str) -> str:
        """The invented word that stands for the value *listed* by a schema, the same wherever it is listed."""
        return self.words[rng.key(0, listed, "stand-in") % len(self.words)]


def _word(source: Source) -> str:
    count = 2 + source.below(2)
    parts = [
        _STARTS[source.below(len(_STARTS))] + _MIDDLES[source.below(len(_MIDDLES))] + _ENDS[source.below(len(_ENDS))]
        for _ in range(count)
    ]
    return "".join(parts)
