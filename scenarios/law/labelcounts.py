"""How many tokens of each sub-class there are, counted part by part so that a long column of labels is never copied."""

from __future__ import annotations

import numpy as np

from simulator.acceptance.base import I64, U8, Outputs
from simulator.longcolumns import PART, gathered, let_go, parts_of
from tokenclass.classes import N_SUBCLASSES


def label_counts(labels: U8) -> I64:
    """Tokens of each sub-class, shape (N_SUBCLASSES,)."""
    counts = np.zeros(N_SUBCLASSES, dtype=np.int64)
    for first in range(0, len(labels), PART):
        counts += np.bincount(labels[first : first + PART], minlength=N_SUBCLASSES)
        let_go(labels)
    return counts


def first_label_counts(outputs: Outputs) -> I64:
    """The same of the first token of each output that has one: those that prefill emits."""
    begins = outputs.offsets[:-1][np.diff(outputs.offsets) > 0]
    counts = np.zeros(N_SUBCLASSES, dtype=np.int64)
    for part in parts_of(begins):
        counts += np.bincount(outputs.labels[begins[part]], minlength=N_SUBCLASSES)
        let_go(outputs.labels)
    return counts


def chosen_labels(labels: U8, offsets: I64, chosen: I64) -> tuple[U8, I64]:
    """Labels and offsets of the outputs numbered *chosen* (ascending) among those that *labels* and *offsets* hold."""
    if chosen.size == offsets.size - 1:
        return labels, offsets
    return gathered(labels, offsets[chosen], offsets[chosen + 1] - offsets[chosen])
