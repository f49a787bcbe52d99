from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.acceptance.expectation import expectation
from simulator.heads import HeadTree, best_tree, exclusive
from simulator.law import c_net_over_c_T, tokens_per_round
from tests.simulator.strategies import outputs_of

TOPK = ((0.6, 0.15, 0.05), (0.5, 0.2, 0.05), (0.4, 0.1, 0.1))


@given(st.floats(0, 1), st.integers(1, 8), st.floats(0, 0.5), st.floats(0, 0.5))
def test_a_chain_is_the_law(alpha: float, gamma: int, delta: float, d: float) -> None:
    chain = HeadTree(tuple((0,) * depth for depth in range(1, gamma + 1)), ((alpha,),) * gamma)
    assert chain.tokens_per_round == pytest.approx(tokens_per_round(1 - alpha, gamma))
    cost = chain.round_cost_over_c_T(delta, gamma, d) / chain.tokens_per_round
    assert cost == pytest.approx(c_net_over_c_T(1 - alpha, gamma, delta, d))


def test_tokens_per_round_is_that_of_drawn_targets() -> None:
    tree = best_tree(TOPK, 9)
    rng = np.random.default_rng(0)
    emitted = []
    for _ in range(40_000):
        path: tuple[int, ...] = ()
        for rates in TOPK:
            rank = int(np.searchsorted(np.cumsum(rates), rng.random(), side="right"))
            if (*path, rank) not in tree.paths:
                break
            path = (*path, rank)
        emitted.append(len(path) + 1)
    error = np.std(emitted) / np.sqrt(len(emitted))
    assert abs(np.mean(emitted) - tree.tokens_per_round) < 3 * error


@given(st.integers(1, 4))
@settings(max_examples=4, deadline=None)
def test_best_tree_beats_every_tree_of_its_size(nodes: int) -> None:
    topk = [[0.5, 0.3], [0.6, 0.2], [0.7, 0.1]]
    every = [path for depth in (1, 2, 3) for path in product(range(2), repeat=depth)]
    rates = tuple(tuple(level) for level in topk)
    lengths = [
        HeadTree(paths, rates).tokens_per_round
        for paths in combinations(every, nodes)
        if all(path[:-1] in {(), *paths} for path in paths)
    ]
    assert best_tree(topk, nodes).tokens_per_round == pytest.approx(max(lengths))


def test_the_equal_chain_emits_what_the_tree_does() -> None:
    tree = best_tree(TOPK, 12)
    outputs = outputs_of([60_000], np.full(60_000, 7))
    found = expectation(tree.acceptance(), outputs, tree.depth, first=0)
    assert found.tokens_per_round == pytest.approx(tree.tokens_per_round, rel=1e-3)
    assert tree.width == 12


def test_cumulative_rates_become_exclusive_ones() -> None:
    assert exclusive([0.6, 0.75, 0.8]) == pytest.approx((0.6, 0.15, 0.05))
    with pytest.raises(ValueError, match="must not fall"):
        exclusive([0.6, 0.5])


@pytest.mark.parametrize("paths", [((0, 0),), ((0,), (0,)), ((3,),), ((0,), (0, 0), (0, 0, 0), (0, 0, 0, 0)), ((),)])
def test_unusable_trees_are_refused(paths: tuple[tuple[int, ...], ...]) -> None:
    with pytest.raises(ValueError):
        HeadTree(paths, TOPK)
    with pytest.raises(ValueError, match="sum to 1"):
        HeadTree(((0,),), ((0.6, 0.5),))
