"""The law against the truth of a recording, asked for in Python."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from scenarios.api.counting import Wanted, counting
from scenarios.api.frames import frame
from scenarios.api.given import Traces, resolve
from scenarios.jsonbytes import json_bytes
from scenarios.law.lawcheck import Approximation, ClassTruth, LawCheck
from scenarios.law.lawcheck import law_check as check_law
from scenarios.law.spanfit import SpanRow
from scenarios.setup import set_up


@dataclass(frozen=True, slots=True)
class LawTruth:
    """A check of the law on one recording."""

    check: LawCheck

    @property
    def approximations(self) -> pd.DataFrame:
        """Tokens per round and saving, a row a way of reckoning."""
        return frame(self.check.approximations, Approximation)

    @property
    def classes(self) -> pd.DataFrame:
        """One row a class: tau by the law, exact, measured."""
        return frame(self.check.classes, ClassTruth)

    @property
    def spans(self) -> pd.DataFrame:
        """One row a range of span lengths."""
        return frame(self.check.spans, SpanRow)

    def to_json(self) -> str:
        """The document as ``simtool law-check --json -`` prints it, to the byte."""
        return json_bytes(self.check).decode()


def law_check(
    traces: Traces | None = None,
    *,
    scenario: str | Path | None = None,
    progress: Wanted = False,
    **options: Any,
) -> LawTruth:
    """Hold the Draft Law against exact, sampled and known rounds on recordings, as ``simtool law-check`` does.

    Arguments and errors are those of `scenarios.api.replay`; gamma must be 1 or more.
    """
    given = resolve(traces, scenario, options)
    chosen = given.settings
    with counting(progress, "sessions read") as count:
        setup = set_up(given.traces, chosen.read, chosen.replay, progress=count)
    return LawTruth(check_law(setup))
