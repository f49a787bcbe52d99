"""The Python API against the command line, which asks the same questions."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from scenarios import api
from scenarios.options.replay import OptionError
from scenarios.runs.outputs import ALL_FILES
from tests.shared import AGENT_LOOP
from tests.simtool.run import simtool

SAMPLE = str(AGENT_LOOP)


@cache
def run_at(gamma: int) -> api.Run:
    return api.replay(SAMPLE, gamma=gamma)


def printed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *args: str) -> str:
    """What a command writes to standard output as JSON; console.write_json writes past sys.stdout's text layer."""
    monkeypatch.setenv("COLUMNS", "100")
    ran = simtool(capsys, monkeypatch, *args)
    assert ran.code == 0, ran.err
    return ran.out


@pytest.mark.parametrize(
    ("options", "flags"),
    [
        ({"gamma": 8}, ["--gamma", "8"]),
        ({"gamma": 0}, ["--gamma", "0"]),
        (
            {"gamma": {"S": 6, "R": 3, "F": 0}, "rho_S": 0.9, "gpu": "B200", "goodput": ["ttft:500"]},
            ["--gamma", "S=6,R=3,F=0", "--rho-s", "0.9", "--gpu", "B200", "--goodput", "ttft:500"],
        ),
        (
            {"gamma": 4, "eps": {"S": 0.1, "R": 0.2, "F": 0.5}, "enable_prefix_caching": False, "seed": 3},
            ["--gamma", "4", "--eps", "S=0.1,R=0.2,F=0.5", "--no-enable-prefix-caching", "--seed", "3"],
        ),
    ],
)
def test_json_is_the_command_lines(
    options: dict[str, Any],
    flags: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = run_at(options["gamma"]) if set(options) == {"gamma"} else api.replay(SAMPLE, **options)
    assert run.to_json() == printed(capsys, monkeypatch, "replay", SAMPLE, *flags, "--json", "-")


def test_saved_folder_is_the_command_lines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run_at(8).save(tmp_path / "python")
    printed(capsys, monkeypatch, "replay", SAMPLE, "--gamma", "8", "-o", str(tmp_path / "command"))
    for name in ALL_FILES:
        assert (tmp_path / "python" / name).read_bytes() == (tmp_path / "command" / name).read_bytes(), name
    with pytest.raises(OptionError, match="already holds"):
        run_at(8).save(tmp_path / "python")
    assert run_at(8).save(tmp_path / "python", force=True) == tmp_path / "python"


def test_tables_are_those_of_the_folder(tmp_path: Path) -> None:
    run = run_at(8)
    run.save(tmp_path)
    pd.testing.assert_frame_equal(run.turns, pd.read_parquet(tmp_path / "turns.parquet"))
    pd.testing.assert_frame_equal(run.load, pd.read_parquet(tmp_path / "load.parquet"))
    assert run.baseline_turns_arrow.equals(pq.read_table(tmp_path / "baseline_turns.parquet"))
    assert run.turns_arrow.num_rows == run.answer.trace.attempts == len(run.turns)
    assert run.turns["cost_usd"].sum() == pytest.approx(run.answer.replay.cost.attributed_usd)
    assert list(run.classes["label"]) == [row.label for row in run.answer.classes]
    assert list(run.gamma_curve["gamma"]) == [point.gamma for point in run.answer.gamma_curve]
    assert list(run.comparison["exact"]) == [row.exact for row in run.answer.comparison]


def test_without_speculation_there_is_no_verdict() -> None:
    run = run_at(0)
    assert run.verdict is None
    assert run.baseline_turns is None
    assert run.classes.empty
    assert "gamma 0" in repr(run)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gama": 8}, r"'gama' is no option; did you mean 'gamma'\?"),
        ({"max_num_seq": 8}, "did you mean 'max_num_seqs'"),
        ({"enable_prefix_caching": "no"}, "give true or false"),
        ({"block_size": 16.5}, "give a whole number"),
        ({"block_size": "16"}, "give a whole number"),
        ({"tensor_parallel_size": 0}, "must be at least 1"),
        ({"eps": {"X": 0.1}}, "is no class"),
        ({"tool_waits": "none"}, "one of recorded, scaled, drawn"),
        ({"block_size": True}, "give a whole number"),
    ],
)
def test_bad_options_name_option_value_and_range(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        api.replay(SAMPLE, **options)


def test_numpy_numbers_are_numbers() -> None:
    given = [api.given.checked_options({"gamma": value}, ["gamma"]) for value in np.arange(3)]
    assert given == [{"gamma": "0"}, {"gamma": "1"}, {"gamma": "2"}]
    assert api.given.checked_options({"rho_S": np.float64(0.5)}, ["rho_s"]) == {"rho_s": 0.5}


def test_keywords_go_before_the_scenario(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(f'[trace]\nfiles = ["{SAMPLE}"]\n[speculation]\ngamma = 4\n[cache]\nblock_size = 32\n')
    run = api.replay(scenario=file, gamma=2)
    assert run.verdict is not None
    assert run.verdict.gamma == 2
    assert run.answer.config["block_size"].value == 32


def test_variables_of_the_command_line_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIMTOOL_GAMMA", "2")
    assert api.given.resolve(SAMPLE, None, {}).settings.replay.platform.num_speculative_tokens == 8


def test_no_recording_is_an_error() -> None:
    with pytest.raises(OptionError, match="no recording"):
        api.replay(gamma=8)


def test_tag_is_the_command_lines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    counts: list[int] = []
    tags = api.tag(SAMPLE, by_session=True, spans=tmp_path / "spans.parquet", progress=counts.append)
    assert tags.to_json() == printed(capsys, monkeypatch, "tag", SAMPLE, "--by", "session", "--json", "-")
    assert counts == list(range(1, tags.outputs.sessions + 1))
    assert tags.classes["tokens"].sum() == tags.outputs.output_tokens
    assert tags.subclasses["share_of_S"].sum() == pytest.approx(1)
    assert tags.tools["tokens"].is_monotonic_decreasing
    assert tags.sessions["output_tokens"].sum() == tags.outputs.output_tokens
    assert pq.read_metadata(tmp_path / "spans.parquet").num_rows > 0
    with pytest.raises(OptionError, match="'gamma' is no option"):
        api.tag(SAMPLE, gamma=8)


def test_law_check_is_the_command_lines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    truth = api.law_check(SAMPLE, gamma=4)
    assert truth.to_json() == printed(capsys, monkeypatch, "law-check", SAMPLE, "--gamma", "4", "--json", "-")
    assert list(truth.approximations["name"])[:2] == ["law", "law, per class"]
    assert list(truth.classes["label"]) == ["S", "R", "F"]
    assert truth.spans["tokens"].sum() > 0


def test_compare_takes_runs_and_folders(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    a, b = run_at(0).save(tmp_path / "a"), run_at(8).save(tmp_path / "b")
    found = api.compare(run_at(0), run_at(8), labels=("a", "b"))
    assert found.to_json() == api.compare(a, b).to_json()
    assert found.to_json() == printed(capsys, monkeypatch, "compare", str(a), str(b), "--json", "-")
    by_key = found.metrics.set_index("key")
    assert by_key.loc["p50_e2el_ms", "b"] == pytest.approx(run_at(8).answer.replay.e2el_s["p50"] * 1e3)
    cost = found.breakdowns[found.breakdowns["breakdown"] == "cost"].set_index("part")["difference"]
    assert cost.drop("total").sum() == pytest.approx(cost["total"])
    assert "num_speculative_tokens" in set(found.settings["name"])
    assert found.to_markdown().startswith("#") or "|" in found.to_markdown()


def test_sweep_is_the_command_lines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    told: list[tuple[int, int]] = []
    found = api.sweep(
        SAMPLE,
        axes={"gamma": [0, 4]},
        folder=tmp_path / "a",
        jobs=1,
        progress=lambda done, total: told.append((done, total)),
        max_num_seqs=4,
    )
    flags = ["--axis", "gamma=0,4", "--max-num-seqs", "4", "--jobs", "1", "-o", str(tmp_path / "b"), "--json", "-"]
    assert found.to_json() == printed(capsys, monkeypatch, "sweep", SAMPLE, *flags)
    assert told[-1] == (2, 2)
    assert list(found.points["gamma"]) == list(found.results["gamma"])
    assert list(found.tornado["axis"]) == ["gamma"]
    with pytest.raises(OptionError, match="method is 'best'"):
        api.sweep(SAMPLE, axes={"gamma": [0, 4]}, folder=tmp_path / "c", method="best")


def test_the_package_gives_the_api_when_asked() -> None:
    code = (
        "import sys, simtool.app, scenarios\n"
        "assert 'scenarios.api' not in sys.modules\n"
        "from scenarios import replay\n"
        "from scenarios.api import replay as same\n"
        "assert replay is same and set(scenarios.__all__) <= set(dir(sys.modules['scenarios.api']))\n"
        "assert not {'optuna', 'ray', 'altair'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603
    import scenarios

    with pytest.raises(AttributeError):
        scenarios.replays  # noqa: B018
