"""The chain of rounds that an output is made of, given the outcome of a round from every token."""

from __future__ import annotations

from array import array

import numpy as np

from simulator.acceptance.base import I64, Potential, Rounds


def chain_rounds(potential: Potential, offsets: I64, first: int = 1) -> Rounds:
    """The rounds that emit each attempt's tokens from number *first* on; linear in the tokens.

    *first* is the count of tokens that prefill emits: 1 as the engine works, 0 to cover the whole output. A round
    emits the accepted drafts, one token of the target's and those that follow it by force, cut at the output's end.
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
    beside = potential.beside
    if beside.jump is not None:
        after = index + emitted
        jumped = np.where(after < ends, beside.jump[np.minimum(after, max(tokens - 1, 0))], 0).astype(np.int64)
        emitted += jumped
    start = _reached(index + emitted, ends, offsets[:-1][lengths > first] + first)
    bounds = np.searchsorted(start, offsets).astype(np.int64)
    undrafted = None
    if beside.jump is not None or beside.idle is not None:
        undrafted = np.zeros(len(start), dtype=np.int64)
        undrafted += 0 if beside.jump is None else jumped[start]
        undrafted += 0 if beside.idle is None else beside.idle[start]
    return Rounds(
        start=start,
        emitted=emitted[start],
        accepted=potential.accepted[start].astype(np.int64),
        drafted=potential.drafted[start].astype(np.int64),
        offsets=bounds,
        undrafted=undrafted,
    )


def _reached(following: I64, ends: I64, roots: I64) -> I64:
    """Tokens where a round starts, in order: those reached from *roots* by going to *following* until *ends*."""
    steps = following.tolist()
    reached = array("q")
    for root, end in zip(roots.tolist(), ends[roots].tolist(), strict=True):
        token = root
        while token < end:
            reached.append(token)
            token = steps[token]
    return np.array(reached, dtype=np.int64)
