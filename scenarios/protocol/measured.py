"""Figures of measured runs from what servers and recordings report."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import sqrt
from pathlib import Path

import msgspec

from scenarios.protocol.results import Figures, Files, Results, Run
from scenarios.server.benchjson import read_bench
from scenarios.server.perrequest import read_requests
from scenarios.server.promtext import read_metrics
from scenarios.server.run import ServerRun
from scenarios.server.vllmlog import read_log
from traces.errors import TraceError
from traces.readlog import ReadLog
from traces.registry import read_sessions

Sessions = list[tuple[float, float]]
"""Rounds and accepted drafts of each."""


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
    ours, by_session = _server_run(run, files, folder)
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
        rounds_by_session=tuple(rounds for rounds, _ in by_session),
        accepted_by_session=tuple(accepted for _, accepted in by_session),
    )


def _server_run(run: Run, files: Files, folder: Path) -> tuple[ServerRun, Sessions]:
    """The run's counts and times; rounds and accepted drafts of each session or request, where they are known."""
    times = read_bench(folder / files.bench) if files.bench is not None else None
    if files.recording is not None:
        found, by_session = _recorded(folder / files.recording, run.gamma)
    elif files.requests is not None:
        found = read_requests(folder / files.requests)
        by_session = [(one.num_drafts, one.num_accepted_tokens) for one in found.requests]
    else:
        return times or _pooled(run, files, folder), []
    return (found if times is None else replace(found, tpot_s=times.tpot_s)), by_session


def _pooled(run: Run, files: Files, folder: Path) -> ServerRun:
    if files.metrics is not None:
        return read_metrics(folder / files.metrics, folder / files.metrics_before if files.metrics_before else None)
    if files.log is not None:
        return read_log(folder / files.log)
    mend = "give bench, metrics, log, requests or recording"
    raise TraceError(str(folder), None, f"arm {run.arm} names no file of its run", mend)


def _plain(files: Files, folder: Path) -> ServerRun | None:
    if files.plain_bench is not None:
        return read_bench(folder / files.plain_bench)
    if files.plain_metrics is not None:
        before = folder / files.plain_metrics_before if files.plain_metrics_before else None
        return read_metrics(folder / files.plain_metrics, before)
    return None


def _recorded(path: Path, gamma: int) -> tuple[ServerRun, Sessions]:
    """Rounds that a canonical trace records, in all and by session."""
    counts: Counter[int] = Counter()
    by_session = []
    for session in read_sessions([str(path)], ReadLog()):
        own = [
            accepted
            for turn in session.turns
            for attempt in turn.attempts
            for accepted in attempt.accepted_per_round or ()
        ]
        counts.update(own)
        if own:
            by_session.append((float(len(own)), float(sum(own))))
    if not counts:
        raise TraceError(str(path), None, "records no speculative rounds", "record accepted_per_round")
    if max(counts) > gamma:
        raise TraceError(str(path), None, f"a round accepts {max(counts)} drafts at gamma {gamma}", "correct gamma")
    per_pos = tuple(float(sum(n for k, n in counts.items() if k >= at)) for at in range(1, gamma + 1))
    rounds = float(counts.total())
    run = ServerRun(
        source=str(path),
        num_drafts=rounds,
        num_draft_tokens=rounds * gamma,
        num_accepted_tokens=sum(per_pos),
        accepted_per_pos=per_pos,
    )
    return run, by_session


def _error_s(path: Path) -> float | None:
    spread = msgspec.json.decode(path.read_bytes(), type=_Spread)
    if spread.std_tpot_ms is None or spread.completed < 2:
        return None
    return spread.std_tpot_ms / 1000 / sqrt(spread.completed)
