"""What a replica has under way: one planned step, or a run of steps that only decode."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simulator.ledger import StepLedger
from simulator.scheduler import StepPlan

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]


@dataclass(slots=True)
class Step:
    """One planned step under way."""

    start_s: float
    end_s: float
    duration_s: float
    n_seqs: int
    plan: StepPlan
    prefill_tokens: int
    share_s: float
    load_s: float


@dataclass(slots=True)
class DecodeStep:
    """One step under way in which nothing but decoding happens: a Run of one step, in plain numbers."""

    start_s: float
    end_s: float
    duration_s: float
    n_seqs: int
    emitted: int
    """Tokens that it emits."""
    blocks: int
    """Blocks that it takes."""
    n_steps: int = 1
    taken_blocks: int = 0
    """Blocks that are taken from the pool already."""

    def begun(self, now_s: float) -> int:  # noqa: ARG002
        """How many of its steps have begun."""
        return 1

    def blocks_of(self, n_steps: int) -> int:  # noqa: ARG002
        """Blocks that it takes and that are not taken from the pool yet."""
        return self.blocks - self.taken_blocks

    def emitted_by(self, n_steps: int) -> int:  # noqa: ARG002
        """Tokens that it emits."""
        return self.emitted

    def enter(self, ledger: StepLedger) -> None:
        """Write it down in *ledger*."""
        ledger.add_step(self.end_s, self.duration_s, self.duration_s / self.n_seqs)


@dataclass(slots=True)
class Run:
    """Steps under way in which nothing but decoding happens."""

    start_s: float
    n_seqs: int
    ends_s: F64
    durations_s: F64
    emitted: I64 | None
    """Tokens emitted by the steps up to each one, that one included; None: one a sequence and step."""
    blocks: I32
    """Blocks taken by the steps up to each one, that one included."""
    n_steps: int
    """How many of them are to be run."""
    end_s: float
    taken_blocks: int = 0
    """Blocks that are taken from the pool already."""

    def begun(self, now_s: float) -> int:
        """How many of its steps have begun."""
        return min(int(self.ends_s.searchsorted(now_s)) + 1, self.n_steps)

    def blocks_of(self, n_steps: int) -> int:
        """Blocks that its first *n_steps* steps take and that are not taken from the pool yet."""
        return self.blocks.item(n_steps - 1) - self.taken_blocks

    def emitted_by(self, n_steps: int) -> int:
        """Tokens that its first *n_steps* steps emit."""
        return n_steps * self.n_seqs if self.emitted is None else self.emitted.item(n_steps - 1)

    def enter(self, ledger: StepLedger) -> None:
        """Write the steps that are run down in *ledger*."""
        ledger.add_steps(self.ends_s[: self.n_steps], self.durations_s[: self.n_steps], self.n_seqs)
