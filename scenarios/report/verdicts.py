"""The verdict of a page in plain words, and the figures that stand beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from scenarios.answer import Answer, Interval
from scenarios.figures import number, percent
from scenarios.law.lawcheck import LawCheck
from scenarios.report.cells import seconds
from scenarios.runs.runsummary import RunSummary


class Mood(StrEnum):
    """How a verdict is coloured and marked."""

    GOOD = "good"
    BAD = "bad"
    UNSURE = "unsure"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class Card:
    """One figure."""

    label: str
    value: str
    note: str
    term: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """The verdict."""

    mood: Mood
    answer: str
    """In a word or two."""
    sentence: str
    points: tuple[str, ...]
    cards: tuple[Card, ...]


def of_run(answer: Answer) -> Headline:
    """The verdict of a replay."""
    verdict = answer.verdict
    if verdict is None:
        return Headline(
            mood=Mood.PLAIN,
            answer="No speculation",
            sentence="This replay has no speculation (gamma 0), so there is nothing to decide on.",
            points=("Replay it with --gamma to see whether speculation pays.",),
            cards=tuple(_figures(answer)),
        )
    net = verdict.net_saving
    if verdict.pays is None:
        mood, word = Mood.UNSURE, "No clear difference"
        sentence = f"Speculation at gamma {verdict.gamma} changes the GPU cost of a turn by {_range(net, -1)}."
    elif verdict.pays:
        mood, word = Mood.GOOD, "It pays"
        sentence = f"Speculation at gamma {verdict.gamma} saves {_range(net, 1)} of the GPU cost of an accepted turn."
    else:
        mood, word = Mood.BAD, "It does not pay"
        sentence = f"Speculation at gamma {verdict.gamma} adds {_range(net, -1)} to the GPU cost of an accepted turn."
    if verdict.pays is not None and not verdict.holds_across_spread:
        mood, word = Mood.UNSURE, f"{word}, but that is not sure"
    return Headline(
        mood=mood,
        answer=word,
        sentence=sentence,
        points=tuple(_points(answer)),
        cards=(
            Card("net saving", percent(net.value, sign=True), _interval(net), "net saving"),
            Card(
                "decode saving", percent(verdict.decode_saving.value, sign=True), _interval(verdict.decode_saving), "s"
            ),
            _best(answer),
            *_figures(answer),
        ),
    )


def _points(answer: Answer) -> list[str]:
    verdict = answer.verdict
    if verdict is None:
        return []
    low, high = (percent(value, sign=True) for value in (verdict.spread.low, verdict.spread.high))
    holds = "the answer stays the same" if verdict.holds_across_spread else "the answer changes sign"
    found = ["Acceptance as given has no spread: how far the answer holds is not known."]
    if verdict.spread.low < verdict.spread.high:
        found = [f"Across the spread of {verdict.spread_of} the net saving is {low} to {high}: {holds}."]
    found.append(f"Next: {verdict.advice}.")
    return found


def _best(answer: Answer) -> Card:
    verdict = answer.verdict
    if verdict is None or not verdict.best_gamma:
        return Card("best depth", "none", "no gamma of 1 to 16 saves", "gamma")
    saving = percent(verdict.best_gamma_saving, sign=True)
    return Card("best depth", f"gamma {verdict.best_gamma}", f"{saving} expected, of 1 to 16", "gamma")


def _figures(answer: Answer) -> list[Card]:
    shown: list[tuple[str, Callable[[RunSummary], float | None], Callable[[float], str], str | None]] = [
        ("USD per 1,000 turns", lambda run: run.cost.C_total_usd * 1e3, number, "C_total"),
        ("output tokens/s", lambda run: run.output_throughput_tokens_per_s, number, "throughput"),
        ("E2EL, median", lambda run: run.e2el_s.get("p50"), seconds, "E2EL"),
    ]
    cards = []
    for label, of, written, term in shown:
        own = of(answer.replay)
        base = of(answer.baseline) if answer.baseline is not None else None
        if own is not None:
            cards.append(Card(label, written(own), f"{written(base)} without" if base is not None else "", term))
    return cards


def of_check(check: LawCheck) -> Headline:
    """The verdict of a check of the law."""
    known = {one.name: one for one in check.approximations if one.tokens_per_round}
    against = "measured rounds" if "measured" in known else "the exact expectation"
    law, truth = (
        known[name].tokens_per_round if name in known else None
        for name in ("law", "measured" if "measured" in known else "exact")
    )
    rejected = [one.name for one in check.predictions if one.ruling == "rejected"]
    at = (
        f"At b = {check.n_seqs:.1f}: c_T = {seconds(check.c_T_s)}, delta = {number(check.delta)}, "
        f"d = {number(check.d)}, o = {number(check.o)}."
    )
    return Headline(
        mood=Mood.PLAIN,
        answer=_off(law, truth, against),
        sentence=(
            f"On this traffic at gamma {check.gamma} the Draft Law gives {number(law, 4)} tokens per round, against "
            f"{number(truth, 4)} by {against}."
        ),
        points=(f"Rejected on this traffic: {', '.join(rejected)}." if rejected else _NONE_REJECTED, at),
        cards=tuple(
            Card(name, number(one.tokens_per_round, 4), f"saves {percent(one.saving, sign=True)}", "tokens per round")
            for name, one in known.items()
            if name in ("law", "exact", "sampled", "measured")
        ),
    )


_NONE_REJECTED = "None of P1, R1 and R2 is rejected here."


def _off(law: float | None, truth: float | None, against: str) -> str:
    if law is None or truth is None:
        return "The law, checked"
    gap = law / truth - 1
    return f"The law is {percent(abs(gap))} {'above' if gap > 0 else 'below'} {against}"


def _range(interval: Interval, sign: int) -> str:
    """Value and interval as amounts, turned by *sign* so that the value reads as said."""
    low, high = sorted((interval.low * sign, interval.high * sign))
    signed = interval.low <= 0 <= interval.high
    value = percent(interval.value * sign, sign=signed)
    return f"{value} (95 %: {percent(low, sign=signed)} to {percent(high, sign=signed)})"


def _interval(interval: Interval) -> str:
    return f"95 %: {percent(interval.low, sign=True)} to {percent(interval.high, sign=True)}"
