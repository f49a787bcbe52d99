"""Every readable source through the canonical forms: the same sessions, and the same workload, come back."""

from __future__ import annotations

import dataclasses
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from scenarios.options.read import ReadOptions
from scenarios.recordings.outputformat import detected_format
from scenarios.recordings.recording import session_tagger
from simulator.prefix import BlockPaths
from simulator.workload import Workload
from simulator.workloadbuilder import WorkloadBuilder
from tests.shared import TRACES
from traces.errors import TraceError
from traces.model import OpaqueBlock, RawBlock, Session
from traces.readlog import ReadLog
from traces.registry import read_sessions
from traces.store import write_trace

SESSIONS = 30
"""Sessions of a source that are looked at."""

NO_OUTPUT = {"bfcl", "inferencex-bench"}
"""Sources that hold questions or benchmark figures, and no output of a model."""

SOURCES = sorted(path.name for path in TRACES.iterdir() if path.is_dir()) if TRACES.is_dir() else []


def workload(sessions: list[Session]) -> Workload:
    """What a replay of *sessions* is about; completions given as ids alone, in a vocabulary not at hand, left out."""
    known = [session for session in sessions if not any(map(_ids_alone, session.turns))]
    family, _, _ = detected_format(iter(known))
    tagger = session_tagger(ReadOptions(output_format=family))
    builder = WorkloadBuilder(16)
    for session in known:
        builder.add(tagger.tag(session))
    return builder.build()


def _ids_alone(turn: object) -> bool:
    blocks = turn.final.output  # type: ignore[attr-defined]
    return any(isinstance(block, RawBlock) and block.token_ids and not block.text for block in blocks)


def assert_equal(first: object, second: object, place: str = "workload") -> None:
    """Compare columns of columns; arrays with NaN equal to NaN."""
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        assert first.dtype == second.dtype, place
        assert np.array_equal(first, second, equal_nan=first.dtype.kind == "f"), place
    elif isinstance(first, BlockPaths) and isinstance(second, BlockPaths):
        assert [path.tolist() for path in first.paths] == [path.tolist() for path in second.paths], place
    elif dataclasses.is_dataclass(first):
        assert type(first) is type(second), place
        for field in dataclasses.fields(first):
            assert_equal(getattr(first, field.name), getattr(second, field.name), f"{place}.{field.name}")
    else:
        assert first == second, place


@pytest.mark.parametrize("source", SOURCES)
def test_sessions_and_workload_survive_both_forms(source: str, tmp_path: Path) -> None:
    log = ReadLog(skip_invalid=True)
    if source in NO_OUTPUT:
        with pytest.raises(TraceError, match="no usable session"):
            next(read_sessions([str(TRACES / source)], log))
        return
    sessions = list(islice(read_sessions([str(TRACES / source)], log), SESSIONS))
    expected = workload(sessions)
    assert expected.labels.size == sum(expected.output_tokens)
    for suffix in ("jsonl", "parquet"):
        target = tmp_path / f"trace.{suffix}"
        assert write_trace(sessions, target, log, source_format=source) == len(sessions)
        again = ReadLog()
        found = list(read_sessions([str(target)], again))
        assert found == sessions
        assert (again.omitted, again.duplicates, again.assumptions) == (log.omitted, log.duplicates, log.assumptions)
        assert_equal(workload(found), expected)


def test_sources_hold_text_and_lengths() -> None:
    """The sources are not all of one kind: else the test above would say little."""
    kinds = set()
    for source in ("mooncake", "tau-bench", "harmony"):
        session = next(iter(read_sessions([str(TRACES / source)], ReadLog(skip_invalid=True))))
        kinds |= {type(block) for turn in session.turns for block in turn.final.output}
    assert {OpaqueBlock, RawBlock} < kinds
