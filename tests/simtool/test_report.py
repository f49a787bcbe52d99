"""simtool report as a user meets it."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from tests.shared import AGENT_LOOP
from tests.simtool.run import Ran, simtool

pytest.importorskip("altair", reason="needs simtool[report]")
pytest.importorskip("vl_convert", reason="needs simtool[report]")


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    def run(*args: str) -> Ran:
        return simtool(capsys, monkeypatch, *args)

    return run


@pytest.fixture
def made(cli, tmp_path: Path) -> Path:
    assert cli("replay", str(AGENT_LOOP), "--gamma", "4", "-q", "-o", str(tmp_path / "run")).code == 0
    return tmp_path / "run"


def test_a_run_becomes_a_page(cli, made: Path, tmp_path: Path) -> None:
    page = tmp_path / "new" / "page.html"
    ran = cli("report", str(made), "-o", str(page))
    assert (ran.code, ran.out) == (0, "")
    assert "8 plots" in ran.err
    assert "not drawn: Throughput against latency" in ran.err
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert not list(page.parent.glob(".*"))


def test_without_a_name_it_is_report_html_here(cli, made: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli("report", str(made)).code == 0
    assert (tmp_path / "report.html").exists()


def test_a_page_is_not_overwritten_unasked(cli, made: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("mine")
    ran = cli("report", str(made), "-o", str(page))
    assert ran.code == 2
    assert "--force" in ran.err
    assert page.read_text() == "mine"
    assert cli("report", str(made), "-o", str(page), "--force").code == 0
    assert page.read_text(encoding="utf-8") != "mine"
    assert cli("report", str(made), "-o", str(tmp_path)).code == 2


def test_plots_alone(cli, made: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli("report", str(made), "--plots", str(tmp_path / "plots"), "--plot-format", "png").code == 0
    assert len(list((tmp_path / "plots").glob("*.png"))) == 8
    assert not (tmp_path / "report.html").exists()
    assert cli("report", str(made), "--plots", str(tmp_path / "plots"), "--plot-format", "png").code == 2


def test_text_is_kept_and_shown_unless_declined(cli, made: Path, tmp_path: Path) -> None:
    text = json.loads((made / "details.json").read_bytes())["excerpt"][0]["parts"][0]["text"].split("\n")[1]
    for name, options, there in (("a", (), True), ("b", ("--no-excerpt",), False)):
        assert cli("report", str(made), "-o", str(tmp_path / name), *options).code == 0
        assert (text in (tmp_path / name).read_text(encoding="utf-8")) is there
    bare = tmp_path / "bare"
    assert cli("replay", str(AGENT_LOOP), "-q", "--gamma", "4", "-o", str(bare), "--no-excerpt").code == 0
    assert text not in "".join(path.read_text() for path in bare.glob("*.json"))


def test_a_result_of_law_check(cli, tmp_path: Path) -> None:
    assert cli("law-check", str(AGENT_LOOP), "--json", str(tmp_path / "law.json")).code == 0
    ran = cli("report", str(tmp_path / "law.json"), "-o", str(tmp_path / "law.html"))
    assert ran.code == 0
    assert "4 plots" in ran.err


def test_what_is_no_run_exits_with_3_and_says_what_makes_one(cli, tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nothing", AGENT_LOOP):
        ran = cli("report", str(path), "-o", str(tmp_path / "page.html"))
        assert ran.code == 3
        assert "simtool replay" in ran.err
    assert not (tmp_path / "page.html").exists()


def test_missing_packages_are_named_with_the_extra(cli, made: Path, tmp_path: Path, monkeypatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "vl_convert" else real(name))
    ran = cli("report", str(made), "-o", str(tmp_path / "page.html"))
    assert ran.code == 3
    assert "vl-convert-python: pip install 'simtool[report]'" in ran.err
