"""Counts of all token strings up to a depth, with the likeliest continuation of each: a suffix tree laid out in arrays.

Strings are numbered beforehand over a text that is known in full; the counts then follow the text as it grows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from simulator.acceptance.base import I64
from simulator.acceptance.tokens import I32


class Draft(NamedTuple):
    """Tokens proposed, and the sum of their estimated probabilities."""

    tokens: I32
    score: float


NOTHING = Draft(np.zeros(0, dtype=np.int32), 0.0)


class SuffixTree:
    """The strings of 1 .. *depth* tokens within pieces of *ids*; *starts* holds where the pieces start.

    It starts empty: `fill` and `append` count strings, `remove` takes a counted range back. Memory and the numbering
    take depth times the tokens. Strings with a negative id are left out.
    """

    def __init__(self, ids: I32, starts: I64, depth: int) -> None:
        self._depth = depth
        self._node = np.full((len(ids), depth), -1, dtype=np.int32)
        token: list[I32] = []
        base, nodes = int(ids.max(initial=0)) + 1, 0
        before = np.zeros(len(ids), dtype=np.int64)
        for length in range(depth):
            valid = np.flatnonzero((before >= 0) & (ids >= 0))
            found, rank = np.unique(before[valid] * base + ids[valid], return_inverse=True)
            self._node[valid, length] = rank + nodes
            token.append((found % base).astype(np.int32))
            nodes += len(found)
            before = np.roll(self._node[:, length].astype(np.int64), 1)
            before[starts[starts < len(ids)]] = -1
        self._token = np.concatenate(token)
        self._count = np.zeros(max(nodes, 1), dtype=np.int32)
        self._best = np.full(len(self._count), -1, dtype=np.int32)
        self._family: tuple[I32, I64] | None = None

    def fill(self, low: int, high: int) -> None:
        """Count the strings within positions *low* .. *high* - 1. The tree must be empty."""
        for length in range(min(self._depth, high - low)):
            nodes = self._node[low + length : high, length]
            known = nodes >= 0
            np.add.at(self._count, nodes[known], 1)
            if length:
                self._choose_first_fill(self._node[low + length - 1 : high - 1, length - 1][known], nodes[known])

    def _choose_first_fill(self, parents: I32, children: I32) -> None:
        """Set the best child of each parent: of the most counted the last to get there, at count 1 the first."""
        if not len(children):
            return
        when = np.arange(len(children))
        count = self._count[children]
        order = np.lexsort((np.where(count > 1, when, -when), count, parents))
        last = np.ones(len(order), dtype=np.bool_)
        last[:-1] = parents[order[1:]] != parents[order[:-1]]
        self._best[parents[order[last]]] = children[order[last]]

    def append(self, at: int, start: int) -> None:
        """Count the strings that end at position *at* of the sequence that starts at *start*."""
        nodes = self._node[at, : min(self._depth, at - start + 1)]
        nodes = nodes[nodes >= 0]
        length = len(nodes)
        self._count[nodes] += 1
        if length <= 1:
            return
        parents, children = self._node[at - 1, : length - 1], nodes[1:]
        best = self._best[parents]
        count = self._count[children]
        ahead = np.where(best >= 0, self._count[best], 0)
        better = (count > ahead) | ((count == ahead) & (count > 1))
        self._best[parents[better]] = children[better]

    def remove(self, low: int, high: int) -> None:
        """Take back the strings of the sequence at positions *low* .. *high* - 1.

        Where a parent's best child is then no longer the most counted, the first of the most counted takes its place.
        """
        touched: list[I32] = []
        for length in range(min(self._depth, high - low)):
            nodes = self._node[low + length : high, length]
            known = nodes >= 0
            np.subtract.at(self._count, nodes[known], 1)
            if length:
                touched.append(self._node[low + length - 1 : high - 1, length - 1][known])
        for parent in np.unique(np.concatenate(touched)) if touched else ():
            self._choose_again(int(parent))

    def _choose_again(self, parent: int) -> None:
        children, bounds = self._children()
        own = children[bounds[parent] : bounds[parent + 1]]
        count = self._count[own]
        top = count.max(initial=0)
        if top == 0:
            self._best[parent] = -1
        elif self._count[self._best[parent]] < top:
            self._best[parent] = own[int(np.argmax(count))]

    def _children(self) -> tuple[I32, I64]:
        if self._family is None:
            pairs = [
                np.unique(np.stack([self._node[:-1, k - 1], self._node[1:, k]])[:, self._node[1:, k] >= 0], axis=1)
                for k in range(1, self._depth)
            ]
            parents, children = np.concatenate(pairs, axis=1) if pairs else np.zeros((2, 0), dtype=np.int32)
            order = np.argsort(parents, kind="stable")
            bounds = np.searchsorted(parents[order], np.arange(len(self._count) + 1)).astype(np.int64)
            self._family = (children[order], bounds)
        return self._family

    def drafts(self, at: int, matches: int, limits: I64, min_token_prob: float, gammas: Sequence[int]) -> list[Draft]:
        """The best continuation after position *at* over suffixes of 1 .. *matches* tokens, at each of *gammas*.

        A suffix of m tokens drafts ``limits[m - 1]`` tokens at most and no more than the depth, the likeliest next
        token each time, while the product of their shares stays at *min_token_prob* or above. The greatest sum of these
        products wins, the longest suffix of equals.
        """
        nodes = self._node[at, :matches]
        known = int(np.count_nonzero((nodes >= 0) & (self._count[nodes] > 0)))
        nodes = nodes[:known]
        following = self._best[nodes]
        first = np.where(following >= 0, self._count[following] / self._count[nodes], 0.0)
        if not known or first.max() < min_token_prob:
            return [NOTHING] * len(gammas)
        # no token of a draft is likelier than its first, so a draft's sum stays below first times its length
        most = (first * (1 + 1e-9))[:, None] * np.minimum(limits[:known, None], np.array(gammas))
        scores = np.zeros(len(gammas))
        paths: list[list[int]] = [[]] * len(gammas)
        while True:
            open_suffixes = np.flatnonzero((most > scores).any(axis=1))
            if not open_suffixes.size:
                break
            longest = int(open_suffixes[-1])
            most = most[:longest]
            path, sums = self._walk(int(nodes[longest]), min(int(limits[longest]), max(gammas)), min_token_prob)
            for which, gamma in enumerate(gammas):
                score = sums[min(gamma, len(path))]
                if score > scores[which]:
                    scores[which], paths[which] = score, path[:gamma]
        pairs = zip(paths, scores.tolist(), strict=True)
        return [Draft(self._token[path], score) if path else NOTHING for path, score in pairs]

    def _walk(self, node: int, limit: int, min_token_prob: float) -> tuple[list[int], list[float]]:
        """The likeliest continuation of a string, and the sums of probabilities of its first 0, 1, ... tokens."""
        path: list[int] = []
        sums = [0.0]
        probability = 1.0
        count, best = self._count, self._best
        while len(path) < limit:
            following = int(best[node])
            if following < 0:
                break
            probability = probability * int(count[following]) / int(count[node])
            if probability < min_token_prob:
                break
            node = following
            path.append(node)
            sums.append(sums[-1] + probability)
        return path, sums
