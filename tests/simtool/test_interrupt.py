"""Ctrl-C on a replay: exit code 130, no file of its results, and those of an earlier run as they were."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.scenarios.sweep.recordings import short_recording

_SCRIPT = """
import os, signal, {module}
plain = {module}.{function}
def interrupted(*args, **kwargs):
    plain(*args, **kwargs)
    os.kill(os.getpid(), signal.SIGINT)
{module}.{function} = interrupted
from simtool.main import main
main()
"""
"""Interrupts itself where the function has done its work for the first time."""

_PLACES = [
    ("scenarios.recordings.loaded", "load"),
    ("scenarios.decide", "replay_once"),
    ("scenarios.runs.outputs", "write_run_table"),
]


@pytest.mark.parametrize(("module", "function"), _PLACES)
def test_an_interrupted_replay_leaves_the_folder_as_it_was(module: str, function: str, tmp_path: Path) -> None:
    recording, old = short_recording(tmp_path), tmp_path / "old"
    old.mkdir()
    (old / "summary.json").write_text("{}")
    script = _SCRIPT.format(module=module, function=function)
    for folder, more in ((tmp_path / "new", []), (old, ["--force"])):
        command = [sys.executable, "-c", script, "replay", str(recording), "-o", str(folder), *more]
        ran = subprocess.run(command, capture_output=True, check=False)  # noqa: S603  our own command
        assert ran.returncode == 130, ran.stderr
        assert b"Traceback" not in ran.stderr
        assert ran.stdout == b""
        assert ran.stderr.decode().splitlines() == ["simtool: interrupted"]
    assert not (tmp_path / "new").exists()
    assert [(path.name, path.read_text()) for path in old.iterdir()] == [("summary.json", "{}")]


_COMMANDS = [
    ("scenarios.tags.tagging.open_recording", ("tag",)),
    ("scenarios.plan.run.load", ("plan", "--sessions-per-s", "1", "--target", "ttft:p99:100", "--gpus", "H200")),
    ("scenarios.recordings.loaded.load_workload", ("compare", "arm-a", "arm-d")),
]


@pytest.mark.parametrize(("function", "command"), _COMMANDS)
def test_every_command_says_that_it_was_interrupted(function: str, command: tuple[str, ...], tmp_path: Path) -> None:
    module, _, name = function.rpartition(".")
    script = _SCRIPT.format(module=module, function=name)
    traces = () if command[0] == "compare" else (str(short_recording(tmp_path)),)
    args = [sys.executable, "-c", script, *command, *traces]
    ran = subprocess.run(args, capture_output=True, check=False)  # noqa: S603  our own command
    assert ran.returncode == 130, ran.stderr
    assert (ran.stdout, ran.stderr) == (b"", b"simtool: interrupted\n")


@pytest.mark.parametrize("module", ["typer", "simtool.bind", "scenarios.options.settings", "scenarios.decide"])
def test_an_interruption_while_modules_load_is_one_line(module: str, tmp_path: Path) -> None:
    script = (
        "import builtins, os, signal\n"
        "plain = builtins.__import__\n"
        "def loading(name, *args, **kwargs):\n"
        f"    if name == {module!r}:\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "    return plain(name, *args, **kwargs)\n"
        "builtins.__import__ = loading\n"
        "from simtool.main import main\n"
        "main()\n"
    )
    args = [sys.executable, "-c", script, "replay", str(short_recording(tmp_path))]
    ran = subprocess.run(args, capture_output=True, check=False)  # noqa: S603  our own command
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, b"", b"simtool: interrupted\n")


def _members(group: int) -> int:
    """Processes of a group: the command, what starts its workers, and they."""
    found = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        found += int(fields[2]) == group
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize(("told", "code", "said"), [("SIGINT", 130, "interrupted"), ("SIGTERM", 143, "terminated")])
def test_a_plan_that_is_broken_off_ends_its_workers(told: str, code: int, said: str, tmp_path: Path) -> None:
    args = ("plan", str(short_recording(tmp_path)), "--sessions-per-s", "9", "--target", "e2el:p99:9000", "--jobs", "2")
    more = ("--gpus", "H200", "--tensor-parallel", "1,2,4")
    command = [sys.executable, "-m", "simtool", *args, *more]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True)  # noqa: S603  our own command
    end_s = time.monotonic() + 60
    while _members(process.pid) < 5 and process.poll() is None and time.monotonic() < end_s:
        time.sleep(0.05)
    time.sleep(0.5)
    if told == "SIGINT":  # Ctrl-C goes to all processes of the terminal
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.terminate()
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (code, f"simtool: {said}\n".encode())
    end_s = time.monotonic() + 20
    while _members(process.pid) and time.monotonic() < end_s:
        time.sleep(0.05)
    assert not _members(process.pid)
