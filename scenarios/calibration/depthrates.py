"""Acceptance by class and draft depth from recorded rounds, with intervals."""

from __future__ import annotations

import msgspec

from scenarios.answer import Interval
from scenarios.calibration.recordedrounds import RoundCounts
from simulator.intervals import wilson
from simulator.profile import LABELS_OF


class ClassDepth(msgspec.Struct, frozen=True, kw_only=True):
    """Acceptance of drafts of one class or sub-class at one depth, those before them accepted."""

    label: str
    position: int
    accepted: Interval
    """95 %, Wilson's."""
    n: int


def class_depths(counts: RoundCounts | None) -> list[ClassDepth]:
    """Of each sub-class and of each class, every depth that some round checked."""
    if counts is None:
        return []
    found = []
    for label, members in LABELS_OF.items():
        tested, hit = (one[list(members)].sum(axis=0).tolist() for one in (counts.tested, counts.hit))
        for depth, (checks, right) in enumerate(zip(tested, hit, strict=True), start=1):
            if checks:
                accepted = Interval(right / checks, *wilson(right / checks, checks))
                found.append(ClassDepth(label=label, position=depth, accepted=accepted, n=round(checks)))
    return found
