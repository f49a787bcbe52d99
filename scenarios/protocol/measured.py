"""Figures of measured runs from what servers and recordings report."""

from __future__ import annotations

from collections import Counter
from math import sqrt
from pathlib import Path

import msgspec

from scenarios.protocol.results import Figures, Files, Results, Run
from scenarios.server.benchjson import read_bench
from scenarios.server.promtext import read_metrics
from scenarios.server.run import ServerRun
from scenarios.server.vllmlog import read_log
from traces.errors import TraceError
from traces.readlog import ReadLog
from traces.registry import read_sessions


class _Spread(msgspec.Struct):
    completed: int
    std_tpot_ms: float | None = None


def resolved(results: Results, folder: Path) -> Results:
    """*results* with the figures of all runs that name files, read from *folder*.

    Raises TraceError for files that cannot be used.
    """
    runs = [
        run if run.files is None else msgspec.structs.replace(run, figures=_figures(run, run.files, folder), files=None)
        for run in results.runs
    ]
    return msgspec.structs.replace(results, runs=runs)


def _figures(run: Run, files: Files, folder: Path) -> Figures:
    ours = _server_run(run, files, folder)
    plain = _plain(files, folder)
    if ours.num_drafts and ours.gamma != run.gamma:
        raise TraceError(
            ours.source, None, f"drafts {ours.gamma} tokens a round, arm {run.arm} declares {run.gamma}", "correct it"
        )
    return Figures(
        num_drafts=ours.num_drafts,
        accepted_per_pos=ours.accepted_per_pos,
        tpot_s=ours.tpot_s,
        tpot_error_s=_error_s(folder / files.bench) if files.bench else None,
        plain_tpot_s=plain.tpot_s if plain is not None else None,
        plain_tpot_error_s=_error_s(folder / files.plain_bench) if files.plain_bench else None,
    )


def _server_run(run: Run, files: Files, folder: Path) -> ServerRun:
    if files.recording is not None:
        return _recorded(folder / files.recording, run.gamma)
    if files.bench is not None:
        return read_bench(folder / files.bench)
    if files.metrics is not None:
        return read_metrics(folder / files.metrics, folder / files.metrics_before if files.metrics_before else None)
    if files.log is not None:
        return read_log(folder / files.log)
    raise TraceError(
        str(folder), None, f"arm {run.arm} names no file of its run", "give bench, metrics, log, recording"
    )


def _plain(files: Files, folder: Path) -> ServerRun | None:
    if files.plain_bench is not None:
        return read_bench(folder / files.plain_bench)
    if files.plain_metrics is not None:
        before = folder / files.plain_metrics_before if files.plain_metrics_before else None
        return read_metrics(folder / files.plain_metrics, before)
    return None


def _recorded(path: Path, gamma: int) -> ServerRun:
    """Rounds that a canonical trace records."""
    counts: Counter[int] = Counter()
    for session in read_sessions([str(path)], ReadLog()):
        for turn in session.turns:
            for attempt in turn.attempts:
                counts.update(attempt.accepted_per_round or ())
    if not counts:
        raise TraceError(str(path), None, "records no speculative rounds", "record accepted_per_round")
    if max(counts) > gamma:
        raise TraceError(str(path), None, f"a round accepts {max(counts)} drafts at gamma {gamma}", "correct gamma")
    per_pos = tuple(float(sum(n for k, n in counts.items() if k >= at)) for at in range(1, gamma + 1))
    rounds = float(counts.total())
    return ServerRun(
        source=str(path),
        num_drafts=rounds,
        num_draft_tokens=rounds * gamma,
        num_accepted_tokens=sum(per_pos),
        accepted_per_pos=per_pos,
    )


def _error_s(path: Path) -> float | None:
    spread = msgspec.json.decode(path.read_bytes(), type=_Spread)
    if spread.std_tpot_ms is None or spread.completed < 2:
        return None
    return spread.std_tpot_ms / 1000 / sqrt(spread.completed)
