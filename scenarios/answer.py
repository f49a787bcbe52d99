"""The answer of a replay as a document: verdict, the three predictions side by side, cost."""

from __future__ import annotations

from typing import Any

import msgspec

from scenarios.agents.quality import QualityBudget
from scenarios.options.parameters import Parameter
from scenarios.runs.runsummary import RunSummary

SCHEMA_VERSION = 1
"""Version of the result document; raised when a reader of the older one would misread the newer."""


class Interval(msgspec.Struct, frozen=True):
    """An estimate with its confidence interval."""

    value: float
    low: float
    high: float


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """Does speculation pay at this gamma, and is that sure?"""

    pays: bool | None
    """None where the interval of the saving spans zero."""
    gamma: int
    net_saving: Interval
    """Share of the GPU seconds per accepted turn saved against the same replay without speculation, paired."""
    decode_saving: Interval
    """The same of the decode seconds alone, draft passes included."""
    best_gamma: int
    """Of 1..16 by exact expectation; 0 if none pays."""
    best_gamma_saving: float
    """Net saving expected at best_gamma."""
    spread: Interval
    """Net saving expected at the profile's value, and at the low and high end of its spread; of a measured drafter
    the 95 % interval over sessions."""
    spread_of: str
    holds_across_spread: bool
    advice: str
    """What to do or to measure next."""


class GammaPoint(msgspec.Struct, frozen=True, kw_only=True):
    """Predictions for one draft depth."""

    gamma: int
    law_tokens_per_round: float
    exact_tokens_per_round: float
    law_decode_saving: float
    exact_decode_saving: float
    net_saving: float
    """Of C_total, by exact expectation."""
    net_saving_low: float
    net_saving_high: float


class ComparisonRow(msgspec.Struct, frozen=True, kw_only=True):
    """One quantity by the law, by exact expectation, sampled, and measured where the recording has it."""

    quantity: str
    law: float | None
    exact: float | None
    sampled: float | None
    measured: float | None
    reason: str
    """Why they part."""


class ClassRow(msgspec.Struct, frozen=True, kw_only=True):
    """One token class, or sub-class of S."""

    label: str
    tokens: int
    share: float
    eps: float
    tau_law: float
    tau: float | None
    """Drafts accepted per round that starts in the class: measured for a drafter run on the recorded tokens, else
    expected."""
    rounds: float
    """Rounds that start in the class."""
    tokens_per_round_exact: float | None
    """Tokens of the class over the rounds spent on them, measured or expected like tau."""
    tokens_per_round_sampled: float | None
    acceptance_rate: float | None
    """Accepted / drafted positions of the class, sampled."""
    decode_s_per_token: float
    decode_s_per_token_baseline: float
    usd: float


class BreakEven(msgspec.Struct, frozen=True, kw_only=True):
    """The law's break-even at the replay's own costs."""

    eps_bar: float
    w_S: float
    gamma: int
    """Draft depth that the law reckons with: of a tree the depth, delta and d then spread over it."""
    eps_star_first_order: float
    eps_star_exact: float | None
    c_T_s: float
    delta: float
    d: float
    o: float
    n_seqs: float
    context_tokens: float


class PredictionRow(msgspec.Struct, frozen=True, kw_only=True):
    """One of the law's predictions or rejection rules on this traffic."""

    name: str
    ruling: str
    """holds, rejected, or untested where its premise is not met."""
    reason: str


class TraceInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What was replayed."""

    sha256: str
    files: int
    sessions: int
    turns: int
    attempts: int
    prompt_tokens: int
    output_tokens: int
    straddling_tokens: int
    hidden_reasoning_tokens: int


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The whole result; nothing in it depends on the clock, the machine or a path."""

    schema_version: int
    tool: str
    version: str
    modelled_engine: str
    seed: int
    trace: TraceInfo
    verdict: Verdict | None
    """None at gamma 0."""
    replay: RunSummary
    baseline: RunSummary | None
    """The same replay without speculation; None at gamma 0."""
    comparison: list[ComparisonRow]
    classes: list[ClassRow]
    gamma_curve: list[GammaPoint]
    break_even: BreakEven | None
    predictions: list[PredictionRow]
    """P1, R1 and R2 on this traffic, by tau of the class table."""
    quality: QualityBudget
    vllm_compat: dict[str, float | int | list[float] | None]
    """The replay under the flat keys of ``vllm bench serve``."""
    config: dict[str, Parameter]
    assumptions: dict[str, int]
    omissions: dict[str, int]
    duplicates: dict[str, int]
    warnings: list[str]


def schema() -> dict[str, Any]:
    """JSON Schema of the result document."""
    return msgspec.json.schema(Answer)
