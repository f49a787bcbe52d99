"""Work on a plan that is broken off: its processes end, and nothing but the reason is heard of it."""

from __future__ import annotations

import multiprocessing
import threading
import time
from multiprocessing.process import BaseProcess
from typing import Any

import pytest

from scenarios.plan.candidates import candidates
from scenarios.plan.probe import Bench
from scenarios.plan.targets import Objectives, parse_targets
from scenarios.plan.workers import Shop, workers
from scenarios.recordings.loaded import load
from scenarios.resolve.measure import Measure
from tests.scenarios.plan.conftest import AXES
from tests.shared import AGENT_LOOP


def fails_or_lasts(_: Bench, fails: Any) -> None:
    """A piece of work."""
    if fails:
        raise ArithmeticError
    time.sleep(30)


def test_work_that_is_broken_off_leaves_no_process_and_no_complaint(monkeypatch: pytest.MonkeyPatch) -> None:
    (one,) = candidates({}, AXES)
    loaded = load([str(AGENT_LOOP)], one.question().reading)
    shop = Shop(loaded, Objectives(targets=parse_targets(["ttft:p99:2000"]), measure=Measure()), 1000)
    complaints: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr(threading, "excepthook", complaints.append)
    before = threading.enumerate()
    killed = BaseProcess.kill

    def unhurried(process: BaseProcess) -> None:
        killed(process)
        time.sleep(0.3)  # on a busy machine, too, the pool may notice first

    monkeypatch.setattr(BaseProcess, "kill", unhurried)
    with pytest.raises(ArithmeticError), workers(shop, 2, None) as run:
        run(fails_or_lasts, [(one, at == 0) for at in range(200)])
    for thread in set(threading.enumerate()) - set(before):
        thread.join(20)
    assert not multiprocessing.active_children()
    assert not complaints
