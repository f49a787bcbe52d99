"""P1 measured: what drafters without a model get accepted on recordings, by the class in which a round starts.

``python -m scenarios.p1 NAME=PATH... [--output docs/measured-acceptance.md]`` writes the table.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scenarios.acceptance.drafters import MeasuredDrafts, measure
from scenarios.drafters.base import DrafterOptions, drafters
from scenarios.drafters.ngram import NgramOptions
from scenarios.drafters.suffix import SuffixOptions
from scenarios.options.read import ReadOptions
from scenarios.recordings.recording import load_workload, open_recording
from simulator import predictions, rng
from simulator.acceptance.base import F64, I64
from simulator.acceptance.ngram import Occurrence
from simulator.acceptance.rounds import chain_rounds
from simulator.workload import Workload
from tokenclass.classes import CLASS_OF_SUBCLASS, N_CLASSES, PositionClass

GAMMA = 8
BLOCK_SIZE = 16
BOOTSTRAP_DRAWS = 2000
_CLASS = np.array(CLASS_OF_SUBCLASS, dtype=np.uint8)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafter:
    """A drafter with a name for the table."""

    name: str
    method: str
    options: DrafterOptions = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A recording ready to be measured on."""

    name: str
    workload: Workload
    hidden_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one drafter gets accepted on one recording; figures by class in the order of PositionClass."""

    recording: str
    drafter: str
    tokens_per_round: float
    rounds: I64
    """Rounds that start in each class."""
    tau: tuple[float | None, ...]
    """Drafts accepted per round that starts in each class; None without such rounds."""
    ratio: tuple[float, float, float] | None
    """tau_S / tau_F with its 95 % bootstrap interval over sessions, over outputs if there is one session; None where
    F has no accepted draft or S no round."""
    alpha: tuple[float | None, ...]
    """Share of positions whose first draft is right, had a round begun there; no draft is a miss."""
    p1: predictions.Verdict
    r1: predictions.Verdict


def read_recording(name: str, paths: Sequence[str], read: ReadOptions | None = None) -> Recorded:
    """The recordings at *paths* with their token ids. Raises TraceError or SimtoolError if they cannot be used."""
    options = read or ReadOptions(skip_invalid=True)
    workload = load_workload(open_recording(paths, options), options, block_size=BLOCK_SIZE, keep_ids=True)
    hidden = workload.tokens.hidden_output_tokens if workload.tokens is not None else 0
    return Recorded(name=name, workload=workload, hidden_tokens=hidden)


def measured(recorded: Recorded, drafter: Drafter, gamma: int = GAMMA, *, first: int = 1) -> Measured:
    """Run *drafter* on *recorded*; *first* tokens of each output come from prefill."""
    workload = recorded.workload
    if workload.tokens is None:
        raise ValueError("the workload has no token ids: build it with keep_ids")
    method = drafters()[drafter.method]
    drafts = measure(workload.tokens, workload.labels, workload.offsets, method, drafter.options, [gamma])
    rounds = chain_rounds(drafts.at(gamma), workload.offsets, first)
    several = workload.n_sessions > 1
    group = workload.attempt_session if several else np.arange(workload.n_attempts)
    owner = np.repeat(group, np.diff(rounds.offsets))
    cell = owner * N_CLASSES + _CLASS[workload.labels[rounds.start]]
    shape = (int(group.max(initial=0)) + 1, N_CLASSES)
    started = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)
    accepted = np.bincount(cell, rounds.accepted, shape[0] * shape[1]).reshape(shape).astype(np.float64)
    count, total = started.sum(axis=0), accepted.sum(axis=0)
    tau = tuple(float(total[c] / count[c]) if count[c] else None for c in range(N_CLASSES))
    return Measured(
        recording=recorded.name,
        drafter=drafter.name,
        tokens_per_round=float(rounds.emitted.sum() / max(1, len(rounds))),
        rounds=count.astype(np.int64),
        tau=tau,
        ratio=_ratio(started, accepted),
        alpha=_alpha(drafts, workload, gamma),
        p1=predictions.p1(*tau),
        r1=predictions.r1(tau[PositionClass.S], tau[PositionClass.F]),
    )


def _ratio(started: F64, accepted: F64) -> tuple[float, float, float] | None:
    """tau_S / tau_F and its interval; rows (sessions, or outputs) are drawn with replacement."""
    sessions = len(started)
    draws = rng.generator(0, "bootstrap", "p1").multinomial(sessions, np.full(sessions, 1 / sessions), BOOTSTRAP_DRAWS)
    draws = np.concatenate([np.ones((1, sessions), dtype=draws.dtype), draws])
    rounds, right = draws @ started, draws @ accepted
    S, F = int(PositionClass.S), int(PositionClass.F)
    if rounds[0, S] == 0 or right[0, F] == 0:
        return None
    usable = (rounds[:, S] > 0) & (right[:, F] > 0)
    ratios = right[usable, S] / rounds[usable, S] * rounds[usable, F] / right[usable, F]
    low, high = np.percentile(ratios[1:], [2.5, 97.5])
    return float(ratios[0]), float(low), float(high)


def _alpha(drafts: MeasuredDrafts, workload: Workload, gamma: int) -> tuple[float | None, ...]:
    right = drafts.at(gamma).accepted > 0
    last = np.zeros(len(right), dtype=np.bool_)
    last[workload.offsets[1:] - 1] = True
    first = np.zeros(len(right), dtype=np.bool_)
    first[workload.offsets[:-1]] = True
    used = ~last & ~first
    classes = _CLASS[workload.labels]
    shares = []
    for one in PositionClass:
        chosen = used & (classes == one)
        shares.append(float(right[chosen].mean()) if chosen.any() else None)
    return tuple(shares)


def _ngram(tokens: int, match: Occurrence) -> Drafter:
    options = NgramOptions(prompt_lookup_min=tokens, prompt_lookup_max=tokens, prompt_lookup_match=match)
    return Drafter(name=f"n-gram {tokens}, {match.value}", method="ngram", options=(options,))


DRAFTERS = (
    _ngram(3, Occurrence.LATEST),
    _ngram(3, Occurrence.EARLIEST),
    _ngram(5, Occurrence.LATEST),
    _ngram(5, Occurrence.EARLIEST),
    Drafter(name="suffix", method="suffix"),
    Drafter(
        name="suffix, own request",
        method="suffix",
        options=(SuffixOptions(suffix_decoding_max_cached_requests=0),),
    ),
)
"""The table's drafters: prompt lookup with both matches, vLLM's default being 5 and earliest, and suffix decoding."""


def report(recordings: Sequence[Recorded], rows: Sequence[Measured], gamma: int = GAMMA) -> str:
    """The measurements as Markdown."""
    lines = [
        "# Acceptance measured on recordings",
        "",
        f"Drafters without a model, run on recorded token ids at gamma {gamma} and temperature 0: a draft is accepted",
        "if it is the recorded token. Written by `python -m scenarios.p1`; prompts and outputs as the qwen3 tokenizer",
        "and the hermes format give them. A recording without tool definitions has shorter prompts than the real ones.",
        "",
        "tau is drafts accepted per round that starts in the class, rounds without a draft included. alpha is the",
        "share of positions whose first draft would be right. P1 asks tau_S > tau_R > tau_F and tau_S / tau_F > 1.5,",
        "R1 rejects the law if tau_S <= tau_F; a recording without one of the classes leaves P1 untested. Intervals",
        "are 95 %, by bootstrap over sessions (over outputs, if there is one); a handful of sessions say little.",
        "",
        "| Recording | Sessions | Outputs | Output tokens | Hidden | w_S | w_R | w_F |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for one in recordings:
        work = one.workload
        shares = np.bincount(_CLASS[work.labels], minlength=N_CLASSES) / max(1, work.labels.size)
        shown = " | ".join(f"{share:.1%}" for share in shares)
        lines.append(
            f"| {one.name} | {work.n_sessions} | {work.n_attempts} | {work.labels.size:,} "
            f"| {one.hidden_tokens:,} | {shown} |"
        )
    lines += [
        "",
        (
            "| Recording | Drafter | Tokens a round | tau_S | tau_R | tau_F | tau_S / tau_F | alpha_S | alpha_R "
            "| alpha_F | P1 | R1 |"
        ),
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    lines += [_line(row) for row in rows]
    lines += ["", *_comparisons(rows)]
    return "\n".join(lines) + "\n"


def _comparisons(rows: Sequence[Measured]) -> list[str]:
    """How much the choice of match and the cache of other requests' outputs matter: ranges over the recordings."""
    by_drafter = {(row.recording, row.drafter): row.tokens_per_round for row in rows}
    pairs = (
        ("n-gram 3: the latest match over the earliest", "n-gram 3, latest", "n-gram 3, earliest"),
        ("n-gram 5: the latest match over the earliest", "n-gram 5, latest", "n-gram 5, earliest"),
        ("suffix: other requests' outputs over the own request alone", "suffix", "suffix, own request"),
    )
    lines = ["| Tokens a round gained by | Least | Most, on |", "| --- | --- | --- |"]
    for text, one, other in pairs:
        gains = {
            name: value / by_drafter[name, other] - 1
            for (name, drafter), value in by_drafter.items()
            if drafter == one and (name, other) in by_drafter
        }
        if gains:
            most = max(gains, key=lambda name: gains[name])
            lines.append(f"| {text} | {min(gains.values()):+.1%} | {gains[most]:+.1%}, {most} |")
    return [
        *lines,
        "",
        "A recording in which tasks are tried several times, as tau-bench's, holds near copies of its own outputs:",
        "what suffix decoding finds in other requests' outputs there is more than other traffic would give it.",
    ]


def _line(row: Measured) -> str:
    tau = " | ".join("-" if value is None else f"{value:.2f}" for value in row.tau)
    alpha = " | ".join("-" if value is None else f"{value:.2f}" for value in row.alpha)
    ratio = "-" if row.ratio is None else "{:.2f} ({:.2f} to {:.2f})".format(*row.ratio)
    return (
        f"| {row.recording} | {row.drafter} | {row.tokens_per_round:.3f} | {tau} | {ratio} | {alpha} "
        f"| {row.p1.ruling.value} | {row.r1.ruling.value} |"
    )


def main() -> None:
    """Measure the recordings named on the command line and write the table."""
    parser = argparse.ArgumentParser(prog="python -m scenarios.p1", description=main.__doc__)
    parser.add_argument("recordings", nargs="+", metavar="NAME=PATH[,PATH...]")
    parser.add_argument("--output", type=Path, default=Path("docs/measured-acceptance.md"))
    options = parser.parse_args()
    recordings, rows = [], []
    for text in options.recordings:
        name, sign, paths = text.partition("=")
        if not sign:
            parser.error(f"{text!r} is not NAME=PATH")
        recordings.append(read_recording(name, paths.split(",")))
        rows += [measured(recordings[-1], drafter) for drafter in DRAFTERS]
    options.output.write_text(report(recordings, rows), encoding="utf-8")


if __name__ == "__main__":
    main()
