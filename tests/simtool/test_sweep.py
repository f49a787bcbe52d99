"""``simtool sweep``: what it prints, what a kill and Ctrl-C leave, and what it says of input that cannot be."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.scenarios.sweep.recordings import short_recording
from tests.simtool.run import Ran, simtool

Run = Callable[..., Ran]
KILLED = ("--axis", "gamma=0..9", "--axis", "max_concurrency=1,4", "--jobs", "2")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return lambda *args: simtool(capsys, monkeypatch, "sweep", *map(str, args))


@pytest.fixture
def short(tmp_path: Path) -> Path:
    return short_recording(tmp_path)


def _started(*args: object) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "simtool", "sweep", *map(str, args)]
    return subprocess.Popen(  # noqa: S603  our own command
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )


def _wait_for(points: Path, count: int) -> None:
    end = time.monotonic() + 120
    while len(list(points.glob("*.json"))) < count:
        assert time.monotonic() < end, "no point was finished"
        time.sleep(0.01)


def _members(group: int) -> list[int]:
    """Living processes of a group."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            state, _, own = (path / "stat").read_text().rsplit(")", 1)[1].split()[:3]
        except OSError:
            continue
        if int(own) == group and state != "Z":
            found.append(int(path.name))
    return found


def test_the_terminal_shows_points_front_differences_and_what_matters(run: Run, short: Path, tmp_path: Path) -> None:
    ran = run(short, "--axis", "gamma=0,4", "--axis", "max_concurrency=1,4", "-o", tmp_path / "s")
    assert ran.code == 0, ran.err
    assert ran.out.startswith("Best: gamma 4, max_concurrency 4: ")
    assert "Front of USD/1k tasks against p99 E2EL ms: " in ran.out
    assert "*+ 3 gamma 4, max_concurrency 4" in ran.out
    assert "Less point 0, on the same sessions and random numbers" in ran.out
    assert "What matters most for USD/1k tasks" in ran.out
    assert ran.err == ""


def test_json_stands_alone_on_standard_output(run: Run, short: Path, tmp_path: Path) -> None:
    args = (short, "--axis", "gamma=0,4", "--objective", "saving", "-o", tmp_path / "s", "--json", "-")
    ran = run(*args)
    found = json.loads(ran.out)
    assert found == json.loads((tmp_path / "s" / "summary.json").read_bytes())
    assert found["complete"] is True
    assert found["definition"]["axes"] == {"gamma": [0, 4]}
    assert run(*args).out == ran.out


def test_a_narrow_window_folds_tables(run: Run, short: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "44")
    ran = run(short, "--axis", "gamma=0,4", "-o", tmp_path / "s")
    assert max(map(len, ran.out.splitlines())) <= 44
    assert ran.out.count("1 gamma 4") >= 4


def test_a_scenario_gives_recording_axes_and_base(run: Run, short: Path, tmp_path: Path) -> None:
    scenario = tmp_path / "mine.toml"
    scenario.write_text(
        f'[trace]\nfiles = "{short.name}"\n[workload]\nmax_concurrency = 2\n'
        '[sweep]\nobjectives = ["ttft"]\n[sweep.axes]\ngamma = [0, 4]\nkv_offload_gb = {from = 0, to = 4, step = 4}\n'
    )
    ran = run("--config", scenario, "--axis", "gamma=2", "-o", tmp_path / "s", "--json", "-")
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    assert [point["values"] for point in found["points"]] == [
        {"gamma": 2, "kv_offload_gb": 0.0},
        {"gamma": 2, "kv_offload_gb": 4.0},
    ]
    assert found["definition"]["base"] == {"max_concurrency": 2}
    assert [one["key"] for one in found["objectives"]] == ["p99_ttft_ms"]


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (("--axis", "gamm=1"), 2, "did you mean 'gamma'"),
        (("--axis", "gamma=0,x"), 2, "no draft depth"),
        ((), 2, "nothing varies"),
        (("--axis", "gamma=0", "--method", "gird"), 2, "one of grid, list"),
        (("--axis", "gamma=0", "--seeds", "0,a"), 2, "whole numbers"),
        (("--axis", "gamma=0", "--executor", "loca"), 2, "did you mean 'local'"),
        (("--axis", "gpu=Foo"), 3, "no point could be answered"),
    ],
)
def test_errors_say_what_would_do(
    run: Run, short: Path, tmp_path: Path, args: tuple[str, ...], code: int, says: str
) -> None:
    ran = run(short, *args, "-o", tmp_path / "s")
    assert (ran.code, ran.out) == (code, "")
    assert says in " ".join(ran.err.replace("│", " ").split())


def test_the_folder_of_another_sweep_needs_force(run: Run, short: Path, tmp_path: Path) -> None:
    assert run(short, "--axis", "gamma=0", "-o", tmp_path / "s").code == 0
    ran = run(short, "--axis", "gamma=4", "-o", tmp_path / "s")
    assert ran.code == 2
    assert "--force" in ran.err
    assert run(short, "--axis", "gamma=4", "-o", tmp_path / "s", "--force").code == 0


def test_standard_input_is_refused(run: Run, tmp_path: Path) -> None:
    ran = run("-", "--axis", "gamma=0", "-o", tmp_path / "s")
    assert ran.code == 2
    assert "give a file" in " ".join(ran.err.split())


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("whole") / "s"
    process = _started(short_recording(folder.parent), *KILLED, "-o", folder)
    _, err = process.communicate()
    assert process.returncode == 0, err
    return (folder / "results.parquet").read_bytes()


def _resumed(folder: Path, finished: int, uninterrupted: bytes) -> None:
    """Go on in *folder*: what was finished is not done again, and the results are those without interruption."""
    kept = {path: path.stat().st_mtime_ns for path in (folder / "points").glob("*.json")}
    assert len(kept) >= finished
    process = _started(short_recording(folder.parent), *KILLED, "-o", folder)
    _, err = process.communicate()
    assert process.returncode == 0, err
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert (folder / "results.parquet").read_bytes() == uninterrupted
    assert json.loads((folder / "summary.json").read_bytes())["complete"] is True
    assert not list(folder.rglob(".*"))


def test_a_killed_sweep_goes_on(short: Path, tmp_path: Path, uninterrupted: bytes) -> None:
    process = _started(short, *KILLED, "-o", tmp_path / "s")
    _wait_for(tmp_path / "s" / "points", 5)
    process.kill()
    process.communicate()
    assert not (tmp_path / "s" / "summary.json").exists()
    assert not (tmp_path / "s" / "results.parquet").exists()
    end = time.monotonic() + 60
    while _members(process.pid):
        assert time.monotonic() < end, "workers outlive the one that asked them"
        time.sleep(0.05)
    assert len(list((tmp_path / "s" / "points").glob("*.json"))) < 20
    _resumed(tmp_path / "s", 5, uninterrupted)


def test_control_c_leaves_the_results_of_what_is_finished(short: Path, tmp_path: Path, uninterrupted: bytes) -> None:
    folder = tmp_path / "s"
    process = _started(short, *KILLED, "-o", folder)
    _wait_for(folder / "points", 4)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130
    summary: dict[str, Any] = json.loads((folder / "summary.json").read_bytes())
    finished = len(list((folder / "points").glob("*.json")))
    assert summary["complete"] is False
    assert summary["runs"]["finished"] == finished == pq.read_table(folder / "results.parquet").num_rows < 20
    assert "interrupted" in summary["warnings"][0]
    assert f"interrupted; {finished} of 20 points are kept" in err.decode()
    assert f"Interrupted: {finished} of 20" in out.decode()
    assert "Traceback" not in err.decode()
    _resumed(folder, finished, uninterrupted)
