from __future__ import annotations

import dataclasses
import gzip
from pathlib import Path

import pytest

from traces.meter import ByteMeter
from traces.source import SourceFile

DATA = b"".join(b"line %d of a file\n" % number for number in range(200_000))


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_counts_up_to_where_it_was_read(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_bytes(gzip.compress(DATA, mtime=0) if packed else DATA)
    size = path.stat().st_size
    meter = ByteMeter()
    meter.begin([path, tmp_path / "missing"])
    assert meter.total_bytes == size
    file = dataclasses.replace(SourceFile(path, "trace.jsonl"), meter=meter)
    assert file == SourceFile(path, "trace.jsonl")
    file.head()
    after_head = meter.read_bytes
    assert 0 < after_head < size
    seen = []
    for number, _ in file.lines():
        if number % 50_000 == 0:
            seen.append(meter.read_bytes)
    assert seen == sorted(seen)
    assert after_head <= seen[0] < seen[-1] <= size
    assert meter.read_bytes == size
    file.head()
    assert meter.read_bytes == size
    assert file.read() == DATA


def test_files_add_up(tmp_path: Path) -> None:
    meter = ByteMeter()
    for name in ("a", "b"):
        path = tmp_path / name
        path.write_bytes(b"x" * 1000)
        dataclasses.replace(SourceFile(path, name), meter=meter).read()
    assert meter.read_bytes == 2000


def test_a_new_beginning_counts_from_nothing(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    path.write_bytes(b"x" * 1000)
    meter = ByteMeter()
    meter.begin([path], "sum")
    dataclasses.replace(SourceFile(path, "trace"), meter=meter).read()
    assert (meter.stage, meter.read_bytes) == ("sum", 1000)
    meter.begin([path])
    assert (meter.stage, meter.total_bytes, meter.read_bytes) == ("", 1000, 0)
