"""The quality budget: regressions of task quality add up across levers, each guaranteed, declared or measured."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import msgspec


class Assurance(StrEnum):
    """How sure a lever's regression is."""

    GUARANTEED = "guaranteed"
    """Zero by construction: the lever changes cost and no token's distribution."""
    DECLARED = "declared"
    MEASURED = "measured"


class QualityItem(msgspec.Struct, frozen=True, kw_only=True):
    """One lever's regression: share of tasks that it turns from right to wrong; below 0 it improves quality."""

    lever: str
    regression: float
    assurance: Assurance
    source: str


class QualityBudget(msgspec.Struct, frozen=True, kw_only=True):
    """All levers together."""

    items: list[QualityItem]
    total: float
    """Sum of the regressions: the union bound on tasks made worse."""
    declared: float
    """Part of the total that nobody has measured."""
    limit: float | None
    within: bool | None
    """Whether the total keeps to the limit; None without one."""


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


def quality_budget(others: Sequence[QualityItem] = (), limit: float | None = None) -> QualityBudget:
    """The budget of the lossless levers and *others*; a measured item replaces a guarantee of the same lever.

    Raises ValueError for a regression outside -1..1 or a lever named twice.
    """
    named = [item.lever for item in others]
    if len(set(named)) < len(named):
        raise ValueError(f"levers {', '.join(named)}: give each one regression")
    for item in others:
        if not -1 <= item.regression <= 1:
            raise ValueError(f"regression {item.regression} of {item.lever} is outside -1..1, a share of tasks")
    items = [item for item in GUARANTEES if item.lever not in named] + list(others)
    total = sum(item.regression for item in items)
    return QualityBudget(
        items=items,
        total=total,
        declared=sum(item.regression for item in items if item.assurance is Assurance.DECLARED),
        limit=limit,
        within=None if limit is None else total <= limit,
    )


def parse_lever(text: str) -> QualityItem:
    """Read ``NAME=REGRESSION`` or ``NAME=REGRESSION:measured``. Raises ValueError."""
    name, sign, rest = text.partition("=")
    value, _, assurance = rest.partition(":")
    try:
        regression = float(value)
        kind = Assurance(assurance.strip() or Assurance.DECLARED)
    except ValueError:
        raise ValueError(f"--regression {text!r} is not NAME=SHARE or NAME=SHARE:measured") from None
    if not sign or not name.strip() or kind is Assurance.GUARANTEED:
        raise ValueError(f"--regression {text!r} is not NAME=SHARE or NAME=SHARE:measured")
    return QualityItem(lever=name.strip(), regression=regression, assurance=kind, source="given")
