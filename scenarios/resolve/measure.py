"""What of a replay is measured, and against which objectives."""

from __future__ import annotations

from dataclasses import dataclass, field

from scenarios.options.replay import OptionError
from scenarios.options.serving import MeasureOptions
from simulator.goodput import Slo, parse_goodput
from simulator.metrics import PERCENTILES
from simulator.window import Cut


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """Resolved: percentiles, objectives, and the cut."""

    percentiles: tuple[float, ...] = PERCENTILES
    slos: tuple[Slo, ...] = ()
    slo_attainment: float = 0.99
    cut: Cut = field(default_factory=Cut)


def resolve_measure(options: MeasureOptions) -> Measure:
    """What *options* ask for. Raises OptionError for values out of range."""
    if not 0 < options.slo_attainment <= 1:
        raise OptionError(f"--slo-attainment is {options.slo_attainment}; it must be above 0 and at most 1")
    try:
        return Measure(
            percentiles=_percentiles(options.metric_percentiles),
            slos=parse_goodput(options.goodput),
            slo_attainment=options.slo_attainment,
            cut=Cut(warmup_s=options.warmup_s, num_warmups=options.num_warmups, drain_s=options.drain_s),
        )
    except OptionError:
        raise
    except ValueError as error:
        raise OptionError(str(error)) from error


def _percentiles(text: str) -> tuple[float, ...]:
    try:
        values = sorted({float(part) for part in text.split(",")})
    except ValueError:
        raise OptionError(f"--metric-percentiles {text!r}: write numbers with commas between, as 50,90,99") from None
    if not all(0 <= value <= 100 for value in values):
        raise OptionError(f"--metric-percentiles {text!r}: percentiles lie within 0 and 100")
    return tuple(values)
