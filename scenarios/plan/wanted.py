"""What a plan is asked for."""

from __future__ import annotations

from dataclasses import dataclass

from scenarios.options.replay import OptionError
from scenarios.plan.targets import Objectives
from scenarios.plan.traffic import Traffic


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a plan is asked for. Exactly one of the rates and *gpus_available* is given."""

    objectives: Objectives
    tasks_per_s: float | None = None
    requests_per_s: float | None = None
    gpus_available: int | None = None
    headroom: float = 1.0
    lose_one: bool = False
    growth: float | None = None
    max_gpus: int = 256
    max_requests: int = 30_000
    jobs: int | None = None
    every: bool = False
    """Size every candidate, those too that cost more than another that serves; with growth always so."""
    notes: tuple[str, ...] = ()
    """What is to be said beside the answer."""

    def __post_init__(self) -> None:
        if not self.objectives.names:
            raise OptionError("give at least one --target METRIC:pPERCENTILE:MILLISECONDS, or --goodput")
        given = [self.tasks_per_s, self.requests_per_s, self.gpus_available]
        if sum(one is not None for one in given) != 1:
            raise OptionError("give one of --sessions-per-s, --request-rate and --gpus-available")
        for name, value, least in (
            ("--sessions-per-s", self.tasks_per_s, 0.0),
            ("--request-rate", self.requests_per_s, 0.0),
            ("--growth", self.growth, 0.0),
        ):
            if value is not None and not least < value < float("inf"):
                raise OptionError(f"{name} is {value:g}; it must be above {least:g}, and finite")
        if not 1 <= self.headroom < float("inf"):
            raise OptionError(f"--headroom is {self.headroom:g}; it must be at least 1: 1.3 is 30 % on top")
        if self.growth is not None and self.gpus_available is not None:
            raise OptionError("--growth needs a rate that grows; leave it out with --gpus-available")


def rate_of(wanted: Wanted, traffic: Traffic) -> float:
    """Tasks per second that are asked for."""
    if wanted.tasks_per_s is not None:
        return wanted.tasks_per_s
    assert wanted.requests_per_s is not None
    return wanted.requests_per_s / traffic.tiles.attempts_per_task
