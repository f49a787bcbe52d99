"""Folders that hold recordings of several formats among other things."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.traces.hostile_samples import SAMPLES
from traces.errors import TraceError
from traces.readlog import ReadLog
from traces.registry import read_sessions


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    for name in ("kimi-cli", "azure", "tau-bench", "mooncake"):
        (tmp_path / name).write_bytes(SAMPLES[name])
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "codex.gz").write_bytes(gzip.compress(SAMPLES["codex"]))
    (tmp_path / "notes.md").write_text("# what these are\n")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    (tmp_path / "empty.json").write_bytes(b"")
    (tmp_path / "blank.json").write_bytes(b"\xef\xbb\xbf\n")
    return tmp_path


def test_each_file_goes_to_its_reader_and_the_rest_is_counted(mixed: Path) -> None:
    log = ReadLog()
    assert len(list(read_sessions([str(mixed)], log))) >= 5
    assert set(log.formats) == {"kimi-cli", "azure", "tau-bench", "mooncake", "codex"}
    assert log.omitted["file of no known format"] == 3


def test_a_file_that_cannot_be_read_is_an_error_or_counted(mixed: Path) -> None:
    (mixed / "broken.gz").write_bytes(gzip.compress(SAMPLES["codex"])[:30])
    with pytest.raises(TraceError, match=r"broken\.gz: cannot decompress.*--skip-invalid"):
        list(read_sessions([str(mixed)], ReadLog()))
    log = ReadLog(skip_invalid=True)
    assert list(read_sessions([str(mixed)], log))
    assert log.omitted["end of a compressed file that cannot be decompressed"] == 1


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"type": "result", "subtype": "success", "num_turns": 3, "result": "ok", "session_id": "s"}, "stream-json"),
        ({"type": "thread.started", "thread_id": "t"}, "rollout"),
        ({"agentType": "Explore", "description": "looks around"}, "sub-agent description"),
        ({"version": 1, "entries": [], "originalPath": "/home/me"}, "index of sessions"),
    ],
)
def test_companions_say_where_the_calls_are(row: dict[str, object], said: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(row) + "\n")
    with pytest.raises(TraceError, match=said):
        list(read_sessions([str(path)], ReadLog()))
