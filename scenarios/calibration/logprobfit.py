"""Entropy and predictability by class from the token logprobs of a recording."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp

import msgspec
import numpy as np
import numpy.typing as npt

from scenarios.answer import Interval
from scenarios.options.read import ReadOptions
from simulator.entropy import entropy_bounds
from simulator.intervals import Z_95
from tokenclass.classes import PositionClass
from tokenclass.formats.family import Family
from tokenclass.formats.registry import get_family
from tokenclass.formats.schema import Json
from tokenclass.parse import parse_output
from tokenclass.tokenizers import load_tokenizer
from traces.model import Attempt, Session, TokenLogprob

F64 = npt.NDArray[np.float64]

TOP_SUM_LIMIT = 1.01
"""Sum of the probabilities of the likeliest tokens above which they are none."""
_LEAST, _MOST, _LIKELIEST, _SURPRISAL = range(4)


class ClassEntropy(msgspec.Struct, frozen=True, kw_only=True):
    """One class. Intervals are 95 %, over outputs as a whole where there are several."""

    label: str
    tokens: int
    outputs: int
    entropy: Interval
    """H_c in nats as far as the recorded top-k shows it: the least that is possible."""
    entropy_most: Interval
    """The greatest that is possible, with the rest of the probability spread over the vocabulary."""
    surprisal: Interval
    """Mean of minus the logprob of the token generated: H_c too, if tokens were sampled at temperature 1."""
    rho: Interval
    """exp(-H_c) of *entropy*; low and high take in the bound and the sampling error."""
    likeliest: Interval
    """Mean probability of the likeliest token: the most that a greedy drafter can get accepted."""


class LogprobFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What token logprobs say of a recording's outputs."""

    tokens: int
    outputs: int
    top_k: int
    """Likeliest tokens recorded a position, the median; 0: none."""
    vocabulary: int
    classes: list[ClassEntropy]
    rho_bar: Interval
    """Sum of w_c rho_c with the shares of the tokens that have logprobs."""
    problems: list[str]


class LogprobTally:
    """Gathers the logprobs of sessions as they are read."""

    def __init__(self, options: ReadOptions, families: Sequence[Family]) -> None:
        self._form = families[0] if families else get_family(options.tool_call_format)
        self._vocabulary = load_tokenizer(options.tokenizer).vocab_size
        self._sums: dict[PositionClass, list[list[float]]] = {}
        self._top_k: list[int] = []
        self._outputs = self._above_one = 0

    def look(self, session: Session) -> None:
        """Take the logprobs of all outputs of *session*."""
        tools: list[Json] = [{"name": tool.name, "parameters": tool.parameters} for tool in session.tools]
        for turn in session.turns:
            for attempt in turn.attempts:
                if attempt.logprobs:
                    self._add(attempt, tools)

    def _add(self, attempt: Attempt, tools: list[Json]) -> None:
        self._outputs += 1
        rows: dict[PositionClass, list[tuple[float, ...]]] = {}
        for token, label in zip(attempt.logprobs, _classes(attempt.logprobs, self._form, tools), strict=True):
            self._top_k.append(len(token.top))
            self._above_one += sum(map(exp, token.top)) > TOP_SUM_LIMIT
            bounds = entropy_bounds(token.top, token.logprob, self._vocabulary)
            rows.setdefault(label, []).append((*bounds, -token.logprob))
        for label, values in rows.items():
            table = np.array(values)
            self._sums.setdefault(label, []).append([len(values), *table.sum(axis=0), *(table**2).sum(axis=0)])

    def figures(self) -> LogprobFigures | None:
        """What was found; None without any logprobs."""
        if not self._outputs:
            return None
        classes = [self._class(label) for label in PositionClass if label in self._sums]
        total = sum(one.tokens for one in classes)
        low, value, high = (
            sum(one.tokens / total * bound for one, bound in zip(classes, column, strict=True))
            for column in zip(*[(one.rho.low, one.rho.value, one.rho.high) for one in classes], strict=True)
        )
        return LogprobFigures(
            tokens=total,
            outputs=self._outputs,
            top_k=int(np.median(self._top_k)),
            vocabulary=self._vocabulary,
            classes=classes,
            rho_bar=Interval(value, low, high),
            problems=self._problems(),
        )

    def _class(self, label: PositionClass) -> ClassEntropy:
        rows: F64 = np.array(self._sums[label], dtype=np.float64)
        means = [_mean(rows, column) for column in range(4)]
        least, most = means[_LEAST], means[_MOST]
        rho = Interval(exp(-least.value), exp(-most.high), exp(-max(0.0, least.low)))
        return ClassEntropy(
            label=label.name,
            tokens=int(rows[:, 0].sum()),
            outputs=len(rows),
            entropy=least,
            entropy_most=most,
            surprisal=means[_SURPRISAL],
            rho=rho,
            likeliest=means[_LIKELIEST],
        )

    def _problems(self) -> list[str]:
        found = []
        if self._above_one:
            found.append(
                f"the probabilities of the likeliest tokens sum to more than {TOP_SUM_LIMIT} at {self._above_one} "
                "positions: they are no probabilities of one distribution"
            )
        if self._top_k and not any(self._top_k):
            found.append("no likeliest tokens are recorded, so entropy has wide bounds: record top_logprobs")
        return found


def _classes(tokens: Sequence[TokenLogprob], form: Family, tools: list[Json]) -> list[PositionClass]:
    """The class of each token: that of its first character, in what the reply's tokens read end to end."""
    spoken = [one for one in tokens if not one.reasoning]
    thought = [PositionClass.R] * (len(tokens) - len(spoken))
    spans = parse_output("".join(one.token for one in spoken), form, tools).spans if form.api is None else []
    if not spans:
        return [*thought, *[PositionClass.F] * len(spoken)]
    starts = np.cumsum([0, *(len(one.token) for one in spoken[:-1])])
    place = np.searchsorted([span.end for span in spans], starts, side="right")
    return [*thought, *(spans[at].label for at in np.minimum(place, len(spans) - 1).tolist())]


def _mean(rows: F64, column: int) -> Interval:
    """Mean of a column over all tokens with its interval: outputs drawn as a whole, or tokens where there is one."""
    tokens, sums, squares = rows[:, 0], rows[:, 1 + column], rows[:, 5 + column]
    total = float(tokens.sum())
    value = float(sums.sum()) / total
    if len(rows) > 1:
        rest = sums - value * tokens
        error = float(np.sqrt(len(rest) / (len(rest) - 1) * np.sum(rest**2))) / total
    else:
        error = float(np.sqrt(max(0.0, float(squares[0]) / total - value**2) / max(1.0, total - 1)))
    return Interval(value, max(0.0, value - Z_95 * error), value + Z_95 * error)
