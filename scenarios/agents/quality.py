"""The quality budget: regressions of task quality add up across levers, each guaranteed, declared or measured."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from scenarios.figures import percent

if TYPE_CHECKING:
    from scenarios.options.replay import ReplayOptions


class Assurance(StrEnum):
    """How sure a lever's regression is."""

    GUARANTEED = "guaranteed"
    """Zero by construction: the lever changes cost and no token's distribution."""
    DECLARED = "declared"
    MEASURED = "measured"
    UNDECLARED = "not declared"
    """The lever may cost quality, and nobody has said how much."""


class QualityItem(msgspec.Struct, frozen=True, kw_only=True):
    """One lever's regression: share of tasks that it turns from right to wrong; below 0 it improves quality."""

    lever: str
    regression: float | None
    """None: not declared."""
    assurance: Assurance
    source: str


class QualityBudget(msgspec.Struct, frozen=True, kw_only=True):
    """All levers together."""

    items: list[QualityItem]
    total: float
    """Sum of the regressions that are known: the union bound on tasks made worse, if no lever is undeclared."""
    declared: float
    """Part of the total that nobody has measured."""
    measured: float
    """Part of the total that somebody has."""
    undeclared: list[str]
    """Lossy levers that the total says nothing of."""
    limit: float | None
    within: bool | None
    """Whether the total keeps to the limit; None without one, and where an undeclared lever leaves it open."""


GUARANTEES = (
    QualityItem(
        lever="prefix cache",
        regression=0.0,
        assurance=Assurance.GUARANTEED,
        source="reused KV equals recomputed KV up to the engine's numerics",
    ),
    QualityItem(
        lever="speculation",
        regression=0.0,
        assurance=Assurance.GUARANTEED,
        source="lossless verification; R4 tests it on token ids at temperature 0",
    ),
)


def quality_budget(
    given: Sequence[QualityItem] = (), limit: float | None = None, lossy: Sequence[QualityItem] = ()
) -> QualityBudget:
    """The budget of the lossless levers, the *lossy* ones in use and those *given*, which replace others of their name.

    Raises ValueError for a regression outside -1..1 or a lever named twice.
    """
    named = [item.lever for item in given]
    if len(set(named)) < len(named):
        raise ValueError(f"levers {', '.join(named)}: give each one regression")
    for item in given:
        if item.regression is not None and not -1 <= item.regression <= 1:
            raise ValueError(f"regression {item.regression} of {item.lever} is outside -1..1, a share of tasks")
    items = [item for item in (*GUARANTEES, *lossy) if item.lever not in named] + list(given)
    total = _sum(items, *Assurance)
    undeclared = [item.lever for item in items if item.regression is None]
    within = None if limit is None else total <= limit
    return QualityBudget(
        items=items,
        total=total,
        declared=_sum(items, Assurance.DECLARED),
        measured=_sum(items, Assurance.MEASURED),
        undeclared=undeclared,
        limit=limit,
        within=None if within and undeclared else within,
    )


def _sum(items: Sequence[QualityItem], *kinds: Assurance) -> float:
    return sum((item.regression for item in items if item.regression is not None and item.assurance in kinds), 0.0)


def budget_of(options: ReplayOptions, *, resampling: bool = False) -> QualityBudget:
    """The budget of a replay under *options*; *resampling*: turns are drawn again whatever they say.

    Raises ValueError for regressions that cannot be used.
    """
    lossy = []
    if resampling or options.gate is not None or options.nu is not None:
        lossy.append(_undeclared("gate", "what it passes is kept, right or wrong"))
    if options.platform.quantization not in ("auto", "none"):
        lossy.append(_undeclared("quantization", f"target weights in {options.platform.quantization}"))
    if options.platform.kv_cache_dtype != "auto":
        lossy.append(_undeclared("kv cache", f"KV entries in {options.platform.kv_cache_dtype}"))
    return quality_budget([parse_lever(text) for text in options.regression], options.quality_limit, lossy)


def _undeclared(lever: str, why: str) -> QualityItem:
    return QualityItem(lever=lever, regression=None, assurance=Assurance.UNDECLARED, source=f"{why}; see --regression")


def told(budget: QualityBudget) -> str:
    """The sum, what stands behind it, and whether it keeps to its limit, in a sentence."""
    apart = f", {' and '.join(budget.undeclared)} apart (not declared)" if budget.undeclared else ""
    parts = []
    for kind in (Assurance.GUARANTEED, Assurance.DECLARED, Assurance.MEASURED):
        items = [item for item in budget.items if item.assurance is kind]
        if items:
            names = ", ".join(item.lever for item in items)
            parts.append(f"{percent(_sum(items, kind))} {kind.value} ({names})")
    text = f"tasks made worse{apart}: at most {percent(budget.total)} = {' + '.join(parts)}"
    if budget.limit is not None:
        kept = {True: "kept", False: "broken", None: "open"}[budget.within]
        text += f"; limit {percent(budget.limit)}: {kept}"
    return text


def parse_lever(text: str) -> QualityItem:
    """Read ``NAME=REGRESSION`` or ``NAME=REGRESSION:measured``. Raises ValueError."""
    name, sign, rest = text.partition("=")
    value, _, assurance = rest.partition(":")
    try:
        regression = float(value)
        kind = Assurance(assurance.strip() or Assurance.DECLARED)
    except ValueError:
        raise ValueError(f"--regression {text!r} is not NAME=SHARE or NAME=SHARE:measured") from None
    if not sign or not name.strip() or kind not in (Assurance.DECLARED, Assurance.MEASURED):
        raise ValueError(f"--regression {text!r} is not NAME=SHARE or NAME=SHARE:measured")
    return QualityItem(lever=name.strip(), regression=regression, assurance=kind, source="given")
