"""Errors of a scenario's [sweep] name the file and line at fault, and the program is part of a sweep."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scenarios.scenariofile.load import load_scenario
from scenarios.sweep.definition import Request, merged
from scenarios.sweep.store import DEFINITION
from tests.scenarios.sweep.recordings import short_recording
from tests.simtool.run import simtool
from traces.errors import TraceError

TOML = """name = "edge"
[sweep]
method = "grid"
{}
[sweep.axes]
gamma = [0, 4]
{}
"""
YAML = """name: edge
sweep:
  {}
  axes:
    gamma: [0, 4]
    {}
"""


@pytest.mark.parametrize(
    ("section", "axis", "line", "says"),
    [
        ("seed = [1]", "", 4, "'seed' is no key of [sweep]"),
        ("samples = 0", "", 4, "samples is 0"),
        ("seeds = ['a']", "", 4, "seeds is ['a']"),
        ("reference = {gama = 0}", "", 4, "did you mean 'gamma'"),
        ("", "gama = [0]", 7, "did you mean 'gamma'"),
        ("", "max_concurrency = [0.5]", 7, "max_concurrency is 0.5"),
    ],
)
def test_a_toml_section_has_lines(section: str, axis: str, line: int, says: str, tmp_path: Path) -> None:
    path = tmp_path / "edge.toml"
    path.write_text(TOML.format(section, axis))
    _raises(path, line, says)


@pytest.mark.parametrize(
    ("section", "axis", "line", "says"),
    [("samples: 0", "", 3, "samples is 0"), ("seeds: [1]", "rtt_ms: {from: 3, to: 1}", 6, "goes down")],
)
def test_a_yaml_section_has_lines(section: str, axis: str, line: int, says: str, tmp_path: Path) -> None:
    path = tmp_path / "edge.yaml"
    path.write_text(YAML.format(section, axis))
    _raises(path, line, says)


def test_the_file_is_the_one_that_says_it(tmp_path: Path) -> None:
    base = tmp_path / "base.toml"
    base.write_text("[sweep]\nsamples = 0\n[sweep.axes]\ngamma = [0, 4]\n")
    path = tmp_path / "edge.toml"
    path.write_text("extends = 'base.toml'\n\n\n[sweep]\nsamples = -1\n")
    _raises(path, 5, "samples is -1")
    path.write_text("extends = 'base.toml'\n\n\n[sweep]\nmethod = 'list'\n")
    found = load_scenario(str(path))
    with pytest.raises(TraceError, match="samples is 0") as raised:
        merged(found.sweep, found.sweep_places, Request(), [])
    assert str(raised.value).startswith(f"{base}:2: ")


def _raises(path: Path, line: int, says: str) -> None:
    found = load_scenario(str(path))
    with pytest.raises(TraceError) as raised:
        merged(found.sweep, found.sweep_places, Request(), [])
    assert str(raised.value).startswith(f"{path}:{line}: ")
    assert says in str(raised.value)


def test_points_of_another_program_are_not_taken_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    args = ("sweep", str(short_recording(tmp_path)), "--axis", "gamma=0,2", "-j", "1", "-q", "-o", str(tmp_path / "s"))
    assert simtool(capsys, monkeypatch, *args).code == 0
    definition = tmp_path / "s" / DEFINITION
    known = json.loads(definition.read_text())
    definition.write_text(json.dumps({**known, "code": "0" * 16}))
    ran = simtool(capsys, monkeypatch, *args)
    assert ran.code == 2
    assert "with other code" in " ".join(ran.err.split())
    points = {path: path.stat().st_mtime_ns for path in (tmp_path / "s" / "points").iterdir()}
    assert simtool(capsys, monkeypatch, *args, "--force").code == 0
    assert json.loads(definition.read_text()) == known
    again = {path: path.stat().st_mtime_ns for path in (tmp_path / "s" / "points").iterdir()}
    assert again.keys() == points.keys()
    assert all(again[path] > points[path] for path in points)
