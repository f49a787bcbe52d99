"""Suffix decoding: drafts from what followed the last tokens before, in the request and in earlier outputs.

The rules are those of the suffix drafter in vLLM 0.11 and later.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from simulator.acceptance.base import I64, Potential, check_gamma
from simulator.acceptance.suffixtree import NOTHING, Draft, SuffixTree
from simulator.acceptance.tokens import I32, RecordedTokens


@dataclass(frozen=True, slots=True, kw_only=True)
class SuffixDecoding:
    """Options under vLLM's names, with its defaults; without a cache of requests only the request itself is searched.

    Raises ValueError for values out of range.
    """

    max_tree_depth: int = 24
    """Longest string counted: match and draft together."""
    max_cached_requests: int = 10_000
    """Outputs kept for later requests, the oldest dropped first; 0 for none."""
    max_spec_factor: float = 1.0
    """Drafted tokens are at most this times the matched tokens."""
    min_token_prob: float = 0.1
    """Least estimated probability of a drafted token, those before it included."""

    def __post_init__(self) -> None:
        if self.max_tree_depth < 2 or self.max_cached_requests < 0:
            raise ValueError("suffix decoding needs max_tree_depth >= 2 and max_cached_requests >= 0")
        if self.max_spec_factor < 0 or not 0 <= self.min_token_prob <= 1:
            raise ValueError("suffix decoding needs max_spec_factor >= 0 and min_token_prob within 0..1")

    def potential(self, tokens: RecordedTokens, gamma: int) -> Potential:
        """Outcome of suffix decoding before each output token, exact at temperature 0 (see `potentials`)."""
        return self.potentials([tokens], [gamma])[gamma]

    def potentials(self, recorded: Iterable[RecordedTokens], gammas: Sequence[int]) -> dict[int, Potential]:
        """Outcomes at each of *gammas* before each output token of *recorded*, which is iterated over twice.

        Outputs are taken to run one after another in the order given. Another depth may pick another draft, so a
        deeper outcome must not be cut to get a shallower one.
        """
        for gamma in gammas:
            check_gamma(gamma)
        limits = (np.arange(1, self.max_tree_depth) * self.max_spec_factor + 1e-6).astype(np.int64)
        shared = _Shared(recorded, self.max_tree_depth, self.max_cached_requests)
        rows: list[list[tuple[int, int]]] = []
        for tokens in recorded:
            owner = np.searchsorted(tokens.offsets, tokens.output_start, side="right") - 1
            for text in np.unique(owner).tolist():
                rows += self._run(tokens, text, np.flatnonzero(owner == text), shared, limits, gammas)
        outcomes = np.array(rows, dtype=np.int16).reshape(-1, len(gammas), 2)
        return {gamma: Potential(outcomes[:, at, 0], outcomes[:, at, 1]) for at, gamma in enumerate(gammas)}

    def _run(
        self, tokens: RecordedTokens, text: int, outputs: I64, shared: _Shared, limits: I64, gammas: Sequence[int]
    ) -> list[list[tuple[int, int]]]:
        """Accepted and drafted tokens at each depth before each token of the *outputs* of *text*."""
        low = int(tokens.offsets[text])
        bounds = [(int(tokens.output_start[a]) - low, int(tokens.output_end[a]) - low) for a in outputs]
        ids = tokens.ids[low : low + bounds[-1][1]]
        own = SuffixTree(ids, np.zeros(1, dtype=np.int64), self.max_tree_depth)
        own.fill(0, bounds[0][0])
        counted = bounds[0][0]
        rows = []
        for start, end in bounds:
            shared.begin()
            for at in range(counted, start):
                own.append(at, 0)
            for at in range(start, end):
                drafts = self._best(own, shared, at, limits, gammas)
                following = ids[at : end - 1]
                rows.append([(_agreeing(draft.tokens, following), len(draft.tokens)) for draft in drafts])
                own.append(at, 0)
                shared.append()
            counted = end
        return rows

    def _best(self, own: SuffixTree, shared: _Shared, at: int, limits: I64, gammas: Sequence[int]) -> list[Draft]:
        matches = min(self.max_tree_depth, at) - 1
        if matches < 1:
            return [NOTHING] * len(gammas)
        from_request = own.drafts(at - 1, matches, limits, self.min_token_prob, gammas)
        from_outputs = shared.drafts(matches, limits, self.min_token_prob, gammas)
        pairs = zip(from_request, from_outputs, strict=True)
        return [one if one.score >= other.score else other for one, other in pairs]


class _Shared:
    """All outputs so far, each led by the context tokens that its first matches need."""

    def __init__(self, recorded: Iterable[RecordedTokens], depth: int, max_cached: int) -> None:
        pieces: list[I32] = [np.zeros(0, dtype=np.int32)]
        leads: list[int] = []
        for tokens in recorded:
            owner = np.searchsorted(tokens.offsets, tokens.output_start, side="right") - 1
            lead = np.minimum(tokens.output_start - tokens.offsets[owner], depth - 1)
            bounds = zip((tokens.output_start - lead).tolist(), tokens.output_end.tolist(), strict=True)
            pieces += [tokens.ids[low:high] for low, high in bounds]
            leads += lead.tolist()
        starts = np.cumsum([piece.size for piece in pieces], dtype=np.int64)
        self._max_cached = max_cached
        self._begin = starts[:-1] + np.array(leads, dtype=np.int64)
        self._end = starts[1:]
        self._tree = SuffixTree(np.concatenate(pieces), starts[:-1], depth) if max_cached else None
        self._cached: deque[int] = deque()
        self._output = -1
        self._start = self._at = 0

    def begin(self) -> None:
        """Go on to the next output, dropping the oldest ones beyond the limit."""
        self._output += 1
        self._start = self._at = int(self._begin[self._output])
        if self._tree is None:
            return
        self._cached.append(self._output)
        while len(self._cached) > self._max_cached:
            oldest = self._cached.popleft()
            self._tree.remove(int(self._begin[oldest]), int(self._end[oldest]))

    def append(self) -> None:
        """Count the output's next token."""
        if self._tree is not None:
            self._tree.append(self._at, self._start)
        self._at += 1

    def drafts(self, matches: int, limits: I64, min_token_prob: float, gammas: Sequence[int]) -> list[Draft]:
        """The best continuation of the output so far, found in outputs, at each depth."""
        if self._tree is None:
            return [NOTHING] * len(gammas)
        return self._tree.drafts(self._at - 1, matches, limits, min_token_prob, gammas)


def _agreeing(draft: I32, following: I32) -> int:
    """Leading tokens of *draft* that equal *following*; drafts hold no hidden tokens."""
    length = min(len(draft), len(following))
    if not length:
        return 0
    differs = (draft[:length] != following[:length]).nonzero()[0]
    return int(differs[0]) if len(differs) else length
