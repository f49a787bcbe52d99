"""Labels for output tokens without text, drawn from a declared mix of classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tokenclass.classes import PositionClass, SubClass
from tokenclass.generators import generators
from tokenclass.identity import generator
from traces.errors import SimtoolError

S_DETAIL: Mapping[SubClass, float] = {
    SubClass.D: 0.06,
    SubClass.N: 0.055,
    SubClass.K: 0.14,
    SubClass.V: 0.01,
    SubClass.T: 0.445,
    SubClass.P: 0.29,
}
"""How tokens that are only known as S are spread over its sub-classes: the shares of a customer-service agent's
calls (tau-bench airline, Hermes format, Qwen3 tokens)."""
_DETAILS = np.array(list(S_DETAIL), np.uint8)
_DETAIL_ENDS = np.cumsum(list(S_DETAIL.values()))[:-1] / sum(S_DETAIL.values())

_SCHEMA = np.uint8(PositionClass.S)
_WHOLE = np.array([SubClass.D, SubClass.R, SubClass.F], np.uint8)
"""Sub-class of each position class; that of S is replaced token by token."""


class Mix(Protocol):
    """Says what output tokens without text and label are taken to be."""

    @property
    def assumption(self) -> str:
        """What is assumed where it is drawn from."""
        ...

    def draw(self, tokens: int, *identity: str) -> NDArray[np.uint8]:
        """Sub-class labels of *tokens* tokens; the same *identity* gives the same labels."""
        ...

    def draw_all(self, tokens: NDArray[np.int64], identities: Sequence[str]) -> NDArray[np.uint8]:
        """Those of many outputs end to end, by the length and the identity of each."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassMix:
    """Shares of S, R and F among tokens without text, in spans of one class.

    Each span's class is drawn by the shares and its length from a geometric distribution, so neighbouring
    spans may be of one class.
    """

    shares: Mapping[PositionClass, float]
    span_tokens: float = 64.0
    """Mean length of a span in tokens."""
    seed: int = 0
    _classes: NDArray[np.uint8] = field(init=False, repr=False, compare=False)
    _ends: NDArray[np.float64] = field(init=False, repr=False, compare=False)
    """Sum of the shares up to each class."""
    assumption: str = field(init=False, repr=False, compare=False)
    """What is assumed where it is drawn from."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "_classes", np.array(list(self.shares), np.uint8))
        object.__setattr__(self, "_ends", np.cumsum(list(self.shares.values())))
        object.__setattr__(self, "assumption", f"output tokens without text: classes by --class-mix {self}")
        if any(share < 0 for share in self.shares.values()) or abs(sum(self.shares.values()) - 1) > 1e-6:
            raise SimtoolError(f"--class-mix: shares {self} must not be negative and must sum to 1")
        if self.span_tokens < 1:
            raise SimtoolError(f"--class-mix: a span of {self.span_tokens} tokens is shorter than 1")

    def __str__(self) -> str:
        return ",".join(f"{cls.name}={share:g}" for cls, share in self.shares.items())

    @classmethod
    def parse(cls, text: str, *, span_tokens: float = 64.0, seed: int = 0) -> ClassMix:
        """Read ``S=0.4,R=0.2,F=0.4``; a class left out has no share. Raises SimtoolError on anything else."""
        shares = dict.fromkeys(PositionClass, 0.0)
        for part in text.split(","):
            name, _, share = part.partition("=")
            try:
                shares[PositionClass[name.strip()]] = float(share)
            except (KeyError, ValueError):
                raise SimtoolError(
                    f"--class-mix {text!r}: {part!r} is not CLASS=SHARE with CLASS one of S, R, F "
                    f"(example: S=0.4,R=0.2,F=0.4)"
                ) from None
        return cls(shares=shares, span_tokens=span_tokens, seed=seed)

    def draw(self, tokens: int, *identity: str) -> NDArray[np.uint8]:
        """Sub-class labels of *tokens* tokens; the same seed and *identity* give the same labels."""
        rng = generator(self.seed, *identity)
        spans, sizes, drawn = [], [], 0
        while drawn < tokens:
            count = int((tokens - drawn) / self.span_tokens * 1.2) + 4
            picks, lengths = rng.random((2, count))
            spans.append(self._class_of(picks))
            sizes.append(self._lengths(lengths))
            drawn += int(sizes[-1].sum())
        if not spans:
            return np.empty(0, np.uint8)
        classes = np.repeat(np.concatenate(spans), np.concatenate(sizes))[:tokens]
        return _detailed(classes, rng.random(np.count_nonzero(classes == _SCHEMA)))

    def draw_all(self, tokens: NDArray[np.int64], identities: Sequence[str]) -> NDArray[np.uint8]:
        """The labels of many outputs end to end, each as `draw` gives them."""
        rngs = generators(self.seed, identities)
        owner, picks, sizes = self._spans(tokens, rngs)
        classes = self._class_of(picks)
        ends = np.cumsum(sizes)
        before = np.concatenate(([0], ends))[np.searchsorted(owner, np.arange(tokens.size))]
        kept = np.clip(tokens[owner] - (ends - sizes - before[owner]), 0, sizes)
        schema = np.bincount(owner, np.where(classes == _SCHEMA, kept, 0), tokens.size).astype(np.int64)
        details = [rng.random(count) for rng, count in zip(rngs, schema.tolist(), strict=True)]
        return _detailed(classes.repeat(kept), np.concatenate([np.empty(0), *details]))

    def _spans(
        self, tokens: NDArray[np.int64], rngs: Sequence[np.random.Generator]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
        """Spans that reach over the *tokens* of each output: whose each is, what its class is drawn by, its length."""
        left = tokens.astype(np.int64)
        rounds = [(np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64))]
        short = np.flatnonzero(left > 0)
        while short.size:
            counts = (left[short] / self.span_tokens * 1.2).astype(np.int64) + 4
            drawn = [rngs[at].random((2, count)) for at, count in zip(short.tolist(), counts.tolist(), strict=True)]
            picks, lengths = np.concatenate(drawn, axis=1)
            sizes = self._lengths(lengths)
            rounds.append((short.repeat(counts), picks, sizes))
            left[short] -= np.add.reduceat(sizes, np.cumsum(counts) - counts)
            short = short[left[short] > 0]
        owner, picks, sizes = map(np.concatenate, zip(*rounds, strict=True))
        order = np.argsort(owner, kind="stable")
        return owner[order], picks[order], sizes[order]

    def _class_of(self, uniforms: NDArray[np.float64]) -> NDArray[np.uint8]:
        """Classes by their shares."""
        classes: NDArray[np.uint8] = self._classes[self._ends.searchsorted(uniforms * self._ends[-1], side="right")]
        return classes

    def _lengths(self, uniforms: NDArray[np.float64]) -> NDArray[np.int64]:
        """Geometric lengths of mean span_tokens."""
        if self.span_tokens == 1:
            return np.ones(uniforms.size, np.int64)
        steps: NDArray[np.int64] = np.floor(np.log1p(-uniforms) / np.log1p(-1 / self.span_tokens)).astype(np.int64)
        return steps + 1


def labels_of(label: str, tokens: int, *identity: str) -> NDArray[np.uint8]:
    """Sub-class labels of *tokens* tokens of one recorded *label*; S without detail is spread by S_DETAIL.

    Raises SimtoolError when *label* is neither a sub-class letter nor S, R or F.
    """
    if label == PositionClass.S.name:
        return _detailed(np.zeros(tokens, np.uint8), generator(0, *identity).random(tokens))
    if label not in SubClass.__members__:
        raise SimtoolError(f"label {label!r} of tokens without text is none of D N K V T P R F S")
    return np.full(tokens, SubClass[label], np.uint8)


def _detailed(classes: NDArray[np.uint8], uniforms: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Sub-classes of tokens of *classes*; there is one of *uniforms* for each of S."""
    labels = _WHOLE[classes]
    labels[classes == _SCHEMA] = _DETAILS[_DETAIL_ENDS.searchsorted(uniforms, side="right")]
    return labels
