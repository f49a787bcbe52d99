"""Entropy of a next-token distribution of which the likeliest tokens alone are known: between which bounds it lies."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, floor, log
from typing import NamedTuple


class Bounds(NamedTuple):
    """Least and greatest entropy in nats, and the greatest probability of one token, at least."""

    least: float
    most: float
    likeliest: float


def entropy_bounds(logprobs: Sequence[float], chosen: float, vocabulary: int) -> Bounds:
    """Bounds on the entropy of a distribution over *vocabulary* tokens.

    *logprobs* are those of its likeliest tokens, *chosen* that of the token that was generated, which may be one of
    them. The rest of the probability makes most entropy spread evenly over all other tokens, and least heaped on as
    few as none of them being likelier than the known ones allows; without *logprobs* on one. Probabilities that sum
    to more than 1, by rounding or not, leave no rest.
    """
    known = [exp(one) for one in logprobs]
    limit = min(known) if known else 1.0
    if not known or exp(chosen) < limit * (1 - 1e-6):
        known.append(exp(chosen))
    entropy = sum(_term(one) for one in known)
    rest = max(0.0, 1 - sum(known))
    others = max(1, vocabulary - len(known))
    most = entropy + rest * log(others) + _term(rest)
    heaps = floor(rest / limit) if limit > 0 else 0
    least = entropy + heaps * _term(limit) + _term(max(0.0, rest - heaps * limit))
    likeliest = max(known) if logprobs else max(known[0], 0.0)
    return Bounds(min(least, most), most, likeliest)


def _term(probability: float) -> float:
    return -probability * log(probability) if probability > 0 else 0.0
