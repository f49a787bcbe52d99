"""Reads what a user writes about draft depths: one, one by class, or one by batch size."""

from __future__ import annotations

from simulator.acceptance.base import MAX_GAMMA
from simulator.policies import GammaByBatchSize, GammaByLabel
from simulator.profile import LABELS_OF
from tokenclass.classes import PositionClass, SubClass


def parse_gamma(text: str) -> tuple[int, GammaByLabel | None]:
    """The engine's draft depth, and the depth by class: ``8``, or ``S=16,R=4,F=0`` with sub-classes for more detail.

    A class of its own name covers all its sub-classes; a sub-class overrides it. Raises ValueError.
    """
    if "=" not in text:
        return _depth(text, "--gamma", text), None
    given: dict[str, int] = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        name = name.strip().upper()
        if name not in LABELS_OF:
            raise ValueError(f"--gamma {text!r}: {name!r} is no class (S, R, F) or sub-class (D, N, K, V, T, P)")
        given[name] = _depth(value, "--gamma", text)
    missing = [one.name for one in PositionClass if one.name not in given]
    if missing:
        raise ValueError(f"--gamma {text!r}: no depth for {', '.join(missing)}; give S, R and F")
    coarse_first = sorted(given, key=lambda name: -len(LABELS_OF[name]))
    by_label = {label: given[name] for name in coarse_first for label in LABELS_OF[name]}
    return max(by_label.values()), GammaByLabel(tuple(by_label[label] for label in SubClass))


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
