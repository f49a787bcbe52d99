"""Energy of a replay: board power from idle to its limit by utilization, per token and per task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simulator.hardware.gpus import Gpu

JOULES_PER_KWH = 3.6e6


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardPower:
    """Power of one GPU board. Raises ValueError unless 0 <= *idle_watts* <= *max_watts*."""

    idle_watts: float
    max_watts: float

    def __post_init__(self) -> None:
        if not 0 <= self.idle_watts <= self.max_watts < float("inf"):
            raise ValueError(
                f"--idle-watts is {self.idle_watts} and --max-watts {self.max_watts}; "
                "the idle power must be 0 or more and at most the limit"
            )

    @classmethod
    def of(cls, gpu: Gpu) -> BoardPower:
        """What the catalogue declares for *gpu*."""
        return cls(idle_watts=gpu.idle_watts, max_watts=gpu.max_watts)

    def watts(self, utilization: float) -> float:
        """Mean power at *utilization*, the share of time in which engine steps run: linear between the two."""
        return self.idle_watts + (self.max_watts - self.idle_watts) * utilization


@dataclass(frozen=True, slots=True, kw_only=True)
class Energy:
    """Energy of the boards; hosts, cooling and networks are not in it."""

    joules: float
    mean_watts: float
    """Of all boards together."""
    joules_per_output_token: float | None
    """None without output."""
    kwh_per_1000_tasks: float | None
    """None without finished tasks."""


def energy(boards: Sequence[BoardPower], *, busy_s: float, duration_s: float, output_tokens: int, tasks: int) -> Energy:
    """Energy of *boards* over *duration_s* seconds, in *busy_s* of which steps run.

    Formula: sum over boards of idle x duration + (limit - idle) x busy. Raises ValueError unless
    0 <= *busy_s* <= *duration_s*, a rounding error aside.
    """
    if busy_s < 0 or busy_s > duration_s * (1 + 1e-9):
        raise ValueError(f"busy for {busy_s} s of {duration_s} s")
    utilization = min(1.0, busy_s / duration_s) if duration_s > 0 else 0.0
    mean_watts = sum(board.watts(utilization) for board in boards)
    joules = mean_watts * duration_s
    return Energy(
        joules=joules,
        mean_watts=mean_watts,
        joules_per_output_token=joules / output_tokens if output_tokens else None,
        kwh_per_1000_tasks=joules / tasks * 1000 / JOULES_PER_KWH if tasks else None,
    )
