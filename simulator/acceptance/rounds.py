"""The chain of rounds that an output is made of, given the outcome of a round from every token."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from simulator.acceptance.base import I64, Potential, Rounds


def chain_rounds(potential: Potential, offsets: I64, first: int = 1) -> Rounds:
    """The rounds that emit each attempt's tokens from number *first* on; linear in the tokens.

    *first* is the count of tokens that prefill emits: 1 as the engine works, 0 to cover the whole output. A round
    emits the accepted drafts and one token of the target's, cut at the end of the output.
    """
    if first < 0:
        raise ValueError(f"first {first} is negative: give the number of tokens emitted by prefill")
    tokens = int(offsets[-1])
    if len(potential.accepted) != tokens:
        raise ValueError(f"outcomes for {len(potential.accepted)} tokens, offsets end at {tokens}")
    lengths = np.diff(offsets)
    index = np.arange(tokens, dtype=np.int64)
    ends = np.repeat(offsets[1:], lengths)
    emitted = np.minimum(potential.accepted.astype(np.int64) + 1, ends - index)
    start = _reached(index + emitted, ends, offsets[:-1][lengths > first] + first)
    bounds = np.searchsorted(start, offsets).astype(np.int64)
    return Rounds(
        start=start,
        emitted=emitted[start],
        accepted=potential.accepted[start].astype(np.int64),
        drafted=potential.drafted[start].astype(np.int64),
        offsets=bounds,
    )


def _reached(following: I64, ends: I64, roots: I64) -> I64:
    """Tokens where a round starts, in order: those reached from *roots* by going to *following* until *ends*."""
    tokens = len(following)
    inside = following < ends
    counts = np.zeros(tokens + 2, dtype=np.int32)
    counts[1:-1] = inside
    counts[-1] = len(roots)
    targets = np.concatenate([following[inside], roots]).astype(np.int32)
    ones = np.ones(len(targets))
    graph = csr_array((ones, targets, np.cumsum(counts, dtype=np.int32)), shape=(tokens + 1, tokens + 1))
    order = breadth_first_order(graph, tokens, directed=True, return_predecessors=False)
    reached = np.zeros(tokens, dtype=np.bool_)
    reached[order[1:]] = True
    return np.flatnonzero(reached)
