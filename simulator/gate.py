"""Verification-gated draws: how often each turn is drawn, on what prompt, in what order, and when the gate gives up."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from simulator import rng
from simulator.drawplan import DrawPlan
from simulator.resample import repeated
from simulator.workload import Workload, turn_names

Bool = npt.NDArray[np.bool_]
I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]

MOST_DRAWS = 1000
"""Draws of a turn at most where the gate itself sets no limit: guards against a pass probability near 0."""
BOOTSTRAP_DRAWS = 2000


class RetryPrompt(StrEnum):
    """What a further draw is made from."""

    SAME = "same"
    APPENDED = "error"
    """The rejected draw and its error are appended to the prompt."""


class GiveUp(StrEnum):
    """What becomes of a turn of which no draw passed."""

    LAST = "last"
    """The last draw is taken all the same."""
    FAIL = "fail"
    """The turn counts as not accepted; the session goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateConfig:
    """A gate. Raises ValueError, with name, value and range, for values out of range."""

    pass_call: float = 1.0
    """Probability that a draw passes, of turns that call tools."""
    pass_answer: float = 1.0
    """The same of other turns."""
    max_draws: int | None = None
    """None: drawn until one passes (geometric)."""
    parallel_draws: int | None = None
    """Draws sent at once, the best kept (best-of-n); None: one after the other."""
    prompt: RetryPrompt = RetryPrompt.SAME
    error_tokens: int = 0
    """Length of the error that is appended with each rejected draw."""
    give_up: GiveUp = GiveUp.LAST
    gate_s: float = 0.0
    """Seconds that a verdict takes."""
    gate_gpu_s: float = 0.0
    """GPU seconds that a verdict costs."""

    def __post_init__(self) -> None:
        for name in ("pass_call", "pass_answer"):
            if not 0 < getattr(self, name) <= 1:
                raise ValueError(f"--gate {name} is {getattr(self, name)}; it must be above 0 and at most 1")
        for name in ("max_draws", "parallel_draws"):
            value = getattr(self, name)
            if value is not None and not 1 <= value <= MOST_DRAWS:
                raise ValueError(f"--gate {name} is {value}; it must be within 1 and {MOST_DRAWS}")
        if min(self.error_tokens, self.gate_s, self.gate_gpu_s) < 0:
            raise ValueError("--gate: error tokens and costs of the gate must not be negative")
        if self.parallel_draws is not None and (self.prompt is RetryPrompt.APPENDED or self.max_draws is not None):
            raise ValueError("--gate: draws sent at once have one prompt and one round; leave prompt and max_draws out")


def gated(workload: Workload, config: GateConfig, seed: int) -> Workload:
    """*workload* with the draws that *config* makes of each turn's accepted output.

    Each draw repeats that output; recorded rejected attempts are left out. Pass or fail of each draw is keyed by its
    turn and number, so it stays when the gate's other settings change.
    """
    passing = np.where(workload.turn_has_tools, config.pass_call, config.pass_answer)
    draws, accepted, given_up = _draws(workload, config, passing, seed)
    result = repeated(workload, draws)
    rejected = np.ones(result.n_attempts, dtype=np.bool_)
    kept = np.flatnonzero(~given_up) if config.give_up is GiveUp.FAIL else np.arange(workload.n_turns)
    rejected[result.turn_attempts[kept] + accepted[kept]] = False
    extra = np.zeros(result.n_attempts, dtype=np.int64)
    if config.prompt is RetryPrompt.APPENDED:
        number = np.arange(result.n_attempts) - result.turn_attempts[result.attempt_turn]
        extra = number * (result.output_tokens + config.error_tokens)
    plan = DrawPlan(
        extra_prompt_tokens=extra,
        given_up=given_up,
        parallel=config.parallel_draws is not None,
        gate_s=config.gate_s,
    )
    return replace(result, attempt_rejected=rejected, draws=plan)


def _draws(workload: Workload, config: GateConfig, passing: F64, seed: int) -> tuple[I64, I64, Bool]:
    """Per turn: draws, the number of the one that counts, and whether none passed."""
    limit = config.parallel_draws or config.max_draws or MOST_DRAWS
    keys = np.array([rng.key(seed, *names, "gate") for names in turn_names(workload)], dtype=np.uint64)
    first = np.full(workload.n_turns, limit, dtype=np.int64)
    for number in range(limit):
        open_turns = np.flatnonzero(first == limit)
        if not open_turns.size:
            break
        unit = rng.uniform(keys[open_turns], np.array([number], dtype=np.uint64))
        first[open_turns[unit < passing[open_turns]]] = number
    given_up = first == limit
    accepted = np.where(given_up, limit - 1, first)
    if config.parallel_draws is not None:
        return np.full(workload.n_turns, config.parallel_draws, dtype=np.int64), accepted, given_up
    return accepted + 1, accepted, given_up


def measured_nu(workload: Workload, done: Bool, seed: int) -> tuple[float, float, float]:
    """Draws per accepted turn of attempts *done*, with its 95 % bootstrap interval over sessions.

    Infinite where no turn was accepted.
    """
    owner = workload.turn_session[workload.attempt_turn]
    draws = np.bincount(owner, done, workload.n_sessions)
    accepted = np.bincount(owner, done & ~workload.attempt_rejected, workload.n_sessions)
    count = workload.n_sessions
    weights = rng.generator(seed, "bootstrap", "nu").multinomial(count, np.full(count, 1 / count), BOOTSTRAP_DRAWS)
    with np.errstate(divide="ignore", invalid="ignore"):
        drawn = (weights @ draws) / (weights @ accepted)
        value = float(draws.sum() / accepted.sum())
    low, high = np.percentile(np.where(np.isnan(drawn), np.inf, drawn), [2.5, 97.5], method="nearest")
    return value, float(low), float(high)


def parse_gate(text: str) -> GateConfig:
    """Read ``call=0.9,answer=0.95,draws=3,best-of=4,prompt=error,error-tokens=40,give-up=fail,ms=50,gpu-ms=5``.

    Raises ValueError for unknown names and values out of range.
    """
    values: dict[str, object] = {}
    for part in text.split(","):
        name, sign, value = part.partition("=")
        try:
            values |= _setting(name.strip(), value.strip())
        except (ValueError, KeyError):
            raise ValueError(
                f"--gate {text!r}: {part.strip()!r} is no setting; use call, answer, draws, best-of, prompt "
                "(same, error), error-tokens, give-up (last, fail), ms, gpu-ms"
            ) from None
        if not sign:
            raise ValueError(f"--gate {text!r}: {part.strip()!r} has no value")
    return GateConfig(**values)  # type: ignore[arg-type]


def _setting(name: str, value: str) -> dict[str, object]:
    if name in ("call", "answer"):
        return {f"pass_{name}": float(value)}
    if name in ("ms", "gpu-ms"):
        return {"gate_s" if name == "ms" else "gate_gpu_s": float(value) / 1e3}
    if name == "prompt":
        return {"prompt": RetryPrompt(value)}
    if name == "give-up":
        return {"give_up": GiveUp(value)}
    return {{"draws": "max_draws", "best-of": "parallel_draws", "error-tokens": "error_tokens"}[name]: int(value)}
