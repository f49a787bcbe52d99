"""Axes: every way to write one, and what is said of one that cannot be."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios.options.replay import OptionError
from scenarios.options.settings import all_options, settings
from scenarios.sweep.axes import Axis, Span, axis_of, parse_axis


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("gamma=0,4,8", (0, 4, 8)),
        ("max-concurrency=1..64*2", (1, 2, 4, 8, 16, 32, 64)),
        ("max_concurrency=8..32:8", (8, 16, 24, 32)),
        ("gamma=2..11:4", (2, 6, 10)),
        ("gpu_memory_utilization=0.7..0.9:0.1", (0.7, 0.8, 0.9)),
        ("gpu=H200, L40S", ("H200", "L40S")),
        ("gamma=8;S=16,R=4,F=0", (8, "S=16,R=4,F=0")),
        ("eps=S=0.1,R=0.4,F=0.5", ("S=0.1,R=0.4,F=0.5",)),
        ("class_mix=S=1;F=1", ("S=1", "F=1")),
        ("enable_prefix_caching=on,off", (True, False)),
        ("max_concurrency=none,4", (None, 4)),
        ("goodput=ttft:500;ttft:900", (["ttft:500"], ["ttft:900"])),
    ],
)
def test_lists_and_steps(text: str, values: tuple[Any, ...]) -> None:
    axis = parse_axis(text)
    assert axis.listed() == values
    for value in values:
        settings({axis.key: value})


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("rtt_ms=0..50", Span(low=0.0, high=50.0, whole=False)),
        ("max_concurrency=1..100:log", Span(low=1, high=100, whole=True, log=True)),
        ("gamma=0..16", Span(low=0, high=16, whole=True)),
    ],
)
def test_ranges_to_draw_from(text: str, span: Span) -> None:
    assert parse_axis(text).span == span


def test_a_range_of_whole_numbers_is_a_list_too() -> None:
    assert parse_axis("gamma=1..4").listed() == (1, 2, 3, 4)
    with pytest.raises(OptionError, match="needs a step"):
        parse_axis("rtt_ms=0..50").listed()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("gamm=4", "did you mean 'gamma'"),
        ("gamma", "KEY=VALUES"),
        ("gamma=", "KEY=VALUES"),
        ("gamma=x", "no draft depth"),
        ("max_concurrency=1.5", "whole number"),
        ("max_concurrency=1..10*1.5", "max_concurrency is 1.5"),
        ("max_concurrency=10..1", "lower end first"),
        ("max_concurrency=1..10:0", "leads nowhere"),
        ("max_concurrency=1..10*1", "leads nowhere"),
        ("rtt_ms=0..1000000:0.001", "more than 10,000"),
        ("rtt_ms=0..1:log", "above 0"),
        ("rtt_ms=a..b", "is no range"),
        ("tensor_parallel_size=0,1", "at least 1"),
        ("reasoning_end=stric", "one of strict, tool-token"),
        ("tool_waits=recorded,draw", "one of recorded, scaled, drawn"),
        ("eps=S=2", "within 0 and 1"),
        ("gamma=4,4", "twice"),
        ("confidence_threshold=1.5", "within 0 and 1"),
    ],
)
def test_errors_name_option_value_and_what_would_do(text: str, says: str) -> None:
    with pytest.raises(OptionError, match=says) as raised:
        parse_axis(text)
    assert text.split("=")[0] in str(raised.value)


@pytest.mark.parametrize(
    ("spec", "axis"),
    [
        ([0, 4], Axis(key="gamma", values=(0, 4))),
        ({"from": 1, "to": 8, "factor": 2}, Axis(key="gamma", values=(1, 2, 4, 8))),
        ({"from": 0, "to": 1, "step": 1}, Axis(key="gamma", values=(0, 1))),
        ({"from": 1, "to": 16, "scale": "log"}, Axis(key="gamma", span=Span(low=1, high=16, whole=True, log=True))),
        ("1..8*2", Axis(key="gamma", values=(1, 2, 4, 8))),
        (4, Axis(key="gamma", values=(4,))),
    ],
)
def test_axes_of_a_scenario(spec: Any, axis: Axis) -> None:
    assert axis_of("gamma", spec, "place") == axis


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"from": 1, "to": 8, "steps": 2}, "no key of an axis"),
        ({"from": 1}, "from and to"),
        ({"from": 1, "to": 8, "step": 2, "factor": 2}, "exclude each other"),
        ({"from": 1, "to": 8, "scale": "lin"}, "linear or log"),
        ([], "no values"),
        ([[1]], "gamma is"),
    ],
)
def test_axes_of_a_scenario_that_cannot_be(spec: Any, says: str) -> None:
    with pytest.raises(OptionError, match=says) as raised:
        axis_of("gamma", spec, "edge, [sweep.axes]")
    assert str(raised.value).startswith("edge, [sweep.axes]")


@given(low=st.integers(0, 500), count=st.integers(0, 40), step=st.integers(1, 99))
def test_steps_are_exact_in_decimals(low: int, count: int, step: int) -> None:
    first, width = Decimal(low) / 100, Decimal(step) / 100
    found = parse_axis(f"rtt_ms={first}..{first + count * width}:{width}").values
    assert found == tuple(float(first + at * width) for at in range(count + 1))


def test_every_option_can_be_an_axis_at_its_default() -> None:
    tried = 0
    for key, one in all_options().items():
        if one.default in (None, ()) or one.repeated:
            continue
        assert axis_of(key, [one.default], "place").key == key
        tried += 1
    assert tried > 30
