"""Requests of one length on engines that serve one at a time: a queue whose answers are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from scenarios.plan.document import Plan
from scenarios.plan.run import plan
from scenarios.plan.targets import Objectives, parse_targets
from scenarios.plan.wanted import Wanted
from scenarios.resolve.measure import Measure

SERVICE_S = 1.0
"""100 tokens, 10 ms each."""
AXES = {"gpu": "H200", "tensor_parallel_size": "1", "gamma": "0", "kv_offload_gb": "0", "router": "least-loaded"}
QUEUE: dict[str, Any] = {
    "format": "csv:arrival=at,input=prompt,output=answer",
    "c_T_ms": 10.0,
    "delta": 0.0,
    "d": 0.0,
    "overhead": 0.0,
    "prefill_us_per_token": 0.0,
    "max_num_seqs": 1,
}
LOOSE = "e2el:p50:1000000000"
Planned = Callable[..., Plan]


@pytest.fixture(scope="session")
def requests(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plan") / "requests.csv"
    path.write_text("at,prompt,answer\n" + "".join(f"{at},160,100\n" for at in range(40)))
    return path


@pytest.fixture(scope="session")
def planned(requests: Path) -> Planned:
    """A plan for them; targets, options and axes as given by name."""

    def run(
        *targets: str, given: Mapping[str, Any] | None = None, axes: Mapping[str, str] | None = None, **more: Any
    ) -> Plan:
        objectives = Objectives(targets=parse_targets(targets), measure=Measure())
        wanted = Wanted(objectives=objectives, **{"jobs": 1, "every": True, **more})
        options = {key.lower(): value for key, value in {**QUEUE, **(given or {})}.items()}
        return plan([str(requests)], options, {**AXES, **(axes or {})}, wanted)

    return run
