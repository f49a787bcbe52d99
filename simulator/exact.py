"""Exact expectation of speculative rounds over outputs whose drafts are accepted independently, without sampling.

With u[j] the probability that a round starts at token j, u[j + k + 1] grows by u[j] P(exactly k accepted from j). That
is a banded triangular system, solved for all outputs at once; linear in tokens times gamma.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from simulator.acceptance.base import (
    F64,
    I16,
    I64,
    NOTHING_BESIDE,
    U8,
    Beside,
    ExactModel,
    Outputs,
    check_gamma,
    tokens_left,
)
from simulator.acceptance.threshold import ThresholdModel
from simulator.exactjumps import jumping_shares, jumping_starts, solve_band

CHUNK_TOKENS = 1 << 14
"""Tokens solved together, whole outputs at least: bounds memory, changes nothing."""


@dataclass(frozen=True, slots=True)
class ExpectedRounds:
    """Expected counts: per output (first group), per draft depth (second), per token of the flat arrays (third)."""

    rounds: F64
    tokens: F64
    """Tokens that rounds emit, known without error: those not emitted by prefill."""
    accepted: F64
    useful_drafts: F64
    """Drafts of tokens before the output's last; those past it can change nothing."""
    drafted: F64
    """Drafts verified, past the end of the output too: gamma a round, or its limit."""
    undrafted: F64
    """Tokens verified beside drafts: idle width, and tokens emitted by force."""

    accepted_per_pos: F64
    """Rounds that accept their draft number 1, 2, ... gamma, over all outputs."""

    start: F64
    """Probability that a round starts at the token."""
    share: F64
    """Rounds attributed to the token, each divided equally over the tokens that it emits."""
    accepted_from: F64
    """Drafts accepted by rounds that start at the token."""
    tested: F64
    """Probability that the token is drafted with all drafts before it accepted."""
    hit: F64
    """Probability that the token is an accepted draft."""

    def by_label(self, labels: U8, n_labels: int) -> RoundsByLabel:
        """The per-token figures summed by *labels*, values 0 .. *n_labels* - 1."""
        columns = (self.start, self.share, self.accepted_from, self.tested, self.hit)
        sums = [np.bincount(labels, weights=column, minlength=n_labels).astype(np.float64) for column in columns]
        return RoundsByLabel(*sums)


@dataclass(frozen=True, slots=True)
class RoundsByLabel:
    """Expected counts per label: rounds by where they start and by what they emit, drafts by what they propose."""

    started: F64
    share: F64
    accepted_from: F64
    """Drafts accepted by rounds that start at this label: over *started* it is the label's tau."""
    tested: F64
    hit: F64


def expect(
    model: ExactModel, outputs: Outputs, gamma: int, first: int = 1, limits: I16 | None = None
) -> ExpectedRounds:
    """Expected rounds of *outputs* under *model*; *first* and *limits* as in `expect_rounds`."""
    if isinstance(model, ThresholdModel):
        accept, beside = model.accept_to(outputs, gamma), model.beside(outputs, gamma)
    else:
        accept, beside = [model.accept_at(outputs, depth) for depth in range(gamma)], NOTHING_BESIDE
    accept = accept or [np.zeros(len(outputs.labels))]
    return expect_rounds(accept, outputs.offsets, gamma, first, limits, beside)


def expect_rounds(
    accept: Sequence[F64],
    offsets: I64,
    gamma: int,
    first: int = 1,
    limits: I16 | None = None,
    beside: Beside = NOTHING_BESIDE,
) -> ExpectedRounds:
    """Expected rounds of draft depth *gamma* over outputs end to end.

    ``accept[i]`` holds per token the probability that it is accepted as draft number i (from 0) once those before it
    are; the last array serves all greater depths. Output ``a`` owns tokens ``offsets[a]:offsets[a + 1]``; prefill emits
    its *first* tokens. *limits* cuts the rounds that start at a token to fewer drafts; *beside* is what they verify
    beside drafts, and a round with idle width drafts that much less. Raises ValueError if the shapes or probabilities
    are not usable.
    """
    check_gamma(gamma)
    _check_accept(accept, int(offsets[-1]))
    depth = np.full(int(offsets[-1]), gamma) if limits is None else np.minimum(limits, gamma).astype(np.int64)
    idle = np.zeros(len(depth)) if beside.idle is None else np.minimum(beside.idle, depth).astype(np.int64)
    depth = depth if beside.idle is None else depth - idle
    parts = [
        _solve(
            [one[low:high] for one in accept],
            bounds - low,
            depth[low:high],
            first,
            None if beside.jump is None else beside.jump[low:high].astype(np.int64),
        )
        for low, high, bounds in _chunks(offsets)
    ]
    start, share, accepted_from, tested, hit, useful, jumped = (np.concatenate(column) for column in _columns(parts))
    lengths = np.diff(offsets)
    rounds = _per_output(start, offsets)
    return ExpectedRounds(
        rounds=rounds,
        tokens=np.maximum(lengths - first, 0).astype(np.float64),
        accepted=_per_output(accepted_from, offsets),
        useful_drafts=_per_output(useful, offsets),
        drafted=_per_output(start * depth, offsets),
        undrafted=_per_output(start * idle + jumped, offsets),
        accepted_per_pos=sum((_padded(part.per_pos, gamma) for part in parts), np.zeros(gamma)),
        start=start,
        share=share,
        accepted_from=accepted_from,
        tested=tested,
        hit=hit,
    )


@dataclass(frozen=True, slots=True)
class _Part:
    flat: tuple[F64, F64, F64, F64, F64, F64, F64]
    per_pos: F64


def _solve(accept: list[F64], offsets: I64, depth: I64, first: int, jump: I64 | None) -> _Part:
    gamma = int(depth.max(initial=0))
    lengths = np.diff(offsets)
    left = tokens_left(offsets)
    limit = np.minimum(depth, left - 1)
    survival = _survival(accept, limit, gamma)
    exactly = [survival[k] - survival[k + 1] for k in range(gamma)] + [survival[gamma]]
    roots = offsets[:-1][lengths > first] + first
    tested, hit = np.zeros((2, len(left)))
    if jump is None:
        start, jumped = _start_probability(exactly, left, roots), np.zeros(len(left))
        share = _shares(start, exactly)
    else:
        start = jumping_starts(exactly, left, roots, jump)
        share, jumped = jumping_shares(start, exactly, left, jump)
    for k in range(gamma):
        _add_ahead(tested, start * survival[k] * (limit > k), k)
        _add_ahead(hit, start * survival[k + 1], k)
    accepted_from = start * np.sum(survival[1:], axis=0) if gamma else np.zeros(len(left))
    per_pos = np.array([np.sum(start * survival[k + 1]) for k in range(gamma)])
    return _Part((start, share, accepted_from, tested, hit, start * limit, jumped), per_pos)


def _shares(start: F64, exactly: list[F64]) -> F64:
    share, spread = np.zeros((2, len(start)))
    for k in range(len(exactly) - 1, -1, -1):
        spread += start * exactly[k] / (k + 1)
        _add_ahead(share, spread, k)
    return share


def _survival(accept: list[F64], limit: I64, gamma: int) -> list[F64]:
    """Per k the probability that the k drafts from each token are all accepted; 0 beyond *limit*."""
    tokens = len(limit)
    survival = [np.ones(tokens)]
    for k in range(gamma):
        following = np.zeros(tokens)
        ahead = accept[min(k, len(accept) - 1)][k:]
        following[: len(ahead)] = survival[k][: len(ahead)] * ahead
        following[limit <= k] = 0.0
        survival.append(following)
    return survival


def _start_probability(exactly: list[F64], left: I64, roots: I64) -> F64:
    tokens = len(left)
    band = np.zeros((len(exactly) + 1, tokens), order="F")
    for k, probability in enumerate(exactly):
        np.copyto(band[k + 1], -probability, where=left > k + 1)
    sources = np.zeros(tokens)
    sources[roots] = 1.0
    return solve_band(band, sources)


def _add_ahead(target: F64, values: F64, distance: int) -> None:
    """Add the value of each token to the token *distance* further on; what goes past the end is 0."""
    if distance < len(target):
        target[distance:] += values[: len(values) - distance]


def _padded(values: F64, length: int) -> F64:
    return np.concatenate([values, np.zeros(length - len(values))])


def _per_output(values: F64, offsets: I64) -> F64:
    sums = np.zeros(len(offsets) - 1)
    some = np.diff(offsets) > 0
    if some.any():
        sums[some] = np.add.reduceat(values, offsets[:-1][some])
    return sums


def _chunks(offsets: I64) -> Iterator[tuple[int, int, I64]]:
    """Token ranges of about CHUNK_TOKENS, with the bounds of the outputs in them."""
    at, count = 0, len(offsets) - 1
    while at < count:
        wanted = int(np.searchsorted(offsets, offsets[at] + CHUNK_TOKENS, side="right")) - 1
        end = min(count, max(wanted, at + 1))
        yield int(offsets[at]), int(offsets[end]), offsets[at : end + 1]
        at = end


def _columns(parts: list[_Part]) -> list[list[F64]]:
    return [[part.flat[column] for part in parts] or [np.zeros(0)] for column in range(7)]


def _check_accept(accept: Sequence[F64], tokens: int) -> None:
    if not accept:
        raise ValueError("no acceptance probabilities: give one array at least")
    for depth, values in enumerate(accept):
        if len(values) != tokens:
            raise ValueError(f"{len(values)} acceptance probabilities at depth {depth} for {tokens} tokens")
        if not np.all((values >= 0) & (values <= 1)):
            raise ValueError(f"acceptance probabilities at depth {depth} are not all within 0..1")
