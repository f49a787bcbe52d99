"""What a user can set for a replay; None means: take the documented default."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from scenarios.serving import ClusterOptions, MeasureOptions
from scenarios.speculation import DrafterOptions, PolicyOptions
from simulator.gate import GateConfig


class OptionError(ValueError):
    """An option's value cannot be used; the message names the option, the value and the range."""


DEFAULT_GAMMA = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformOptions:
    """Hardware, models and engine, with vLLM's names."""

    gpu: str = "H200"
    tensor_parallel_size: int = 1
    model: str = "Qwen3-32B"
    draft_model: str = "Qwen3-4B"
    """A name of the catalogue, or the path of a config.json; the same holds for the draft."""
    speculative_method: str = "draft_model"
    num_speculative_tokens: int = DEFAULT_GAMMA
    quantization: str = "auto"
    draft_quantization: str = "auto"
    kv_cache_dtype: str = "auto"
    draft_placement: str = "local"
    draft_gpu: str | None = None
    """GPU of a draft that is not local; None: as *gpu*."""
    rtt_ms: float | None = None
    """Round trip between draft and target."""
    cuda_graph_padding: bool = False
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    max_model_len: int | None = None
    block_size: int | None = None
    num_gpu_blocks: int | None = None
    gpu_memory_utilization: float | None = None
    enable_prefix_caching: bool = True
    enable_chunked_prefill: bool = True
    long_prefill_token_threshold: int | None = None
    gpu_price_per_hour: float | None = None
    prices: str | None = None
    """Path of the user's price table."""
    idle_watts: float | None = None
    max_watts: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CostOptions:
    """Step times in place of the roofline's: the law's constants, any of which makes all of them count, or a table."""

    c_T_ms: float | None = None
    delta: float | None = None
    d: float | None = None
    overhead: float | None = None
    prefill_us_per_token: float | None = None
    table: str | None = None
    """Path of a measured table of step times."""

    @property
    def declared(self) -> bool:
        """Whether any constant is given."""
        return any(getattr(self, name) is not None for name in self.__slots__ if name != "table")


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptanceOptions:
    """Acceptance in place of the declared profile: from the law's constants, eps by class, or a mean length."""

    kappa: float | None = None
    rho_S: float | None = None
    rho_R: float | None = None
    rho_F: float | None = None
    eps: dict[str, float] | None = None
    """eps by class (S, R, F) or sub-class letter (D, N, K, V, T, P)."""
    acceptance_length: float | None = None
    """Mean tokens a round emits at the given gamma."""
    profile: str | None = None
    """Path of an acceptance profile that takes the place of the declared one."""

    @property
    def given(self) -> bool:
        """Whether anything is given."""
        return any(getattr(self, name) is not None for name in self.__slots__)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadOptions:
    """How requests are offered."""

    max_concurrency: int | None = None
    request_rate: float | None = None
    burstiness: float = 1.0
    self_timed: bool | None = None
    speedup: float = 1.0
    tool_speedup: float = 1.0
    unknown_tool_wait_s: float = 0.0
    user_waits: bool = False
    tool_waits: str = "recorded"
    """recorded, scaled or drawn."""
    join_sub_agents: bool = True
    arrival_profile: Path | None = None
    """File of hourly request rates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOptions:
    """All options of a replay."""

    platform: PlatformOptions = PlatformOptions()
    cost: CostOptions = CostOptions()
    acceptance: AcceptanceOptions = AcceptanceOptions()
    drafter: DrafterOptions = field(default_factory=DrafterOptions)
    policy: PolicyOptions = field(default_factory=PolicyOptions)
    load: LoadOptions = LoadOptions()
    cluster: ClusterOptions = field(default_factory=ClusterOptions)
    measure: MeasureOptions = field(default_factory=MeasureOptions)
    nu: float | None = None
    """None: the recorded attempts."""
    gate: GateConfig | None = None
    """In place of nu."""
    seed: int = 0


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
