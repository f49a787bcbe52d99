"""Outputs without text that take their classes from another recording."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from scenarios.options.read import ReadOptions
from scenarios.recordings.recording import load_workload, open_recording
from scenarios.tags.tagging import tag_recording
from tests.shared import AGENT_LOOP
from tests.tokenclass.sessions import one_turn
from tokenclass.classes import N_SUBCLASSES
from traces.errors import SimtoolError
from traces.model import OpaqueBlock, TextBlock

SAMPLE = str(AGENT_LOOP)


def lengths_only(path: Path, *sizes: int) -> str:
    rows = [f'{{"timestamp": {at}, "input_length": 100, "output_length": {size}}}' for at, size in enumerate(sizes)]
    path.write_text("\n".join(rows))
    return str(path)


def subclass_shares(path: str, options: ReadOptions) -> np.ndarray:
    workload = load_workload(open_recording([path], options), options, block_size=16)
    counts = np.bincount(workload.labels, minlength=N_SUBCLASSES)
    return counts / counts.sum()


def test_a_recording_and_its_table_of_labels_give_the_same_draws(tmp_path: Path) -> None:
    trace = lengths_only(tmp_path / "lengths.jsonl", 40, 300, 7)
    table = tmp_path / "labels.parquet"
    tag_recording([SAMPLE], ReadOptions(), spans=table)
    drawn = []
    for source in (SAMPLE, str(table)):
        options = ReadOptions(mix_from=source, seed=4)
        drawn.append(load_workload(open_recording([trace], options), options, block_size=16).labels.tolist())
    assert drawn[0] == drawn[1]
    assert len(drawn[0]) == 347
    other = ReadOptions(mix_from=SAMPLE, seed=5)
    assert load_workload(open_recording([trace], other), other, block_size=16).labels.tolist() != drawn[0]


def test_long_outputs_have_the_shares_of_the_recording(tmp_path: Path) -> None:
    # The last span of an output is cut: only far longer outputs than spans hold them in their shares.
    trace = lengths_only(tmp_path / "lengths.jsonl", *[40_000] * 60)
    expected = subclass_shares(SAMPLE, ReadOptions())
    found = subclass_shares(trace, ReadOptions(mix_from=SAMPLE))
    assert found == pytest.approx(expected, abs=0.02)


def test_where_the_classes_come_from_is_an_assumption(tmp_path: Path) -> None:
    trace = lengths_only(tmp_path / "lengths.jsonl", 40, 300)
    options = ReadOptions(mix_from=SAMPLE)
    recording = open_recording([trace], options)
    load_workload(recording, options, block_size=16)
    notes = [text for text in recording.notes() if "drawn as in agent_loop.jsonl" in text]
    assert len(notes) == 1
    assert "outputs" in notes[0]
    assert not any("--class-mix" in text for text in recording.notes())


def test_outputs_whose_own_classes_are_not_known_are_no_model(tmp_path: Path) -> None:
    trace = lengths_only(tmp_path / "lengths.jsonl", 40)
    with pytest.raises(SimtoolError, match="no output of it has known classes"):
        tag_recording([trace], ReadOptions(mix_from=trace))
    mixed = tmp_path / "mixed.jsonl"
    sessions = [one_turn(TextBlock(text="Only prose here.")), one_turn(OpaqueBlock(tokens=900))]
    lines = [msgspec.json.encode(msgspec.structs.replace(one, id=str(at))) for at, one in enumerate(sessions)]
    mixed.write_bytes(b"\n".join([b'{"simtool_trace":1}', *lines]))
    shares = subclass_shares(trace, ReadOptions(mix_from=str(mixed)))
    assert shares[-1] == 1.0


def test_a_class_mix_beside_it_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SimtoolError, match="give one"):
        tag_recording([SAMPLE], ReadOptions(mix_from=SAMPLE, class_mix="F=1"))
    with pytest.raises(SimtoolError):
        tag_recording([SAMPLE], ReadOptions(mix_from=str(tmp_path / "missing.jsonl")))
