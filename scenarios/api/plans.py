"""Capacity, asked for in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from scenarios.api.given import Traces, resolve
from scenarios.jsonbytes import json_bytes
from scenarios.options.replay import OptionError
from scenarios.plan.axes import AXES, FIXED, chosen_axes
from scenarios.plan.document import CapacityRow, Plan, Row
from scenarios.plan.run import plan as run_plan
from scenarios.plan.targets import Objectives, parse_targets
from scenarios.plan.wanted import Wanted
from scenarios.resolve.measure import resolve_measure

if TYPE_CHECKING:
    from pathlib import Path

Values = str | int | float | Sequence[str | int | float]
"""Values of an axis: one, several, or as on the command line."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan."""

    plan: Plan
    """As ``simtool schema plan`` describes it."""

    @property
    def cheapest(self) -> Row | None:
        """The candidate that costs least; None if no candidate meets the targets."""
        return None if self.plan.cheapest is None else self.plan.rows[self.plan.cheapest]

    @property
    def candidates(self) -> pd.DataFrame:
        """One row a candidate, by cost; those that serve at no size last, with the reason."""
        return pd.DataFrame([_sizes(one) for one in self.plan.rows])

    @property
    def capacity(self) -> pd.DataFrame:
        """One row a candidate: the most load that the available GPUs take, the largest first."""
        columns = [name for name in CapacityRow.__struct_fields__ if name not in ("tried", "breaches")]
        columns = [name for name in columns if not name.endswith("_rate")]
        rows = [{name: getattr(one, name) for name in columns} for one in self.plan.capacity]
        return pd.DataFrame(rows, columns=columns)

    def to_json(self) -> str:
        """The document as ``simtool plan --json -`` prints it, to the byte."""
        return json_bytes(self.plan).decode()


def plan(
    traces: Traces | None = None,
    *,
    targets: Sequence[str] = (),
    sessions_per_s: float | None = None,
    gpus_available: int | None = None,
    gpus: Values | None = None,
    tensor_parallel: Values | None = None,
    gammas: Values | None = None,
    kv_offload: Values | None = None,
    routers: Values | None = None,
    scenario: str | Path | None = None,
    progress: Callable[[int], None] | None = None,
    wanted: Mapping[str, Any] | None = None,
    **options: Any,
) -> Planned:
    """Find the fewest GPUs and the least money that serve recorded traffic within targets, as ``simtool plan`` does.

    Args:
        traces: Files or folders; None: those that *scenario* names.
        targets: As ``ttft:p99:2000`` (milliseconds).
        sessions_per_s: Sessions that users start; or give ``request_rate`` among the options.
        gpus_available: In place of a rate: how much load do so many GPUs take?
        gpus: GPU types, as a list or with commas; without these lists: the scenario's own value, else the defaults.
        tensor_parallel: GPUs a replica.
        gammas: Draft depths.
        kv_offload: Host memory a replica for evicted KV blocks, in 10^9 bytes.
        routers: How requests are spread over replicas.
        scenario: A scenario file, or a shipped scenario's name; what it says of an axis is the one value.
        progress: A function of the looks and sizes that are done.
        wanted: Fields of `scenarios.plan.wanted.Wanted`: ``headroom``, ``lose_one``, ``growth``, ``max_gpus``,
            ``max_requests``, ``every``, ``jobs``.
        options: As of `scenarios.api.replay`, for all candidates; ``goodput`` is a target too.

    Raises OptionError for unknown options and bad values, TraceError or SimtoolError for unusable recordings.
    """
    for key in options:
        if key.lower() in FIXED:
            raise OptionError(f"{key} is no option of a plan, which chooses it or has traffic at a steady rate")
    given = resolve(traces, scenario, options)
    values = {key: value for key, value in given.values.items() if key not in FIXED}
    asked = given.settings.replay
    lists = zip(AXES, (gpus, tensor_parallel, gammas, kv_offload, routers), strict=True)
    listed = {key: None if one is None else _listed(one) for key, one in lists}
    axes, notes = chosen_axes(listed, given.values)
    try:
        what = Wanted(
            objectives=Objectives(targets=parse_targets(targets), measure=resolve_measure(asked.measure)),
            tasks_per_s=sessions_per_s,
            requests_per_s=asked.load.request_rate,
            gpus_available=gpus_available,
            notes=tuple(notes),
            **(wanted or {}),
        )
    except TypeError as error:
        raise OptionError(f"wanted: {error}") from error
    values.pop("request_rate", None)
    return Planned(run_plan(given.traces, values, axes, what, done=progress))


def _listed(values: Values) -> str:
    """*values* as the command line has them: those with commas of their own are parted by semicolons."""
    if isinstance(values, (str, int, float)):
        return str(values)
    items = [str(one) for one in values]
    return (";" if any("=" in one for one in items) else ",").join(items)


def _sizes(one: Row) -> dict[str, Any]:
    kind = {
        name: getattr(one, name) for name in ("name", "gpu", "tensor_parallel_size", "gamma", "kv_offload_gb", "router")
    }
    sized = one.sized
    counts = ("replicas", "gpus", "usd_per_hour", "usd_per_1000_tasks", "decided_by")
    found = {name: None if sized is None else getattr(sized, name) for name in counts}
    met = {} if sized is None else {target.name: target.value for target in sized.at_rate.targets}
    return {**kind, **found, **met, "reason": one.reason}
