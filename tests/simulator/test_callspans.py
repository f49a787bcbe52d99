from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simulator.acceptance.base import Outputs
from simulator.acceptance.recorded import Attempts
from simulator.callspans import UNKNOWN_TOOL, call_spans, tool_before
from simulator.policies import GammaByLabel, GammaByTool, Strictest, by_labels_alone
from simulator.toolruns import ToolRuns
from simulator.workload import Workload
from tests.simulator.cases import Session, Turn, build
from tokenclass.classes import SubClass

LABELS = st.lists(st.integers(0, 7), min_size=1, max_size=25)
NAMES = ("read", "write", "run")
D, N, K, F = SubClass.D, SubClass.N, SubClass.K, SubClass.F


def workload_of(outputs: list[list[int]], tools: list[list[int]]) -> Workload:
    """One turn an output, whose labels are given, after which *tools* run."""
    turns = tuple(
        Turn(prompt=(1,), outputs=(tuple(int(label) for label in labels),), parent=None) for labels in outputs
    )
    offsets = np.cumsum([0, *(len(one) for one in tools)])
    flat = np.array([tool for one in tools for tool in one], dtype=np.int32)
    runs = ToolRuns(NAMES, flat, np.full(flat.size, np.nan), offsets)
    return replace(build([Session(turns=turns)], 16), tool_runs=runs)


def naive(labels: list[int], tools: list[int]) -> tuple[list[int], list[int]]:
    """Starts of the calls of one output, and per token the tool known before it."""
    names = [at for at in range(len(labels)) if labels[at] == N and (at == 0 or labels[at - 1] != N)]
    starts = []
    for number, at in enumerate(names):
        least = names[number - 1] + 1 if number else 0
        marks = [one for one in range(least, at) if labels[one] == D and (one == 0 or labels[one - 1] != D)]
        starts.append(marks[-1] if marks else at)
    known = [UNKNOWN_TOOL] * len(labels)
    if len(tools) == len(names):
        for number, at in enumerate(names):
            named = at
            while named < len(labels) and labels[named] == N:
                named += 1
            end = starts[number + 1] if number + 1 < len(names) else len(labels)
            for token in range(named, min(end + 1, len(labels))):
                if labels[token - 1] not in (SubClass.R, F):
                    known[token] = tools[number]
    return starts, known


@given(st.lists(st.tuples(LABELS, st.lists(st.integers(0, 2), max_size=3)), min_size=1, max_size=4))
def test_calls_are_where_reading_token_by_token_finds_them(turns: list[tuple[list[int], list[int]]]) -> None:
    workload = workload_of([labels for labels, _ in turns], [tools for _, tools in turns])
    spans = call_spans(workload)
    known = tool_before(workload, spans)
    for attempt, (labels, tools) in enumerate(turns):
        begin = int(workload.offsets[attempt])
        starts, wanted = naive(labels, tools)
        assert (spans.start[spans.attempt == attempt] - begin).tolist() == starts
        assert known[begin : begin + len(labels)].tolist() == wanted


def test_depth_by_tool_rules_its_own_calls_alone() -> None:
    labels = [F, D, N, K, K, D, D, N, K, F]
    workload = workload_of([labels], [[0, 1]])
    spans = call_spans(workload)
    by_number = np.array([16, -1, -1, -1], dtype=np.int16)
    keys = np.array([7], dtype=np.uint64)
    elsewhere = GammaByLabel((5,) * 7 + (0,))
    rule = GammaByTool(elsewhere, Attempts(keys, workload.offsets), by_number[tool_before(workload, spans)])
    outputs = Outputs(workload.labels, workload.offsets, keys)
    assert rule.limits(outputs, 16).tolist() == [0, 0, 5, 16, 16, 16, 5, 5, 5, 5]
    assert rule.limits(outputs, 8).max() == 8
    assert by_labels_alone(rule) is elsewhere
    both = by_labels_alone(Strictest((rule, elsewhere)))
    assert isinstance(both, Strictest)
    assert both.policies == (elsewhere, elsewhere)
