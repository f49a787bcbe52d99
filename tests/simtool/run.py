"""Runs the command line in this process."""

from __future__ import annotations

import sys
from typing import NamedTuple

import pytest

from simtool.main import main


class Ran(NamedTuple):
    code: int
    out: str
    err: str


def simtool(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *args: str) -> Ran:
    monkeypatch.setattr(sys, "argv", ["simtool", *args])
    capsys.readouterr()
    try:
        main()
        code = 0
    except SystemExit as end:
        code = int(end.code or 0)
    out, err = capsys.readouterr()
    return Ran(code, out, err)
