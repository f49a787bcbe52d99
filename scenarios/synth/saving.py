"""What speculation saves on generated traffic as its schema share moves, and the share at which it breaks even."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from scenarios.acceptance.choice import is_measured
from scenarios.ask import answer, question
from scenarios.law.schemacurve import SchemaCurve, schema_curve
from scenarios.options.read import ReadOptions
from scenarios.options.replay import OptionError, ReplayOptions
from scenarios.recordings.loaded import load
from traces.model import Session
from traces.readlog import ReadLog
from traces.store import write_trace

CURVE_SESSIONS = 200
"""Generated sessions that the curve is taken from."""


def checked_options(options: ReplayOptions) -> ReplayOptions:
    """*options* if a curve can be drawn under them. Raises OptionError."""
    platform = question(ReadOptions(), options).platform
    if not platform.engine.num_speculative_tokens:
        raise OptionError("--target-w-s shows what speculation saves; --gamma 0 leaves nothing to show")
    if is_measured(platform.engine, options.acceptance):
        raise OptionError(
            f"--speculative-method {options.platform.speculative_method}: the text is invented, so nothing can be "
            "measured on it; declare acceptance (--eps, --acceptance-length, --profile)"
        )
    return options


def saving_curve(sessions: Iterable[Session], read: ReadOptions, options: ReplayOptions) -> SchemaCurve:
    """The curve on the first CURVE_SESSIONS of *sessions*, replayed under *options*, which must be checked."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "traffic.jsonl"
        write_trace(islice(sessions, CURVE_SESSIONS), path, ReadLog(), "simtool synth", [])
        asked = question(read, options)
        found = answer(asked, load([str(path)], asked.reading))
    assert found.baseline is not None
    return schema_curve(found.workload, found.replay, found.baseline, found.platform, found.choice)
