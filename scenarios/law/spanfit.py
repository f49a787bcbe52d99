"""Tokens per round by the length of the span that a token lies in: where the law's mean field ends to hold."""

from __future__ import annotations

import msgspec
import numpy as np

from scenarios.acceptance.expected import AcceptanceChoice, mean_eps
from scenarios.law.stretch import class_spans
from simulator import law
from simulator.acceptance.base import F64, Outputs
from simulator.acceptance.rounds import chain_rounds
from simulator.exact import expect

BIN_STARTS = (1, 5, 9, 17, 33, 65, 129, 257)


class SpanRow(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens in spans of one class of between *low* and *high* tokens."""

    low: int
    high: int | None
    """None: no limit."""
    spans: int
    tokens: int
    law_tokens_per_round: float
    """The law at the mean eps of these tokens."""
    exact_tokens_per_round: float | None
    """These tokens over the rounds attributed to them."""
    measured_tokens_per_round: float | None


def by_span_length(outputs: Outputs, choice: AcceptanceChoice, gamma: int) -> list[SpanRow]:
    """A row for each range of span lengths that occurs."""
    _, lengths = class_spans(outputs.labels, outputs.offsets)
    span_bin = np.searchsorted(BIN_STARTS, lengths, side="right") - 1
    token_bin = np.repeat(span_bin, lengths)
    in_rounds = outputs.position > 0
    exact = expect(choice.table, outputs, gamma).share
    known = _shares(choice, outputs, gamma) if choice.measured else None
    rows = []
    for number, low in enumerate(BIN_STARTS):
        mine = token_bin == number
        if not mine.any():
            continue
        emitted = int(np.count_nonzero(mine & in_rounds))
        last = number + 1 == len(BIN_STARTS)
        rows.append(
            SpanRow(
                low=low,
                high=None if last else BIN_STARTS[number + 1] - 1,
                spans=int(np.count_nonzero(span_bin == number)),
                tokens=int(np.count_nonzero(mine)),
                law_tokens_per_round=law.tokens_per_round(
                    mean_eps(outputs.labels[mine], choice.eps), choice.law_depth(gamma)
                ),
                exact_tokens_per_round=_ratio(emitted, float(exact[mine].sum())),
                measured_tokens_per_round=None if known is None else _ratio(emitted, float(known[mine].sum())),
            )
        )
    return rows


def _shares(choice: AcceptanceChoice, outputs: Outputs, gamma: int) -> F64:
    """Rounds attributed to each token, each divided equally over the tokens that it emits."""
    rounds = chain_rounds(choice.model.potential(outputs, gamma), outputs.offsets)
    shares = np.zeros(len(outputs.labels))
    first = outputs.position == 0
    shares[~first] = np.repeat(1 / rounds.emitted, rounds.emitted)
    return shares


def _ratio(tokens: int, rounds: float) -> float | None:
    return tokens / rounds if rounds else None
