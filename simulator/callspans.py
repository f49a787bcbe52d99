"""Where the calls of an output stand, and which tool each calls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simulator.workload import Workload
from tokenclass.classes import CLASS_OF_SUBCLASS, PositionClass, SubClass

I64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

UNKNOWN_TOOL = -1
_SCHEMA = np.array([owner is PositionClass.S for owner in CLASS_OF_SUBCLASS])


@dataclass(frozen=True, slots=True, eq=False)
class CallSpans:
    """The calls of a workload in the order in which they were written; arrays have one entry a call.

    Positions are indices into the workload's labels.
    """

    attempt: I64
    start: I64
    """The delimiter before the name, if there is one between it and the name before."""
    named: I64
    """The first token after the tool's name."""
    end: I64
    """Where the next call of the same output starts, or the output ends."""
    tool: I64
    """Index in the names of the workload's tool runs; UNKNOWN_TOOL where the output writes another number of names
    than tools ran after its turn."""


def call_spans(workload: Workload) -> CallSpans:
    """The calls of all attempts of *workload*."""
    names, marks = (_run_starts(workload, label) for label in (SubClass.N, SubClass.D))
    attempt = np.searchsorted(workload.offsets, names, side="right") - 1
    start = _starts(names, marks, workload.offsets[attempt])
    following = np.append(attempt[1:] == attempt[:-1], False)
    end = np.where(following, np.append(start[1:], 0), workload.offsets[attempt + 1])
    return CallSpans(attempt, start, _after_name(workload, names), end, _tools(workload, attempt))


def _run_starts(workload: Workload, label: SubClass) -> I64:
    """Where runs of *label* begin; none goes over the end of an output."""
    among = workload.labels == label
    begins = among.copy()
    begins[1:] &= ~among[:-1]
    firsts = _output_starts(workload)
    begins[firsts] = among[firsts]
    return np.flatnonzero(begins)


def tool_before(workload: Workload, spans: CallSpans) -> npt.NDArray[np.int32]:
    """Per token the tool in whose call the token before it stands, its name complete; UNKNOWN_TOOL elsewhere.

    It is what an engine can know of a round that starts there.
    """
    tool = np.full(workload.labels.size, UNKNOWN_TOOL, dtype=np.int32)
    last = np.minimum(spans.end, workload.offsets[spans.attempt + 1] - 1)
    length = np.maximum(last + 1 - spans.named, 0)
    index = np.repeat(spans.named - np.cumsum(length) + length, length) + np.arange(int(length.sum()))
    tool[index] = np.repeat(spans.tool, length)
    before = np.append(False, _SCHEMA[workload.labels[:-1]])
    before[_output_starts(workload)] = False
    tool[~before] = UNKNOWN_TOOL
    return tool


def _output_starts(workload: Workload) -> I64:
    """First token of each output that has one."""
    starts: I64 = workload.offsets[:-1][np.diff(workload.offsets) > 0]
    return starts


def _starts(names: I64, marks: I64, least: I64) -> I64:
    if not names.size or not marks.size:
        return names
    before = np.searchsorted(marks, names, side="right") - 1
    mark = np.where(before >= 0, marks[np.maximum(before, 0)], -1)
    return np.where(mark >= np.maximum(least, np.concatenate([[-1], names[:-1]])), mark, names)


def _after_name(workload: Workload, names: I64) -> I64:
    ends = np.flatnonzero(workload.labels != SubClass.N)
    ends = np.union1d(ends, workload.offsets)
    return ends[np.searchsorted(ends, names, side="right")]


def _tools(workload: Workload, attempt: I64) -> I64:
    tool = np.full(attempt.size, UNKNOWN_TOOL, dtype=np.int64)
    runs = workload.tool_runs
    if runs is None or not attempt.size:
        return tool
    written = np.bincount(attempt, minlength=workload.n_attempts)
    turn = workload.attempt_turn
    told = (written == np.diff(runs.offsets)[turn])[attempt]
    within = np.arange(attempt.size) - (np.cumsum(written) - written)[attempt]
    tool[told] = runs.tool[(runs.offsets[turn[attempt]] + within)[told]]
    return tool
