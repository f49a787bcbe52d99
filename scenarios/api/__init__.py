"""The questions of the command line for Python: typed answers, tables as pandas or Arrow.

    from scenarios.api import replay

    run = replay("trace.jsonl", gamma=8, gpu="H200")
    run.verdict.net_saving, run.turns, run.to_json()

Options are keywords by the keys of scenario files (``simtool scenarios keys``). SIMTOOL_* variables are not read here.
"""

from __future__ import annotations

from scenarios.api.lawchecks import LawTruth, law_check
from scenarios.api.pairs import Compared, compare
from scenarios.api.plans import Planned, plan
from scenarios.api.run import Run, replay
from scenarios.api.sweeps import Swept, sweep
from scenarios.api.tags import Tags, tag

__all__ = [
    "Compared",
    "LawTruth",
    "Planned",
    "Run",
    "Swept",
    "Tags",
    "compare",
    "law_check",
    "plan",
    "replay",
    "sweep",
    "tag",
]
