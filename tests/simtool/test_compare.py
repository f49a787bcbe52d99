"""``simtool compare`` as a user meets it."""

from __future__ import annotations

import json
import shutil
from itertools import pairwise
from pathlib import Path

import jsonschema
import pytest

from scenarios.comparison.document import schema
from scenarios.runs.outputs import write_outputs
from tests.scenarios.comparison.conftest import asked_of
from tests.simtool.run import Ran, simtool


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "160")
    return lambda *args: simtool(capsys, monkeypatch, *args)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Folders of replays without speculation and at gamma 4, the second with objectives."""
    folder = tmp_path_factory.mktemp("runs")
    for name, given in (("plain", {}), ("deep", {"gamma": 4, "goodput": ("ttft:1", "e2el:100000")})):
        write_outputs(asked_of(given), folder / name)
    return str(folder / "plain"), str(folder / "deep")


def _compare(cli, runs: tuple[str, str], *args: str) -> Ran:
    return cli("compare", *runs, *args)


def test_the_headline_comes_first_then_what_was_set_differently(cli, runs: tuple[str, str]) -> None:
    ran = _compare(cli, runs)
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0] == "B (deep) against A (plain)"
    assert "better" in lines[1]
    titles = [line.strip() for before, line in pairwise(lines) if not before]
    assert titles == [
        "Settings that differ",
        "Objectives: 99.0 % of requests",
        "Metrics",
        "E2EL, mean of a request, ms",
        "time of a session, mean, s",
        "GPU seconds per accepted turn, s",
        "USD per 1,000 accepted turns, USD",
    ]
    assert "num_speculative_tokens" in ran.out
    assert "TTFT p50 ms" in ran.out
    assert "TTFT p90 ms" not in ran.out
    assert "warning: only 11 sessions" in ran.err
    assert "TTFT p25 ms" in _compare(cli, runs, "--metric-percentiles", "25").out


@pytest.mark.parametrize("columns", [60, 160])
def test_it_fits_the_window(cli, runs: tuple[str, str], monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    ran = _compare(cli, runs, "--fail-if-worse", "5")
    assert max(map(len, ran.out.splitlines())) <= columns
    assert ran.out.count("no difference shown") > 2


def test_quiet_is_the_headline(cli, runs: tuple[str, str]) -> None:
    ran = _compare(cli, runs, "-q")
    assert len(ran.out.splitlines()) < 10
    assert ran.out.startswith("B (deep)")


def test_json_is_all_there_is_on_standard_output(cli, runs: tuple[str, str], tmp_path: Path) -> None:
    ran = _compare(cli, runs, "--json", "-")
    document = json.loads(ran.out)
    jsonschema.validate(document, schema())
    assert str(Path(runs[0]).parent) not in ran.out
    target = tmp_path / "compared.json"
    assert _compare(cli, runs, "--json", str(target), "-q").code == 0
    assert json.loads(target.read_text(encoding="utf-8")) == document


@pytest.mark.parametrize(
    ("args", "code"),
    [
        ((), 0),
        (("--fail-on-slo",), 4),
        (("--fail-on-slo", "--goodput", "e2el:100000"), 0),
        (("--fail-on-slo", "--slo-attainment", "0.0001", "--goodput", "ttft:50"), 0),
        (("--fail-if-worse", "5"), 0),
        (("--fail-if-worse", "mean_request_itl_ms:5"), 4),
        (("--fail-if-worse", "mean_request_itl_ms:500"), 0),
    ],
)
def test_limits_decide_the_exit_code(cli, runs: tuple[str, str], args: tuple[str, ...], code: int) -> None:
    ran = _compare(cli, runs, "-q", *args)
    assert ran.code == code
    assert ("Missed:" in ran.out) == (code == 4 or not args or "--fail-if-worse" in args)
    if "mean_request_itl_ms:5" in args:
        assert "(limit 5 %)" in ran.out


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (("--fail-if-worse", "p99_e2e:5"), "did you mean 'p99_e2el_ms'"),
        (("--goodput", "ttft"), "METRIC:MILLISECONDS"),
        (("--confidence-level", "0"), "above 0 and below 1"),
    ],
)
def test_usage_errors(cli, runs: tuple[str, str], args: tuple[str, ...], reason: str) -> None:
    ran = _compare(cli, runs, *args)
    assert ran.code == 2
    assert reason in " ".join(ran.err.replace("│", " ").split())
    assert ran.out == ""


def test_objectives_that_nobody_set(cli, runs: tuple[str, str]) -> None:
    ran = cli("compare", runs[0], runs[0], "--fail-on-slo")
    assert ran.code == 2
    assert "--fail-on-slo needs objectives" in " ".join(ran.err.replace("│", " ").split())


def test_what_is_no_result(cli, runs: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"a": 1}', encoding="utf-8")
    for given in (tmp_path / "none", tmp_path / "x.json", tmp_path):
        ran = cli("compare", runs[0], str(given))
        assert ran.code == 3
        assert str(given) in ran.err


def test_a_result_file_gives_totals(cli, runs: tuple[str, str]) -> None:
    ran = cli("compare", runs[0], f"{runs[1]}/summary.json", "--fail-on-slo")
    assert ran.code == 4
    assert "no table of attempts in B" in " ".join(ran.out.split())
    assert "not judged" in ran.out


def test_markdown_is_for_a_comment(cli, runs: tuple[str, str], tmp_path: Path) -> None:
    target = tmp_path / "comment.md"
    assert _compare(cli, runs, "-q", "--markdown", str(target), "--fail-if-worse", "5").code == 0
    text = target.read_text(encoding="utf-8")
    assert text.startswith("### B (deep) against A (plain)\n")
    tables = [block.splitlines() for block in text.split("\n\n") if block.startswith("| ")]
    assert len(tables) == 8
    for table in tables:
        counts = {line.replace("\\|", "").count("|") for line in table}
        assert len(counts) == 1
    assert text.count("<details>") == text.count("</details>") == 1


def test_text_of_results_steers_neither_terminal_nor_page(cli, runs: tuple[str, str], tmp_path: Path) -> None:
    hostile = "[red]<script>|x\x1b[2J@everyone`"
    changed = tmp_path / "changed"
    shutil.copytree(runs[1], changed)
    summary = changed / "summary.json"
    document = json.loads(summary.read_text(encoding="utf-8"))
    document["config"]["model"]["value"] = hostile
    summary.write_text(json.dumps(document), encoding="utf-8")
    target = tmp_path / "comment.md"
    ran = cli("compare", runs[0], str(changed), "--markdown", str(target))
    assert ran.code == 0
    assert "\x1b" not in ran.out
    assert "[red]<script>|x\\x1b[2J@everyone`" in ran.out
    text = target.read_text(encoding="utf-8")
    assert "<script>" not in text
    assert "@everyone" not in text
    assert "\x1b" not in text
