"""C_total three ways: by the composition formula from single levers, replayed jointly, and their residual (R3).

Formula: nu [(1 - h + h c_hit) C_pre + (c_net / c_1) C_dec], each factor read from the replay in which its lever alone
is on; a gate adds its own cost to each draw that resampling takes. The residual is (formula - joint) / joint.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import msgspec
import numpy as np

from scenarios.answer import Interval
from scenarios.composition.levers import ALL_LEVERS, F64, LeverRun, Levers
from simulator import rng

BOOTSTRAP_DRAWS = 2000
_SAME_LENGTH = 1e-3
_BATCH_EFFECTS = {
    "cache": "it takes prefill out of the steps",
    "speculation": "it frees batch time",
    "resampling": "its draws run beside other requests",
}
"""How each lever changes the batch that shares a step, and with it the cost of a token."""
NONE = Levers(cache=False, speculation=False, resampling=False)


class Factors(msgspec.Struct, frozen=True, kw_only=True):
    """The formula's terms, each from the replay of its own lever."""

    C_pre_s: float
    """Prefill GPU seconds of a draw, no lever on."""
    C_dec_s: float
    """Decode GPU seconds of a draw, no lever on."""
    h: float
    c_hit: float
    """Cost of a hit relative to computing it, from what the cache alone saves; can leave 0..1 where later tokens
    of a prompt cost more than the cached ones."""
    c_net_over_c_1: float
    nu: float
    C_pre_draft_s: float
    """The draft model's prefill of a draw; the law leaves it out."""
    C_gate_s: float = 0.0
    """The gate's own GPU seconds of a draw."""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A share of the residual and what causes it."""

    share: float
    """Of the joint C_total; the parts sum to the residual."""
    cause: str


class Composed(msgspec.Struct, frozen=True, kw_only=True):
    """One combination of levers."""

    levers: str
    C_total_formula_s: float
    C_total_formula_with_draft_s: float
    """The formula plus the draft model's prefill, cached as the target's."""
    C_total_joint_s: float
    residual: Interval
    """Of the formula; 95 % by bootstrap over sessions."""
    residual_with_draft: float
    parts: list[Part]
    h: float
    nu: float
    mean_batch: float
    num_evicted_blocks: int


def factors(runs: Mapping[Levers, LeverRun], weights: F64 | None = None) -> dict[str, F64]:
    """The formula's factors, with one value for each row of *weights*: sessions counted as it says."""
    base = runs[NONE]
    cached = runs[Levers(cache=True, speculation=False, resampling=False)]
    drafting = runs[Levers(cache=False, speculation=True, resampling=False)]
    drawn = runs[Levers(cache=False, speculation=False, resampling=True)]

    def per_draw(run: LeverRun, name: str) -> F64:
        return run.total(name, weights) / np.maximum(run.total("draws", weights), 1e-300)

    pre, dec = per_draw(base, "prefill_s"), per_draw(base, "decode_s")
    return {
        "C_pre_s": pre,
        "C_dec_s": dec,
        "prefill_factor": _ratio(per_draw(cached, "prefill_s"), pre),
        "c_net_over_c_1": _ratio(per_draw(drafting, "decode_s"), dec),
        "nu": drawn.total("draws", weights) / np.maximum(drawn.total("accepted", weights), 1e-300),
        "C_pre_draft_s": per_draw(drafting, "draft_prefill_s"),
        "C_gate_s": per_draw(drawn, "gate_s"),
    }


def formula(values: Mapping[str, F64], levers: Levers, *, with_draft: bool = False) -> F64:
    """C_total by composition of *values* for *levers*."""
    prefill = values["prefill_factor"] if levers.cache else 1.0
    decode = values["c_net_over_c_1"] if levers.speculation else 1.0
    draft = values["C_pre_draft_s"] if levers.speculation and with_draft else 0.0
    nu = values["nu"] if levers.resampling else 1.0
    gate = values["C_gate_s"] if levers.resampling else 0.0
    return np.asarray(nu * (prefill * (values["C_pre_s"] + draft) + decode * values["C_dec_s"] + gate))


def compose(runs: Sequence[LeverRun], seed: int) -> tuple[Factors, list[Composed]]:
    """Factors and all eight combinations, with bootstrap intervals over sessions."""
    by_levers = {run.levers: run for run in runs}
    values = factors(by_levers)
    sessions = runs[0].draws.size
    generator = rng.generator(seed, "bootstrap", "composition")
    weights = generator.multinomial(sessions, np.full(sessions, 1 / sessions), BOOTSTRAP_DRAWS).astype(np.float64)
    drawn = factors(by_levers, weights)
    cached = by_levers[Levers(cache=True, speculation=False, resampling=False)]
    h = cached.h
    read = Factors(
        C_pre_s=float(values["C_pre_s"]),
        C_dec_s=float(values["C_dec_s"]),
        h=h,
        c_hit=float((values["prefill_factor"] - 1 + h) / h) if h else 0.0,
        c_net_over_c_1=float(values["c_net_over_c_1"]),
        nu=float(values["nu"]),
        C_pre_draft_s=float(values["C_pre_draft_s"]),
        C_gate_s=float(values["C_gate_s"]),
    )
    return read, [_composed(by_levers, levers, values, drawn, weights) for levers in ALL_LEVERS]


def _composed(
    runs: Mapping[Levers, LeverRun], levers: Levers, values: Mapping[str, F64], drawn: Mapping[str, F64], weights: F64
) -> Composed:
    run = runs[levers]
    joint = run.C_total_s
    predicted = float(formula(values, levers))
    with_draft = float(formula(values, levers, with_draft=True))
    spent = sum(run.total(name, weights) for name in ("prefill_s", "draft_prefill_s", "decode_s", "gate_s"))
    joints = spent / np.maximum(run.total("accepted", weights), 1e-300)
    low, high = np.percentile(formula(drawn, levers) / np.maximum(joints, 1e-300) - 1, [2.5, 97.5])
    return Composed(
        levers=str(levers),
        C_total_formula_s=predicted,
        C_total_formula_with_draft_s=with_draft,
        C_total_joint_s=joint,
        residual=Interval(predicted / joint - 1 if joint else 0.0, float(low), float(high)),
        residual_with_draft=with_draft / joint - 1 if joint else 0.0,
        parts=_parts(runs, levers, values, joint),
        h=run.h,
        nu=run.nu,
        mean_batch=run.mean_batch,
        num_evicted_blocks=run.num_evicted_blocks,
    )


def _parts(runs: Mapping[Levers, LeverRun], levers: Levers, values: Mapping[str, F64], joint: float) -> list[Part]:
    """The residual taken apart: factors of the formula replaced one by one with those of the joint replay."""
    run = runs[levers]
    draws = max(1.0, float(run.draws.sum()))
    nu = float(values["nu"]) if levers.resampling else 1.0
    pre = float(values["C_pre_s"] * (values["prefill_factor"] if levers.cache else 1.0))
    dec = float(values["C_dec_s"] * (values["c_net_over_c_1"] if levers.speculation else 1.0))
    gate = float(values["C_gate_s"]) if levers.resampling else 0.0
    pre_joint, draft_joint, dec_joint, gate_joint = (
        float(column.sum()) / draws for column in (run.prefill_s, run.draft_prefill_s, run.decode_s, run.gate_s)
    )
    shares = [
        ((nu - run.nu) * (pre + dec + gate), "draws: the joint replay takes another number of them"),
        (run.nu * (pre - pre_joint), _prefill_cause(runs, levers)),
        (run.nu * (dec - dec_joint), _decode_cause(runs, levers)),
        (run.nu * (gate - gate_joint), "the gate: other draws reach its checks"),
        (-run.nu * draft_joint, "the draft model's own prefill, which the formula leaves out"),
    ]
    return [Part(share=value / joint, cause=cause) for value, cause in shares if joint and abs(value / joint) > 1e-12]


def _prefill_cause(runs: Mapping[Levers, LeverRun], levers: Levers) -> str:
    run = runs[levers]
    alone = runs[Levers(cache=levers.cache, speculation=False, resampling=False)]
    if not levers.cache:
        return "prefill: prompts share steps with decoding and with each other differently"
    reasons = []
    if levers.resampling:
        drawn = runs[Levers(cache=True, speculation=False, resampling=True)]
        reasons.append(f"retries find their prompt in the cache (h {alone.h:.3f} -> {drawn.h:.3f})")
    if levers.speculation:
        drafted = runs[Levers(cache=True, speculation=True, resampling=False)]
        reasons.append(
            f"the draft's weights and KV leave less room for prefixes (h {alone.h:.3f} -> {drafted.h:.3f}, blocks "
            f"evicted {alone.num_evicted_blocks:,} -> {drafted.num_evicted_blocks:,})"
        )
    return f"prefill: {'; '.join(reasons) or 'as with the cache alone'} (h {run.h:.3f} with all of {levers})"


def _decode_cause(runs: Mapping[Levers, LeverRun], levers: Levers) -> str:
    run = runs[levers]
    others = [
        f"{runs[replace(levers, **{lever: False})].mean_batch:.2f} without {lever} ({effect})"
        for lever, effect in _BATCH_EFFECTS.items()
        if getattr(levers, lever)
    ]
    shown = ", ".join([f"{run.mean_batch:.2f} sequences share a step", *others])
    reasons = [f"a token costs what its batch makes of it: {shown}"]
    before, after = runs[NONE].output_tokens_per_draw, run.output_tokens_per_draw
    if levers.resampling and abs(after / max(before, 1e-300) - 1) > _SAME_LENGTH:
        reasons.append(f"the outputs drawn again are not of mean length ({before:.0f} -> {after:.0f} tokens a draw)")
    return f"decode: {'; '.join(reasons)}"


def _ratio(value: F64, of: F64) -> F64:
    return np.divide(value, of, out=np.ones_like(np.asarray(value)), where=np.asarray(of) != 0)
