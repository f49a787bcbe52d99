"""Runs the blocks of a page in order, in one folder, and gives the page with what they print.

``console`` blocks hold commands after ``$`` and their output; ``# exits with N`` after a command names its exit code,
``| head -N`` and ``| grep`` cut what is shown.
``python`` blocks share one namespace; a ``text`` block right after one holds what it prints. A block with ``file=NAME``
after its fence is written into the folder, which has the recordings of the project under ``traces``.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from simtool.main import main
from tests.docs.pages import ROOT, Block, blocks, name_of

ENVIRONMENT = {"COLUMNS": "100", "NO_COLOR": "1"}
_EXIT = re.compile(r"\s+# exits with (\d+)$")
_FILTER = re.compile(r"\s+\| (?:head -(?P<count>\d+)|grep (?P<not>-v )?(?P<pattern>[^|]+?))(?=\s+\||$)")
_ASSIGNMENT = re.compile(r"[A-Z_]+=")
AS_PROCESSES = ("README.md",)
"""Pages whose commands run as a user's do; those of others run in this process, which is faster."""


def runs(text: str) -> bool:
    """Whether a page has anything to run."""
    return any(block.language in ("console", "python") for block in blocks(text))


def rewritten(page: Path) -> str:
    """The text of *page* with the present output of all its blocks."""
    text = page.read_text(encoding="utf-8")
    found = list(blocks(text))
    parts, at = [], 0
    as_processes = name_of(page) in AS_PROCESSES
    with tempfile.TemporaryDirectory() as folder, _inside(Path(folder)):
        space: dict[str, Any] = {"__name__": "__main__"}
        printed: str | None = None
        for block in found:
            new = block.body
            if block.file is not None:
                Path(block.file).write_text(block.body, encoding="utf-8")
            if block.language == "console":
                new = _console(block.body, as_process=as_processes)
            elif block.language == "text" and block.follows and printed is not None:
                new = printed
            printed = _python(block, space) if block.language == "python" else None
            parts += [text[at : block.start], new]
            at = block.end
    return "".join([*parts, text[at:]])


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    (folder / "traces").mkdir()
    for recording in sorted((ROOT / "traces").glob("*.jsonl")):
        (folder / "traces" / recording.name).write_bytes(recording.read_bytes())
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SIMTOOL_")}
    with contextlib.chdir(folder), mock.patch.dict(os.environ, {**kept, **ENVIRONMENT}, clear=True):
        yield


def _console(body: str, *, as_process: bool) -> str:
    lines = []
    for line in (line for line in body.splitlines() if line.startswith("$ ")):
        command = _EXIT.sub("", line[2:])
        code, out = (_shell if as_process else _here)(_FILTER.sub("", command))
        expected = int(found[1]) if (found := _EXIT.search(line)) else 0
        if code != expected:
            raise AssertionError(f"{line}\nexits with {code}, not {expected}")
        lines += [line, *_filtered([one.rstrip() for one in out.splitlines()], command)]
    return "".join(line + "\n" for line in lines)


def _filtered(shown: list[str], command: str) -> list[str]:
    """*shown* through the filters after *command*: head -N, grep and grep -v."""
    for one in _FILTER.finditer(command):
        if one["count"] is not None:
            shown = shown[: int(one["count"])]
        else:
            pattern = re.compile(one["pattern"].strip("\"'"))
            shown = [line for line in shown if (pattern.search(line) is None) == bool(one["not"])]
    return shown


def _shell(command: str) -> tuple[int, str]:
    words = [sys.executable, "-m", *shlex.split(command)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=env)  # noqa: S603
    return done.returncode, done.stdout


def _here(command: str) -> tuple[int, str]:
    """Run one command in this process: simtool under assignments of variables, or cat."""
    words = shlex.split(command)
    given = {}
    while _ASSIGNMENT.match(words[0]):
        name, _, given[name] = words.pop(0).partition("=")
    if words[0] == "cat":
        return 0, "".join(Path(name).read_text(encoding="utf-8") for name in words[1:])
    assert words[0] == "simtool", f"{command}: documents run simtool and cat only"
    return _simtool(words[1:], given)


def printed_by(args: list[str], **environment: str) -> str:
    """What simtool prints on standard output."""
    return _simtool(args, {**ENVIRONMENT, **environment})[1]


def _simtool(args: list[str], environment: dict[str, str]) -> tuple[int, str]:
    words = ["simtool", *args]
    with mock.patch.dict(os.environ, environment), mock.patch.object(sys, "argv", words), _printed() as out:
        try:
            main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
    return code, out.getvalue().decode()


def _python(block: Block, space: dict[str, Any]) -> str:
    with _printed() as out:
        exec(compile(block.body, "<page>", "exec"), space)  # noqa: S102  the project's own documents
    return "".join(line.rstrip() + "\n" for line in out.getvalue().decode().splitlines())


@contextlib.contextmanager
def _printed() -> Iterator[io.BytesIO]:
    """Gather what is written to standard output, text and bytes; standard error goes nowhere."""
    data = io.BytesIO()
    out = io.TextIOWrapper(data, encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        yield data
    out.detach()
