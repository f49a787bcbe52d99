"""Prompt lookup: drafts copied from where the last tokens occurred before, as vLLM's n-gram drafter finds them."""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from simulator.acceptance.base import I64, Potential
from simulator.acceptance.tokens import RecordedTokens, copied_from, grams


class Occurrence(StrEnum):
    """Which of several earlier occurrences of the last tokens is copied from."""

    EARLIEST = "earliest"
    """The first one in the text, as vLLM."""
    LATEST = "latest"
    """The most recent one."""


def ngram_potential(
    tokens: RecordedTokens,
    gamma: int,
    *,
    prompt_lookup_min: int = 5,
    prompt_lookup_max: int = 5,
    occurrence: Occurrence = Occurrence.EARLIEST,
) -> Potential:
    """Outcome of prompt lookup before each output token, exact at temperature 0.

    The longest of the last *prompt_lookup_max* .. *prompt_lookup_min* tokens that occurred before in the context and
    the output so far decides; what followed it is drafted. Without an occurrence nothing is. Cut to fewer drafts it
    is the outcome at that depth.
    """
    if not 1 <= prompt_lookup_min <= prompt_lookup_max:
        raise ValueError(f"prompt lookup from {prompt_lookup_min} to {prompt_lookup_max}: give 1 <= min <= max")
    here = tokens.output_index
    inside = here - 1 >= tokens.offsets[tokens.text[here]]
    last = np.where(inside, here - 1, 0)
    source = np.full(len(here), -1, dtype=np.int64)
    for n, gram in enumerate(grams(tokens, prompt_lookup_max), start=1):
        if n >= prompt_lookup_min:
            before = _occurrence_before(gram, occurrence)[last]
            np.copyto(source, before + 1, where=inside & (before >= 0))
    return copied_from(tokens, source, gamma)


def _occurrence_before(gram: I64, occurrence: Occurrence) -> I64:
    """Per token where the gram ending there ended before, -1 if nowhere or without a gram."""
    order = np.argsort(gram, kind="stable")
    ordered = gram[order]
    repeats = np.zeros(len(gram), dtype=np.bool_)
    repeats[1:] = (ordered[1:] == ordered[:-1]) & (ordered[1:] >= 0)
    if occurrence is Occurrence.LATEST:
        source = np.roll(order, 1)
    else:
        first = np.maximum.accumulate(np.where(repeats, 0, np.arange(len(gram))))
        source = order[first]
    before = np.full(len(gram), -1, dtype=np.int64)
    before[order[repeats]] = source[repeats]
    return before
