"""Reads what a user writes about draft depths: one, one by class, or one by batch size."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.acceptance.base import MAX_GAMMA
from simulator.policies import GammaByBatchSize, GammaByLabel
from simulator.profile import LABELS_OF
from tokenclass.classes import PositionClass, SubClass

CALL = "call:"


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftDepths:
    """What the option gamma says."""

    deepest: int
    """The engine's draft depth."""
    by_class: GammaByLabel | None = None
    by_tool: tuple[tuple[str, int], ...] = ()
    """Depth within calls of single tools, by name."""


def parse_gamma(text: str) -> DraftDepths:
    """Draft depths: ``8``; ``S=16,R=4,F=0`` with sub-classes for more detail; ``8,F=0,call:bash=16``.

    A class of its own name covers all its sub-classes, a sub-class overrides it, a plain number stands for what is not
    named, ``call:TOOL`` for the calls of one tool once its name is written. Raises ValueError.
    """
    given: dict[str, int] = {}
    tools: dict[str, int] = {}
    others: int | None = None
    for part in text.split(","):
        name, sign, value = part.rpartition("=")
        name = name.strip()
        if not sign:
            others = _depth(value, "--gamma", text)
        elif name.startswith(CALL) and name != CALL:
            tools[name.removeprefix(CALL)] = _depth(value, "--gamma", text)
        elif name.upper() in LABELS_OF:
            given[name.upper()] = _depth(value, "--gamma", text)
        else:
            raise ValueError(
                f"--gamma {text!r}: {name!r} is no class (S, R, F), sub-class (D, N, K, V, T, P) or call:TOOL"
            )
    missing = [one.name for one in PositionClass if one.name not in given]
    if others is None and missing:
        raise ValueError(f"--gamma {text!r}: no depth for {', '.join(missing)}; give S, R and F, or one number for all")
    if not given and not tools:
        return DraftDepths(deepest=others or 0)
    coarse_first = sorted(given, key=lambda name: -len(LABELS_OF[name]))
    by_label = dict.fromkeys(SubClass, others or 0)
    by_label |= {label: given[name] for name in coarse_first for label in LABELS_OF[name]}
    return DraftDepths(
        deepest=max(*by_label.values(), *tools.values()),
        by_class=GammaByLabel(tuple(by_label[label] for label in SubClass)),
        by_tool=tuple(tools.items()),
    )


def parse_batch_sizes(text: str) -> GammaByBatchSize:
    """Read ``1-8:8,9-32:4,33-:0``: draft depth by the number of running requests. Raises ValueError."""
    rows = []
    for part in text.split(","):
        sizes, colon, depth = part.strip().partition(":")
        low, dash, high = sizes.partition("-")
        if not colon or not low.strip().isdigit() or (high.strip() and not high.strip().isdigit()):
            raise ValueError(f"--gamma-by-batch-size {text!r}: {part.strip()!r} is not LOW-HIGH:DEPTH, as in 1-8:8")
        last = int(high) if high.strip() else (NO_LIMIT if dash else int(low))
        rows.append((int(low), last, _depth(depth, "--gamma-by-batch-size", text)))
    try:
        return GammaByBatchSize(tuple(rows))
    except ValueError as error:
        raise ValueError(f"--gamma-by-batch-size {text!r}: {error}") from error


NO_LIMIT = 2**31 - 1
"""Batch size that an open row ends at."""


def _depth(value: str, option: str, text: str) -> int:
    if not value.strip().isdigit() or int(value) > MAX_GAMMA:
        raise ValueError(f"{option} {text!r}: {value.strip()!r} is no draft depth; give 0..{MAX_GAMMA}")
    return int(value)
