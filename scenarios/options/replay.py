"""What a user can set for a replay; None means: take the documented default."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from scenarios.drafters.base import DrafterOptions
from scenarios.options.drafting import PolicyOptions
from scenarios.options.engine import DEFAULT_GAMMA, CostOptions, PlatformOptions
from scenarios.options.option import Section, option
from scenarios.options.serving import ClusterOptions, MeasureOptions
from simulator.gateconfig import NAMED, GiveUp, RetryPrompt

if TYPE_CHECKING:
    from simulator.gateconfig import GateConfig

__all__ = [
    "DEFAULT_GAMMA",
    "AcceptanceOptions",
    "ClusterOptions",
    "CostOptions",
    "LoadOptions",
    "MeasureOptions",
    "OptionError",
    "PlatformOptions",
    "PolicyOptions",
    "ReplayOptions",
    "parse_eps",
]

_LOAD, _SPECULATION = Section.WORKLOAD, Section.SPECULATION


class OptionError(ValueError):
    """An option's value cannot be used; the message names the option, the value and the range."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptanceOptions:
    """Acceptance in place of the declared profile: from the law's constants, eps by class, or a mean length."""

    kappa: float | None = option(None, "Draft alignment constant.", _SPECULATION, least=0)
    rho_S: float | None = option(None, "Predictability of S.", _SPECULATION, least=0, most=1)
    rho_R: float | None = option(None, "Predictability of R.", _SPECULATION, least=0, most=1)
    rho_F: float | None = option(None, "Predictability of F.", _SPECULATION, least=0, most=1)
    eps: dict[str, float] | None = option(
        None,
        "Mismatch by class, or by sub-class of S (D N K V T P).",
        _SPECULATION,
        metavar="S=..,R=..,F=..",
        parse="scenarios.options.replay:parse_eps",
    )
    """eps by class (S, R, F) or sub-class letter (D, N, K, V, T, P)."""
    acceptance_length: float | None = option(
        None, "Mean tokens a round emits at this gamma, as vLLM reports it.", _SPECULATION, least=1
    )
    profile: str | None = option(
        None,
        "Acceptance profile (JSON, TOML) in place of the declared one; made by simtool calibrate.",
        _SPECULATION,
        metavar="FILE",
    )

    @property
    def given(self) -> bool:
        """Whether anything is given."""
        return any(getattr(self, name) is not None for name in self.__slots__)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadOptions:
    """How requests are offered."""

    max_concurrency: int | None = option(
        None,
        "Sessions at a time in closed loop (the default; 8): a turn arrives when the one before and its tools are "
        "done.",
        _LOAD,
    )
    request_rate: float | None = option(None, "Open loop: mean requests/s; sessions arrive at random.", _LOAD)
    burstiness: float = option(1.0, "1: Poisson; below: burstier, above: steadier.", _LOAD)
    self_timed: bool | None = option(
        None, "Sessions start at their recorded times (default for requests without sessions).", _LOAD
    )
    speedup: float = option(1.0, "Recorded start times are divided by it.", _LOAD)
    tool_speedup: float = option(1.0, "Tool waits are divided by it.", _LOAD)
    unknown_tool_wait_s: float = option(
        0.0, "Seconds of a tool without recorded duration.", _LOAD, flags=("--unknown-tool-wait",), least=0
    )
    user_waits: bool = option(False, "Keep recorded waits for a person.", _LOAD)
    tool_waits: str = option(
        "recorded",
        "recorded, scaled (by --tool-speedup), or drawn anew from those recorded of the same tool.",
        _LOAD,
        choices=("recorded", "scaled", "drawn"),
    )
    sub_agents: str = option(
        "join",
        "join: the parent's next turn waits for their ends, in place of as many of its longest tools.",
        _LOAD,
        choices=("join", "detached"),
    )
    arrival_profile: Path | None = option(
        None,
        "Open loop: requests/s of each hour, a JSON list or one a line, repeated after its end.",
        _LOAD,
        metavar="FILE",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOptions:
    """All options of a replay."""

    platform: PlatformOptions = PlatformOptions()
    cost: CostOptions = CostOptions()
    acceptance: AcceptanceOptions = AcceptanceOptions()
    drafters: DrafterOptions = ()
    policy: PolicyOptions = field(default_factory=PolicyOptions)
    load: LoadOptions = LoadOptions()
    cluster: ClusterOptions = field(default_factory=ClusterOptions)
    measure: MeasureOptions = field(default_factory=MeasureOptions)
    nu: float | None = option(None, "Draws per accepted turn, geometric; default: the recorded attempts.", _LOAD)
    """None: the recorded attempts."""
    gate: GateConfig | None = option(
        None,
        "Draws judged by a gate, instead of --nu: pass probabilities by turn kind (call, answer), tool (call:bash=0.8) "
        f"and check ({', '.join(NAMED)}; also judge:call, tests:bash); draws=N at most, or best-of=N at once; "
        f"prompt={'|'.join(RetryPrompt)} with error-tokens=N; give-up={'|'.join(GiveUp)} (the session); ms=, gpu-ms= "
        "of a verdict, or of a check (gpu-ms:judge=400).",
        _LOAD,
        metavar="call=P,answer=P,...",
        parse="simulator.gateconfig:parse_gate",
    )
    """In place of nu."""
    regression: tuple[str, ...] = option(
        (),
        "Tasks that a lossy lever turns from right to wrong (gate, quantization, relaxed acceptance ...), declared or "
        "measured; may be repeated.",
        Section.SLO,
        metavar="LEVER=SHARE[:measured]",
    )
    quality_limit: float | None = option(None, "Largest share of tasks made worse, all levers together.", Section.SLO)
    seed: int = option(0, "One seed gives one answer.", Section.RUN)


def parse_eps(text: str) -> dict[str, float]:
    """Read ``S=0.1,R=0.4,F=0.5``: classes S R F, or sub-classes of S (D N K V T P). Raises OptionError."""
    result = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        name = name.strip().upper()
        if name not in ("S", "R", "F", "D", "N", "K", "V", "T", "P"):
            raise OptionError(f"--eps {text!r}: {name!r} is no class (S, R, F) or sub-class (D, N, K, V, T, P)")
        try:
            result[name] = float(value)
        except ValueError:
            raise OptionError(f"--eps {text!r}: {part.strip()!r} is not CLASS=NUMBER") from None
        if not 0 <= result[name] <= 1:
            raise OptionError(f"--eps {text!r}: {name} is {result[name]}; it must be within 0 and 1")
    return result
