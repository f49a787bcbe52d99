"""Ctrl-C on a replay: exit code 130, no file of its results, and those of an earlier run as they were."""

from __future__ import annotations

import subprocess
import sys
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

_PLACES = [("scenarios.ask", "load"), ("scenarios.decide", "replay_once"), ("scenarios.outputs", "write_run_table")]


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
    assert not (tmp_path / "new").exists()
    assert [(path.name, path.read_text()) for path in old.iterdir()] == [("summary.json", "{}")]
