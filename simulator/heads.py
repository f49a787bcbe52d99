"""Draft trees as Medusa and EAGLE verify them: several candidates at each depth, one path accepted."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from simulator.acceptance.table import TableAcceptance, conditional_of_survival, from_conditional

Path = tuple[int, ...]
"""Ranks of the candidates from the root to a node, 0 the likeliest."""


@dataclass(frozen=True, slots=True)
class HeadTree:
    """A tree of candidates and how often each is right.

    ``topk[i][r]`` is the probability that the target's token at depth i is exactly the candidate of rank r, the path
    to it accepted. *paths* names the nodes below the root. Raises ValueError for a node without its parent or without
    a probability, and for a depth whose probabilities exceed 1 together.
    """

    paths: tuple[Path, ...]
    topk: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        known = {(), *self.paths}
        if len(known) != len(self.paths) + 1:
            raise ValueError("the tree names a node twice, or its root")
        for rates in self.topk:
            if min(rates, default=-1.0) < 0 or sum(rates) > 1 + 1e-9:
                raise ValueError(f"top-k acceptance {rates}: give probabilities >= 0 that sum to 1 at most")
        for path in self.paths:
            if path[:-1] not in known:
                raise ValueError(f"node {path} has no parent in the tree")
            if len(path) > len(self.topk) or path[-1] >= len(self.topk[len(path) - 1]):
                raise ValueError(f"node {path} has no acceptance probability")

    @property
    def width(self) -> int:
        """Tokens verified beside the target's own: nodes of the tree."""
        return len(self.paths)

    @property
    def depth(self) -> int:
        """Most tokens that a round can accept."""
        return max((len(path) for path in self.paths), default=0)

    @property
    def survival(self) -> tuple[float, ...]:
        """Probability that 1, 2, ... tokens are accepted: the sum over the nodes of that depth."""
        sums = [0.0] * self.depth
        for path in self.paths:
            sums[len(path) - 1] += self.path_probability(path)
        return tuple(sums)

    @property
    def tokens_per_round(self) -> float:
        """Tokens emitted by a round, the target's own included."""
        return 1 + sum(self.survival)

    def path_probability(self, path: Path) -> float:
        """Probability that all candidates of *path* are accepted."""
        return prod(self.topk[level][rank] for level, rank in enumerate(path))

    def round_cost_over_c_T(self, delta: float, draft_passes: float, d: float, o: float = 0.0) -> float:
        """Cost of a round relative to c_T: 1 + o + delta width + d passes.

        Heads on the target's last hidden state draft in no pass of their own, an autoregressive head in one a level.
        """
        return 1 + o + delta * self.width + d * draft_passes

    @property
    def conditional(self) -> list[float]:
        """Acceptance by depth, that before accepted: of a chain that accepts as many tokens as the tree.

        It ends in 0, since no round accepts more than the depth; the tree's width has to be charged apart.
        """
        return [*conditional_of_survival([min(value, 1.0) for value in self.survival]), 0.0]

    def acceptance(self) -> TableAcceptance:
        """That chain, the same for all labels."""
        return from_conditional(self.conditional)


def exclusive(cumulative: Sequence[float]) -> tuple[float, ...]:
    """Probabilities of rank 0, 1, ... exactly, from those of being among the first 1, 2, ... candidates."""
    steps = [after - before for before, after in zip([0.0, *cumulative[:-1]], cumulative, strict=True)]
    if min(steps, default=0.0) < 0:
        raise ValueError(f"top-k acceptance {list(cumulative)} must not fall with k")
    return tuple(steps)


def best_tree(topk: Sequence[Sequence[float]], nodes: int) -> HeadTree:
    """The tree of *nodes* nodes that accepts most: those of the greatest path probabilities.

    A node is never likelier than its parent, so taking the likeliest open node each time is optimal. Fewer nodes come
    out if *topk* has no more.
    """
    rates = tuple(tuple(level) for level in topk)
    open_nodes: list[tuple[float, Path]] = []
    chosen: list[Path] = []

    def open_children(path: Path, probability: float) -> None:
        if len(path) < len(rates):
            for rank, rate in enumerate(rates[len(path)]):
                heapq.heappush(open_nodes, (-probability * rate, (*path, rank)))

    open_children((), 1.0)
    while open_nodes and len(chosen) < nodes:
        negative, path = heapq.heappop(open_nodes)
        chosen.append(path)
        open_children(path, -negative)
    return HeadTree(tuple(chosen), rates)
