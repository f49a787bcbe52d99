"""Where rounds start when forced tokens are jumped over: the exact expectation's system without the jumped tokens."""

from __future__ import annotations

import numpy as np

from simulator.acceptance.base import F64, I64


def jumping_starts(exactly: list[F64], left: I64, roots: I64, jump: I64) -> F64:
    """Probability that a round starts at each token.

    ``exactly[k]`` is the probability that a round from a token accepts k drafts, *left* counts the tokens to the
    output's end, ``jump[t]`` those from t on that follow by force. No round starts at a forced token but at *roots*.
    Counted without the tokens where none starts, a round that accepts k drafts goes on by k + 1 at most: a band.
    """
    free = jump == 0
    free[roots] = True
    place = np.concatenate([[0], np.cumsum(free)])
    at = np.flatnonzero(free)
    band = np.zeros((len(exactly) + 1, at.size), order="F")
    for k, probability in enumerate(exactly):
        after = at + k + 1
        inside = left[at] > k + 1
        inside[inside] = left[at[inside]] > k + 1 + jump[after[inside]]
        column = np.flatnonzero(inside)
        np.subtract.at(band, (place[after[inside]] - column, column), probability[at[inside]])
    sources = np.zeros(at.size)
    sources[place[roots]] = 1.0
    start = np.zeros(len(left))
    start[at] = solve_band(band, sources)
    return start


def jumping_shares(start: F64, exactly: list[F64], left: I64, jump: I64) -> tuple[F64, F64]:
    """Rounds attributed to each token, each divided equally over what it emits; tokens that a round from it jumps."""
    tokens = len(start)
    index = np.arange(tokens)
    change, jumped = np.zeros(tokens + 1), np.zeros(tokens)
    for k, probability in enumerate(exactly):
        after = np.minimum(index + k + 1, max(tokens - 1, 0))
        run = np.where(left > k + 1, jump[after], 0)
        emitted = np.minimum(k + 1 + run, left)
        rounds = start * probability
        change[:-1] += rounds / emitted
        np.subtract.at(change, index + emitted, rounds / emitted)
        jumped += rounds * run
    return np.cumsum(change[:-1]), jumped


def solve_band(band: F64, sources: F64) -> F64:
    """The solution of a lower triangular system of unit diagonal whose lower diagonals are the rows of *band*."""
    from scipy.linalg.lapack import dtbtrs  # slow to import, and not every command needs it

    if sources.size == 0:
        return sources
    solution, info = dtbtrs(band, sources, uplo="L", trans="N", diag="U")
    if info != 0:
        raise ArithmeticError(f"the banded solve of round starts failed with LAPACK code {info}")
    return np.asarray(solution, dtype=np.float64).reshape(sources.size)
