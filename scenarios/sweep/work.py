"""What a worker does: answers one point from a recording that it shares, and packs what is kept of it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from scenarios.ask import Asked, answer, question
from scenarios.options.replay import OptionError
from scenarios.options.settings import settings
from scenarios.recordings.loaded import Loaded
from scenarios.runs.runsummary import usd_per_s
from scenarios.sweep.objectives import figures
from simulator.metrics import latencies, paid_s
from simulator.window import window
from traces.errors import SimtoolError


class Failure(StrEnum):
    """Why a point has no answer."""

    OPTIONS = "options"
    """It cannot be asked: out of range, or the model does not fit. Asking again would say the same."""
    ERROR = "error"
    """Something unforeseen went wrong."""
    DIED = "died"
    """The process that worked on it died, twice."""


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of one run: a point under one seed."""

    figures: dict[str, float | None] = {}
    """See objectives.figure_kinds; empty for a failure."""
    warnings: list[str] = []
    n_sessions: int = 0
    sessions: str = ""
    """Digest of the sessions' names: runs with equal ones can be compared session by session."""
    usd_per_s: float = 0.0
    """Of a GPU second of C_total."""
    failure: Failure | None = None
    error: str | None = None
    attempts_bytes: int = 0
    """Size of the table of attempts beside it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One run to be done."""

    key: str
    """Names what the result depends on."""
    values: Mapping[str, Any]
    """Options by key."""
    reading: str
    """Name of what was loaded for it (see executors.base.Executor.share)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worked:
    """Result of a task."""

    kept: Kept
    attempts: bytes = b""
    """Parquet: what paired differences are computed from."""


def failed(failure: Failure, error: str) -> Worked:
    """The result of a run that has no answer."""
    return Worked(kept=Kept(failure=failure, error=error))


def work(loaded: Loaded, task: Task) -> Worked:
    """Answer *task*; an error becomes its result."""
    try:
        chosen = settings(task.values)
        asked = answer(question(chosen.read, chosen.replay), loaded)
    except (OptionError, SimtoolError, ValueError) as error:
        return failed(Failure.OPTIONS, str(error))
    except Exception as error:  # noqa: BLE001  one point must not end the others
        return failed(Failure.ERROR, f"{type(error).__name__}: {error}")
    attempts = _attempts(asked)
    names = "\x1f".join(asked.workload.session_ids)
    kept = Kept(
        figures=figures(asked.answer, asked.measure),
        warnings=asked.answer.warnings,
        n_sessions=asked.workload.n_sessions,
        sessions=hashlib.sha256(names.encode("utf-8", "surrogatepass")).hexdigest()[:16],
        usd_per_s=usd_per_s(asked.replay, asked.platform),
        attempts_bytes=len(attempts),
    )
    return Worked(kept=kept, attempts=attempts)


def _attempts(asked: Asked) -> bytes:
    """The columns that paired differences need, an attempt a row."""
    replay, workload = asked.replay, asked.workload
    turn = workload.attempt_turn
    times = latencies(replay)
    gpu_s = np.where(replay.done, paid_s(replay, workload), 0.0)
    table = pa.table(
        {
            "session": workload.turn_session[turn].astype(np.int32),
            "accepted": ~workload.attempt_rejected & replay.done,
            "measured": window(replay, workload, asked.measure.cut).attempts & replay.done,
            "ttft_s": times["ttft_s"],
            "tpot_s": times["tpot_s"],
            "e2el_s": times["e2el_s"],
            "gpu_s": gpu_s,
        }
    )
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue())
