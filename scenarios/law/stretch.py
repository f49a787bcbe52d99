"""Outputs whose schema spans are longer or shorter than recorded: how a traffic's w_S is moved along its own spans."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from simulator.acceptance.base import I64, U8, Outputs
from tokenclass.classes import CLASS_OF_SUBCLASS, PositionClass

_CLASS = np.array(CLASS_OF_SUBCLASS, dtype=np.uint8)


def class_spans(labels: U8, offsets: I64) -> tuple[I64, I64]:
    """Start and length of each run of tokens of one class within an output, in order."""
    classes = _CLASS[labels]
    begins = np.zeros(len(labels), dtype=np.bool_)
    begins[offsets[:-1][np.diff(offsets) > 0]] = True
    begins[1:] |= classes[1:] != classes[:-1]
    starts = np.flatnonzero(begins).astype(np.int64)
    return starts, np.diff(np.append(starts, len(labels))).astype(np.int64)


def stretched(outputs: Outputs, factor: float) -> Outputs:
    """*outputs* with each schema span *factor* times as long, all other spans as they are.

    A span's sub-classes are stretched with it: token j of the new span takes the label at the same relative place of
    the old one. Lengths are rounded so that their running total is. Factor 0 removes all schema. Raises ValueError for
    a negative factor.
    """
    if factor < 0:
        raise ValueError(f"stretch factor {factor} is negative")
    starts, lengths = class_spans(outputs.labels, outputs.offsets)
    schema = _CLASS[outputs.labels[starts]] == PositionClass.S
    wanted = lengths.copy()
    wanted[schema] = np.diff(np.floor(np.cumsum(lengths[schema]) * factor + 0.5), prepend=0.0).astype(np.int64)
    ends = np.cumsum(wanted)
    place = np.arange(int(ends[-1]) if ends.size else 0) - np.repeat(ends - wanted, wanted)
    index = np.repeat(starts, wanted) + place * np.repeat(lengths, wanted) // np.maximum(np.repeat(wanted, wanted), 1)
    owner = np.searchsorted(outputs.offsets, starts, side="right") - 1
    counts = np.bincount(owner, wanted, len(outputs)).astype(np.int64)
    return replace(outputs, labels=outputs.labels[index], offsets=np.concatenate([[0], np.cumsum(counts)]))


def schema_share(labels: npt.NDArray[np.uint8]) -> float:
    """w_S: share of schema tokens."""
    return float(np.mean(_CLASS[labels] == PositionClass.S)) if labels.size else 0.0
