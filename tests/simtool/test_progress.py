from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest

from scenarios.options.read import ReadOptions
from scenarios.recordings.recording import open_recording
from simtool.progress import Reporter, progress, reading, replaying
from tests.shared import AGENT_LOOP
from tests.simtool.conftest import Cli
from traces.meter import ByteMeter
from traces.source import SourceFile

_REDRAWN_S = 0.5


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _terminal(monkeypatch: pytest.MonkeyPatch) -> _Terminal:
    monkeypatch.setenv("COLUMNS", "150")
    monkeypatch.setenv("TERM", "xterm")
    shown = _Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    return shown


def _soon(said: Callable[[], bool]) -> bool:
    until = time.monotonic() + 10 * _REDRAWN_S
    while not said() and time.monotonic() < until:
        time.sleep(0.02)
    return said()


def test_bytes_are_shown_while_a_whole_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _terminal(monkeypatch)
    path = tmp_path / "trace.json"
    path.write_bytes(b"x" * 4_000_000)
    with progress("sessions read", enabled=True) as bar:
        assert isinstance(bar, Reporter)
        bar.meter.begin([path])
        with SourceFile(path, "trace.json", meter=bar.meter).open() as stream:
            stream.read(1_000_000)
            assert _soon(lambda: "MB/s" in terminal.getvalue() and "sessions read" in terminal.getvalue())
    assert "0 sessions read" in terminal.getvalue()


def test_the_stage_of_hashing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _terminal(monkeypatch)
    path = tmp_path / "trace.jsonl"
    path.write_bytes(b"{}\n" * 1000)
    opened = SourceFile.open_stored

    def slow(self: SourceFile, meter: object = None) -> object:
        time.sleep(_REDRAWN_S)
        return opened(self, meter)  # type: ignore[arg-type]

    monkeypatch.setattr(SourceFile, "open_stored", slow)
    with progress("sessions read", enabled=True) as bar:
        recording = open_recording([str(path)], ReadOptions(), bar)
    assert "sha256 of the files" in terminal.getvalue()
    assert recording.files[0].meter is None


def test_counts_have_an_end_where_they_are_given_one(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _terminal(monkeypatch)
    with progress("requests replayed", enabled=True) as bar:
        assert isinstance(bar, Reporter)
        bar.of(25, 100)
        assert _soon(lambda: "25 of 100 requests replayed" in terminal.getvalue())


def test_nothing_is_shown_off_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("sessions read", enabled=True) as bar:
        assert bar is None
    with progress("sessions read", enabled=False) as bar:
        assert bar is None
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("law-check", []),
        ("optimize-gamma", ["--max-gamma", "2"]),
        ("whatif-w-s", ["--w-s-from", "0.3", "--w-s-to", "0.5"]),
        ("limits", []),
        ("composition", []),
        ("sessions", []),
        ("spork", []),
    ],
)
def test_reading_and_all_replays_are_told(
    command: str, options: list[str], cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = _Told()
    monkeypatch.setattr("simtool.progress.reading", lambda _: nullcontext(told))
    ran = cli(command, str(AGENT_LOOP), *options)
    assert ran.code == 0, ran.err
    assert told.sessions == list(range(1, len(told.sessions) + 1))
    assert told.ended[-1][0] == told.ended[-1][1]


class _Told:
    """A reporter that remembers."""

    def __init__(self) -> None:
        self.meter = ByteMeter()
        self.sessions: list[int] = []
        self.ended: list[tuple[int, int]] = []

    def __call__(self, count: int, /) -> None:
        self.sessions.append(count)

    def replayed(self, count: int, total: int, /) -> None:
        self.ended.append((count, total))


def test_replays_follow_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _terminal(monkeypatch)
    path = tmp_path / "trace.json"
    path.write_bytes(b"x" * 1000)
    with reading(no_progress=False) as bar:
        assert isinstance(bar, Reporter)
        bar.meter.begin([path])
        bar(7)
        assert _soon(lambda: "7 sessions read" in terminal.getvalue())
        tell = replaying(bar)
        assert tell is not None
        tell(25, 100)
        assert _soon(lambda: "25 of 100 requests replayed" in terminal.getvalue())
    assert replaying(None) is None
