"""The command line as a fixture, and the documents that it writes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.shared import AGENT_LOOP
from tests.simtool.run import Ran, simtool

Cli = Callable[..., Ran]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Runs one command in a window of 100 columns."""
    monkeypatch.setenv("COLUMNS", "100")
    return lambda *args: simtool(capsys, monkeypatch, *args)


@pytest.fixture
def replayed(cli: Cli) -> Callable[..., dict[str, Any]]:
    """The document of a replay of the shipped sample."""

    def document(*args: str) -> dict[str, Any]:
        ran = cli("replay", str(AGENT_LOOP), *args, "--json", "-")
        assert ran.code == 0, ran.err
        return json.loads(ran.out)

    return document
