"""The inputs of a calibration: server outputs and recordings, told apart by content."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from scenarios.options.replay import OptionError
from scenarios.server.benchjson import read_bench
from scenarios.server.detect import Kind, kind_of
from scenarios.server.perrequest import read_requests
from scenarios.server.promtext import read_metrics
from scenarios.server.run import Drafting, ServerRun
from scenarios.server.vllmlog import read_log


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What the inputs of a calibration came to."""

    runs: tuple[ServerRun, ...]
    traces: tuple[str, ...]


def read_inputs(
    paths: Sequence[str],
    earlier: str | None = None,
    *,
    draft_free: Sequence[str] = (),
    draft_alone: Sequence[str] = (),
) -> Inputs:
    """The server runs in the files at *paths*, and the files that are recordings.

    *earlier* is a metrics dump that the one among *paths* is counted from. Runs of a drafter without passes are in
    *draft_free*, those of the draft model served by itself in *draft_alone*. Raises TraceError for files that cannot
    be used, OptionError for metrics dumps whose order is not said and for runs without what their option needs.
    """
    kinds = [(path, kind_of(Path(path))) for path in paths]
    dumps = [path for path, kind in kinds if kind is Kind.METRICS]
    if len(dumps) > 1:
        raise OptionError(f"{len(dumps)} metrics dumps, {', '.join(dumps)}: give one, and that before with --earlier")
    if earlier is not None and not dumps:
        raise OptionError(f"--earlier {earlier}: there is no metrics dump among the inputs that it could come before")
    runs = [_run(path, kind, earlier) for path, kind in kinds if kind is not Kind.TRACE]
    for option, given, drafting in (
        ("--draft-free", draft_free, Drafting.FREE),
        ("--draft-alone", draft_alone, Drafting.ALONE),
    ):
        for path in given:
            run = _run(path, kind_of(Path(path)), None)
            if run.tpot_s is None or bool(run.gamma) is not (drafting is Drafting.FREE):
                wanted = "with speculation" if drafting is Drafting.FREE else "without speculation"
                raise OptionError(f"{option} {path}: needs a run {wanted} and its time per output token")
            runs.append(replace(run, drafting=drafting))
    return Inputs(runs=tuple(runs), traces=tuple(path for path, kind in kinds if kind is Kind.TRACE))


def _run(path: str, kind: Kind, earlier: str | None) -> ServerRun:
    if kind is Kind.METRICS:
        return read_metrics(Path(path), Path(earlier) if earlier is not None else None)
    readers = {Kind.LOG: read_log, Kind.BENCH: read_bench, Kind.REQUESTS: read_requests}
    if kind not in readers:
        raise OptionError(f"{path}: not what a server reports; give a /metrics page or a result of vllm bench serve")
    return readers[kind](Path(path))
