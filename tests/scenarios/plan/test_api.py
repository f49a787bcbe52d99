"""Plans asked for in Python."""

from __future__ import annotations

import pytest

from scenarios.api import plan
from scenarios.options.replay import OptionError
from tests.shared import AGENT_LOOP
from tests.simtool.run import simtool

ONE = {"gpus": "H200", "tensor_parallel": 1, "gammas": [0], "routers": ["least-loaded"]}
LIMITS = {"max_requests": 600, "jobs": 1}


def test_python_and_the_command_line_agree_to_the_byte(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = plan(AGENT_LOOP, targets=["ttft:p99:3000"], sessions_per_s=0.1, wanted=LIMITS, **ONE)
    args = ("--sessions-per-s", "0.1", "--target", "ttft:p99:3000", "--gpus", "H200", "--tensor-parallel", "1")
    more = ("--gammas", "0", "--routers", "least-loaded", "--max-requests", "600", "--jobs", "1", "--json", "-")
    assert simtool(capsys, monkeypatch, "plan", str(AGENT_LOOP), *args, *more).out == asked.to_json()
    assert asked.cheapest is not None
    assert asked.candidates["gpus"].tolist() == [asked.cheapest.sized.gpus if asked.cheapest.sized else None]
    assert asked.candidates["ttft p99"].iloc[0] <= 3000
    assert asked.capacity.empty


def test_capacity_is_a_table() -> None:
    asked = plan(AGENT_LOOP, goodput=["tpot:60"], slo_attainment=0.9, gpus_available=1, wanted=LIMITS, **ONE)
    assert asked.cheapest is None
    assert asked.capacity["tasks_per_s"].iloc[0] > 0


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"gpu": "H200"}, "gpu is no option of a plan"),
        ({"wanted": {"headrom": 2}}, "headrom"),
        ({"gammma": 2}, "did you mean 'gamma'"),
        ({}, "give one of"),
    ],
)
def test_what_cannot_be_asked_is_an_error(options: dict[str, object], says: str) -> None:
    with pytest.raises(OptionError, match=says):
        plan(AGENT_LOOP, targets=["ttft:p99:3000"], **options)
