from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from tests.shared import AGENT_LOOP
from traces.errors import TraceError
from traces.readlog import ReadLog
from traces.registry import read_sessions
from traces.zstd_frames import is_whole

END = "end of a compressed file that cannot be decompressed"


def _mooncake(rows: int) -> bytes:
    lines = [{"timestamp": n, "input_length": 7 * n + 1, "output_length": n % 90 + 1} for n in range(rows)]
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def _zstd(data: bytes) -> bytes:
    """Frames with blocks of a few lines each, as a writer that flushes makes them."""
    packer = zstandard.ZstdCompressor(write_checksum=True).compressobj()
    parts = []
    for start in range(0, len(data), 4000):
        parts += [packer.compress(data[start : start + 4000]), packer.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)]
    return b"".join([*parts, packer.flush()])


PACKERS: dict[str, Callable[[bytes], bytes]] = {".gz": lambda data: gzip.compress(data, mtime=0), ".zst": _zstd}


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("share", [0.5, 0.9, 0.999])
def test_the_rows_before_the_cut_are_kept_when_asked_for(tmp_path: Path, suffix: str, share: float) -> None:
    packed = PACKERS[suffix](_mooncake(20_000))
    path = tmp_path / f"trace.jsonl{suffix}"
    path.write_bytes(packed)
    whole = list(read_sessions([str(path)], ReadLog(skip_invalid=True)))
    assert len(whole) == 20_000
    path.write_bytes(packed[: int(len(packed) * share)])
    with pytest.raises(TraceError, match="cannot decompress"):
        list(read_sessions([str(path)], ReadLog()))
    log = ReadLog(skip_invalid=True)
    found = list(read_sessions([str(path)], log))
    assert found == whole[: len(found)]
    assert len(found) > (share - 0.1) * len(whole)
    assert log.omitted.pop(END) == 1
    assert sum(log.omitted.values()) <= 1


def test_a_whole_file_leaves_nothing_out(tmp_path: Path) -> None:
    for suffix, pack in PACKERS.items():
        path = tmp_path / f"trace.jsonl{suffix}"
        path.write_bytes(pack(AGENT_LOOP.read_bytes()))
        log = ReadLog(skip_invalid=True)
        assert len(list(read_sessions([str(path)], log))) == 11
        assert END not in log.omitted


def test_frames_are_whole_where_they_end_alone() -> None:
    data = _mooncake(300)
    skippable = b"\x5a\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"hello"
    frames = [_zstd(data), skippable, zstandard.compress(b"\0" * 500_000), zstandard.compress(b"")]
    ends = {0}
    for frame in frames:
        ends.add(max(ends) + len(frame))
    stored = b"".join(frames)
    for end in range(len(stored) + 1):
        assert is_whole(io.BytesIO(stored[:end])) == (end in ends)
