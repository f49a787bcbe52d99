"""A recording asked about under many options, in Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from scenarios.api.given import Traces, resolve
from scenarios.jsonbytes import json_bytes
from scenarios.options.replay import OptionError
from scenarios.scenariofile.places import Places
from scenarios.sweep.axes import axis_of
from scenarios.sweep.definition import Request, merged, reference_of
from scenarios.sweep.document import Summary, TornadoBar
from scenarios.sweep.points import Method
from scenarios.sweep.run import Where
from scenarios.sweep.run import sweep as run_sweep
from scenarios.sweep.runs import Tell
from scenarios.sweep.store import RESULTS


@dataclass(frozen=True, slots=True)
class Swept:
    """A finished sweep and the folder that it is kept in."""

    summary: Summary
    folder: Path

    @property
    def results_arrow(self) -> pa.Table:
        """One row a run (a point under a seed): axes, figures, differences with intervals."""
        return pq.read_table(self.folder / RESULTS)

    @property
    def results(self) -> pd.DataFrame:
        """The same for pandas."""
        return self.results_arrow.to_pandas()

    @property
    def points(self) -> pd.DataFrame:
        """One row a point, over its seeds: axes, figures, whether it is on the front."""
        rows = [
            {"point": one.point, **one.values}
            | {name: estimate.value for name, estimate in one.figures.items()}
            | {"pareto": one.pareto, "best": one.best, "error": one.error}
            for one in self.summary.points
        ]
        return pd.DataFrame(rows)

    @property
    def tornado(self) -> pd.DataFrame:
        """One row an axis: how far the first objective goes when it alone changes, the longest first."""
        rows = [
            {name: getattr(one, name) for name in TornadoBar.__struct_fields__} | {"swing": one.swing}
            for one in self.summary.tornado
        ]
        return pd.DataFrame(rows, columns=[*TornadoBar.__struct_fields__, "swing"])

    def to_json(self) -> str:
        """The document as ``simtool sweep --json -`` prints it."""
        return json_bytes(self.summary).decode()


def sweep(
    traces: Traces | None = None,
    *,
    axes: Mapping[str, Any] | None = None,
    folder: str | Path,
    scenario: str | Path | None = None,
    method: str = "grid",
    samples: int | None = None,
    seeds: Sequence[int] = (),
    objectives: Sequence[str] = (),
    reference: Mapping[str, Any] | None = None,
    jobs: int | None = None,
    executor: str = "local",
    address: str | None = None,
    force: bool = False,
    progress: Tell | None = None,
    **options: Any,
) -> Swept:
    """Ask about recordings under many options, as ``simtool sweep`` does.

    Args:
        traces: Files or folders; None: those that *scenario* names.
        axes: Values by option: ``{"gamma": [0, 4, 8], "max_concurrency": [1, 8]}``; beside a scenario's own.
        folder: Where the sweep is kept; finished points of the same one are taken over.
        scenario: A scenario file or a shipped one's name, with its [sweep].
        method: grid, list, random, search or tornado.
        samples: Points of random and search.
        seeds: Each point is asked under each of them.
        objectives: What the front is made of; none: cost and latency.
        reference: Values of axes with which points are compared.
        jobs: Points at a time; None: as many as cores.
        executor: local or ray; *address* is that of the Ray cluster.
        address: See *executor*.
        force: Start over: replace what *folder* holds, finished points of this sweep too.
        progress: A function of the runs that are done and of all.
        options: As of `scenarios.api.replay`, for all points.

    Raises OptionError for unknown options, bad values and a folder that holds something else, TraceError or
    SimtoolError for unusable recordings.
    """
    if method not in list(Method):
        raise OptionError(f"method is {method!r}; it is one of {', '.join(Method)}")
    given = resolve(traces, scenario, options)
    own = Request(
        axes=tuple(axis_of(key, spec, "axes") for key, spec in (axes or {}).items()),
        method=Method(method),
        samples=samples,
        seeds=tuple(seeds),
        objectives=tuple(objectives),
        reference=reference_of(reference or {}, "reference"),
    )
    section = {} if given.scenario is None else given.scenario.sweep
    places = Places() if given.scenario is None else given.scenario.sweep_places
    where = Where(folder=Path(folder), force=force, executor=executor, jobs=jobs, address=address)
    summary = run_sweep(given.traces, given.values, merged(section, places, own, ()), where, progress)
    return Swept(summary, Path(folder))
