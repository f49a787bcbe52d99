"""Suffix decoding: drafts from what followed the last tokens before, in the request and in earlier outputs.

The rules are those of the suffix drafter in vLLM 0.11 and later.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from simulator.acceptance.base import I64, Potential, check_gamma
from simulator.acceptance.tokens import I32, RecordedTokens

if TYPE_CHECKING:
    from simulator.acceptance.suffixsearch import Rules, Text

I16 = npt.NDArray[np.int16]

READ_TOKENS = 256
"""Context tokens read at once: bounds the room kept for strings, changes nothing."""


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
        from simulator.acceptance.suffixsearch import Rules  # compiled code: loaded where it is used

        for gamma in gammas:
            check_gamma(gamma)
        limits = (np.arange(1, self.max_tree_depth) * self.max_spec_factor + 1e-6).astype(np.int64)
        rules = Rules(limits, float(self.min_token_prob), np.array(gammas, dtype=np.int64))
        shared = _Shared(recorded, self.max_tree_depth, self.max_cached_requests)
        parts = [np.zeros((0, len(gammas), 2), dtype=np.int16)]
        for tokens in recorded:
            owner = np.searchsorted(tokens.offsets, tokens.output_start, side="right") - 1
            for text in np.unique(owner).tolist():
                parts += self._run(tokens, text, np.flatnonzero(owner == text), shared, rules)
        outcomes = np.concatenate(parts)
        return {gamma: Potential(outcomes[:, at, 0], outcomes[:, at, 1]) for at, gamma in enumerate(gammas)}

    def _run(self, tokens: RecordedTokens, text: int, outputs: I64, shared: _Shared, rules: Rules) -> list[I16]:
        """Accepted and drafted tokens at each depth before each token of the *outputs* of *text*, output by output."""
        from simulator.acceptance.suffixsearch import Drafts, Text, decode, read

        low = int(tokens.offsets[text])
        bounds = [(int(tokens.output_start[a]) - low, int(tokens.output_end[a]) - low) for a in outputs]
        own = Text.of(np.ascontiguousarray(tokens.ids[low : low + bounds[-1][1]], dtype=np.int32), self.max_tree_depth)
        drafts = Drafts.none(rules.gammas)
        counted = 0
        parts = []
        for start, end in bounds:
            for first in range(counted, start, READ_TOKENS):
                own = own.with_room(READ_TOKENS)
                read(own, first, min(first + READ_TOKENS, start))
            own = own.with_room(end - start)
            rows = np.zeros((end - start, len(rules.gammas), 2), dtype=np.int16)
            begin, lead = shared.begin()
            decode(own, shared.text, (start, end), (begin, lead), rules, drafts, rows)
            parts.append(rows)
            counted = end
        return parts


class _Shared:
    """All outputs so far, each led by the context tokens that its first matches need."""

    def __init__(self, recorded: Iterable[RecordedTokens], depth: int, max_cached: int) -> None:
        from simulator.acceptance.suffixsearch import Text

        pieces: list[I32] = [np.zeros(0, dtype=np.int32)]
        leads: list[int] = []
        for tokens in recorded if max_cached else ():
            owner = np.searchsorted(tokens.offsets, tokens.output_start, side="right") - 1
            lead = np.minimum(tokens.output_start - tokens.offsets[owner], depth - 1)
            bounds = zip((tokens.output_start - lead).tolist(), tokens.output_end.tolist(), strict=True)
            pieces += [tokens.ids[low:high] for low, high in bounds]
            leads += lead.tolist()
        ends = np.cumsum([piece.size for piece in pieces], dtype=np.int64)
        self._max_cached = max_cached
        self._leads = leads
        self._begin = (ends[:-1] + np.array(leads, dtype=np.int64)).tolist()
        self._end = ends[1:].tolist()
        self._cached: deque[int] = deque()
        self._output = -1
        self.text: Text = Text.of(np.concatenate(pieces).astype(np.int32), depth)

    def begin(self) -> tuple[int, int]:
        """Go on to the next output, dropping the oldest ones beyond the limit: where it starts, and its context."""
        from simulator.acceptance.suffixtree import remove

        self._output += 1
        if not self._max_cached:
            return 0, 0
        self._cached.append(self._output)
        while len(self._cached) > self._max_cached:
            oldest = self._cached.popleft()
            remove(
                self.text.nodes,
                self.text.slots,
                self.text.ids,
                self._begin[oldest],
                self._end[oldest],
                len(self.text.ending),
            )
        begin = self._begin[self._output]
        self.text = self.text.with_room(self._end[self._output] - begin)
        return begin, self._leads[self._output]
