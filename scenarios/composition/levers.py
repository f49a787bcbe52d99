"""Replays of one workload with each lever on or off: prefix cache, speculation, resampling."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import numpy.typing as npt

from scenarios.acceptance.expected import AcceptanceChoice
from scenarios.decide import replay_once
from scenarios.resolve.platform import Platform
from scenarios.runs.inturn import InTurn
from simulator.metrics import gate_gpu_s, mean_batch
from simulator.replay import Replay, Watch
from simulator.sessions import LoadConfig
from simulator.workload import Workload

F64 = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, order=True)
class Levers:
    """Which levers are on."""

    cache: bool
    speculation: bool
    resampling: bool

    def __str__(self) -> str:
        names = [name for name in self.__slots__ if getattr(self, name)]
        return " + ".join(names) or "none"


ALL_LEVERS = tuple(Levers(*on) for on in product((False, True), repeat=3))
"""The eight combinations, none first and all last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draws:
    """A workload as accepted at once, and as drawn again, each with its acceptance."""

    once: Workload
    resampled: Workload
    acceptance_once: AcceptanceChoice
    acceptance_resampled: AcceptanceChoice


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LeverRun:
    """One combination replayed; arrays have an entry a session, in GPU seconds or counts."""

    levers: Levers
    prefill_s: F64
    """The target's, and loading from host memory."""
    draft_prefill_s: F64
    decode_s: F64
    gate_s: F64
    """The gate's own GPU seconds."""
    draws: F64
    accepted: F64
    """Turns with an accepted draw."""
    prompt_tokens: F64
    hit_tokens: F64
    output_tokens: F64
    mean_batch: float
    num_evicted_blocks: int
    num_preemptions: int

    def total(self, name: str, weights: F64 | None = None) -> F64:
        """Sum of a column over sessions, each counted as *weights* (any leading shape) say."""
        column: F64 = getattr(self, name)
        return np.asarray(column.sum() if weights is None else weights @ column)

    @property
    def h(self) -> float:
        """Hit share of prompt tokens."""
        prompt = float(self.prompt_tokens.sum())
        return float(self.hit_tokens.sum()) / prompt if prompt else 0.0

    @property
    def output_tokens_per_draw(self) -> float:
        """Mean length of a draw's output."""
        return float(self.output_tokens.sum() / max(1.0, self.draws.sum()))

    @property
    def nu(self) -> float:
        """Draws per accepted turn."""
        return float(self.draws.sum() / max(1.0, self.accepted.sum()))

    @property
    def C_total_s(self) -> float:
        """GPU seconds per accepted turn, the draft model's prefill and the gate included."""
        spent = self.prefill_s.sum() + self.draft_prefill_s.sum() + self.decode_s.sum() + self.gate_s.sum()
        return float(spent / max(1.0, self.accepted.sum()))


def lever_runs(
    draws: Draws, platform: Platform, load: LoadConfig, seed: int, watch: Watch | None = None
) -> Iterator[LeverRun]:
    """Each of ALL_LEVERS replayed on one seed; *watch* is told how far that is."""
    replays = InTurn(watch, len(ALL_LEVERS))
    for levers in ALL_LEVERS:
        engine = platform.engine if levers.speculation else platform.baseline_engine
        workload = draws.resampled if levers.resampling else draws.once
        choice = draws.acceptance_resampled if levers.resampling else draws.acceptance_once
        engine = replace(engine, enable_prefix_caching=levers.cache)
        yield _summed(levers, workload, replay_once(workload, engine, platform, choice, load, seed, replays.next()))


def _summed(levers: Levers, workload: Workload, replay: Replay) -> LeverRun:
    owner = workload.attempt_session
    done = replay.done.astype(np.float64)

    def by_session(values: npt.NDArray[np.float64] | npt.NDArray[np.int64]) -> F64:
        return np.bincount(owner, np.where(replay.done, values, 0), workload.n_sessions).astype(np.float64)

    return LeverRun(
        levers=levers,
        prefill_s=by_session(replay.prefill_gpu_s + replay.kv_load_s),
        draft_prefill_s=by_session(replay.draft_prefill_gpu_s),
        decode_s=by_session(replay.by_step.decode_gpu_s),
        gate_s=by_session(gate_gpu_s(replay, workload)),
        draws=by_session(done),
        accepted=by_session(done * ~workload.attempt_rejected),
        prompt_tokens=by_session(replay.prompt_tokens),
        hit_tokens=by_session(replay.hit_tokens),
        output_tokens=by_session(replay.output_tokens),
        mean_batch=mean_batch(replay)[0],
        num_evicted_blocks=replay.num_evicted_blocks,
        num_preemptions=int(replay.num_preemptions.sum()),
    )
