"""A sweep from end to end: the same answers as single questions, whoever works, and however often it is cut short."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow.parquet as pq
import pytest

from scenarios.ask import ask
from scenarios.options.replay import OptionError
from scenarios.options.settings import settings
from scenarios.scenariofile.places import Places
from scenarios.sweep.definition import Request, merged, reference_of
from scenarios.sweep.document import Summary
from scenarios.sweep.objectives import figures
from scenarios.sweep.points import Method
from scenarios.sweep.run import Where, sweep
from tests.scenarios.sweep.recordings import SESSIONS, short_recording, swept
from tests.shared import AGENT_LOOP
from traces.errors import SimtoolError

AXES = ("gamma=0,4", "max_concurrency=1,4")


def _bytes(folder: Path) -> tuple[bytes, bytes]:
    return (folder / "results.parquet").read_bytes(), (folder / "summary.json").read_bytes()


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Summary]:
    folder = tmp_path_factory.mktemp("sweep") / "plain"
    return folder, swept(folder, *AXES, seeds=(0, 1))


def test_each_point_is_what_a_single_question_answers(plain: tuple[Path, Summary]) -> None:
    folder, summary = plain
    rows = pq.read_table(folder / "results.parquet").to_pylist()
    assert [(row["gamma"], row["max_concurrency"], row["seed"]) for row in rows] == [
        (gamma, size, seed) for gamma in (0, 4) for size in (1, 4) for seed in (0, 1)
    ]
    for row in (rows[1], rows[6]):
        chosen = settings({key: row[key] for key in ("gamma", "max_concurrency", "seed")})
        asked = ask([str(short_recording(folder.parent))], chosen.read, chosen.replay)
        expected = figures(asked.answer, asked.measure)
        assert {name: row[name] for name in expected} == expected
    assert summary.complete
    assert summary.runs.finished == summary.runs.total == 8


def test_any_number_of_workers_gives_the_same_bytes(plain: tuple[Path, Summary], tmp_path: Path) -> None:
    swept(tmp_path / "one", *AXES, seeds=(0, 1), jobs=1)
    assert _bytes(tmp_path / "one") == _bytes(plain[0])


def test_a_sweep_goes_on_from_what_is_kept(
    plain: tuple[Path, Summary], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "again"
    swept(folder, *AXES, seeds=(0, 1))
    points = sorted((folder / "points").glob("*.json"))
    points[0].unlink()
    points[1].write_bytes(points[1].read_bytes()[:40])
    points[2].with_suffix(".parquet").write_bytes(b"")
    kept = {path: path.stat().st_mtime_ns for path in points[3:]}
    told: list[tuple[int, int]] = []
    request = Request(axes=_axes(*AXES), seeds=(0, 1))
    recording = [str(short_recording(tmp_path))]
    sweep(recording, {}, request, Where(folder=folder, jobs=1), lambda done, total: told.append((done, total)))
    assert told == [(5, 8), (6, 8), (7, 8), (8, 8)]
    assert {path: path.stat().st_mtime_ns for path in points[3:]} == kept
    assert _bytes(folder) == _bytes(plain[0])
    monkeypatch.setattr("scenarios.sweep.runs.load", None)
    sweep(recording, {}, request, Where(folder=folder))
    assert _bytes(folder) == _bytes(plain[0])


def _axes(*texts: str) -> Any:
    from scenarios.sweep.axes import parse_axis

    return tuple(map(parse_axis, texts))


def test_another_sweep_does_not_take_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "one"
    swept(folder, "gamma=0,4")
    before = _bytes(folder)
    with pytest.raises(OptionError, match=r"another sweep, with other axes: .*--force"):
        swept(folder, "gamma=0,2")
    with pytest.raises(OptionError, match="other base"):
        swept(folder, "gamma=0,4", base={"max_concurrency": 2})
    assert _bytes(folder) == before
    assert [point.name for point in swept(folder, "gamma=0,2", force=True).points] == ["gamma 0", "gamma 2"]
    assert len(list((folder / "points").glob("*.json"))) == 2


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "summary.json").write_text("{}")
    with pytest.raises(OptionError, match=r"already holds summary\.json"):
        swept(folder, "gamma=0")


@pytest.mark.parametrize(
    ("axes", "more"), [(("rtt_ms=0..50",), {}), (("gamma=0", "rtt_ms=0,1"), {"method": Method.LIST})]
)
def test_a_sweep_that_cannot_start_takes_no_folder(axes: tuple[str, ...], more: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(OptionError):
        swept(tmp_path / "new", *axes, **more)
    assert not (tmp_path / "new").exists()
    swept(tmp_path / "old", "gamma=0")
    before = _bytes(tmp_path / "old")
    with pytest.raises(OptionError):
        swept(tmp_path / "old", *axes, force=True, **more)
    assert _bytes(tmp_path / "old") == before


def test_a_recording_that_cannot_be_read_takes_no_folder(tmp_path: Path) -> None:
    with pytest.raises(SimtoolError, match="no point could be answered"):
        swept(tmp_path / "s", "gamma=0", base={"tokenizer": "nowhere.json"})
    with pytest.raises(SimtoolError):
        sweep(["nowhere"], {}, Request(axes=_axes("gamma=0")), Where(folder=tmp_path / "t"))
    assert not (tmp_path / "t").exists()


def test_an_interruption_before_any_result_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("scenarios.sweep.runs.load", interrupted)
    summary = swept(tmp_path / "s", "gamma=0,4")
    assert (summary.complete, summary.runs.finished, summary.points) == (False, 0, [])
    assert not (tmp_path / "s").exists()


def test_points_that_cannot_be_asked_are_recorded(tmp_path: Path) -> None:
    summary = swept(tmp_path / "s", "gpu=H200,L40S,Foo")
    errors = [point.error for point in summary.points]
    assert errors[0] is None
    assert "do not fit on 1 x L40S" in str(errors[1])
    assert "'Foo' is not in the catalogue" in str(errors[2])
    table = pq.read_table(tmp_path / "s" / "results.parquet")
    assert table.column("failure").to_pylist() == [None, "options", "options"]
    assert table.column("p99_e2el_ms").null_count == 2
    assert summary.pareto == [0]
    assert summary.runs.failed == 2


def test_a_sweep_without_any_answer_says_why(tmp_path: Path) -> None:
    with pytest.raises(SimtoolError, match="no point could be answered; the first: --gpu 'Foo'"):
        swept(tmp_path / "s", "gpu=Foo,Bar")


def test_differences_are_those_of_the_figures_with_intervals_around_them(plain: tuple[Path, Summary]) -> None:
    _, summary = plain
    home = summary.points[0]
    assert home.differences == {}
    for point in summary.points[1:]:
        assert point.reference == 0
        for name in ("usd_per_1000_sessions", "C_total_s", "mean_ttft_ms", "p99_ttft_ms", "p99_e2el_ms", "p50_tpot_ms"):
            found = point.differences[name]
            gap = point.figures[name].value - home.figures[name].value
            assert found.value == pytest.approx(gap, rel=1e-9, abs=1e-9)
            assert found.low is not None
            assert found.high is not None
            assert found.low <= found.high
    saved = summary.points[2].differences["usd_per_1000_sessions"]
    assert saved.high is not None
    assert saved.high < 0  # gamma 4 saves in every session here, so in every resample


def test_seeds_give_an_interval_of_the_mean(plain: tuple[Path, Summary]) -> None:
    folder, summary = plain
    table = pq.read_table(folder / "results.parquet").to_pandas()
    point = summary.points[2]
    values = table[table.point == 2]["p99_e2el_ms"].to_numpy()
    found = point.figures["p99_e2el_ms"]
    assert found.value == pytest.approx(values.mean())
    # Student's t with one degree of freedom: 12.706
    half = 12.7062 * values.std(ddof=1) / np.sqrt(2)
    assert found.high is not None
    assert found.high - found.value == pytest.approx(half, rel=1e-4)
    assert point.seeds == [0, 1]


def test_common_random_numbers_leave_no_difference_between_equals(tmp_path: Path) -> None:
    """The offload buffer is never used here, so nothing but chance could part the points."""
    summary = swept(tmp_path / "s", "kv_offload_gb=0,1")
    assert {(one.value, one.low, one.high) for one in summary.points[1].differences.values()} == {(0.0, 0.0, 0.0)}


def test_differences_need_the_same_sessions(tmp_path: Path) -> None:
    both = tmp_path / "both.jsonl"
    lines = AGENT_LOOP.read_text("utf-8").splitlines(keepends=True)
    both.write_text("".join(lines[: SESSIONS + 1]), "utf-8")
    request = Request(axes=_axes("block_size=16,32"))
    summary = sweep([str(both)], {}, request, Where(folder=tmp_path / "s"))
    assert summary.points[1].differences


def test_a_tornado_moves_each_assumption_alone(tmp_path: Path) -> None:
    summary = swept(tmp_path / "s", "max_concurrency=1..4:1", method=Method.TORNADO, base={"max_concurrency": 2})
    assert [point.name for point in summary.points] == [
        "base",
        "max_concurrency 1",
        "max_concurrency 4",
        "gpu_price_per_hour 2.625",
        "gpu_price_per_hour 4.375",
        "acceptance pessimistic",
        "acceptance optimistic",
    ]
    bar = {one.axis: one for one in summary.tornado}
    price = bar["gpu_price_per_hour"]
    assert price.low / price.at_reference == pytest.approx(0.75)
    assert price.high / price.at_reference == pytest.approx(1.25)
    assert bar["acceptance"].low > bar["acceptance"].at_reference > bar["acceptance"].high
    assert [one.swing for one in summary.tornado] == sorted((one.swing for one in summary.tornado), reverse=True)
    assert summary.best is None
    assert any("25%" in note for note in summary.notes)


def test_the_pessimistic_end_is_the_profile_s_own(tmp_path: Path) -> None:
    summary = swept(tmp_path / "s", method=Method.TORNADO)
    chosen = settings({"profile": str(tmp_path / "s" / "assumptions" / "acceptance-pessimistic.json")})
    answer = ask([str(short_recording(tmp_path))], chosen.read, chosen.replay).answer
    named = {point.name: point for point in summary.points}
    assert answer.verdict is not None
    saving = answer.verdict.net_saving.value * 100
    assert named["acceptance pessimistic"].figures["net_saving"].value == saving
    plain = settings({})
    verdict = ask([str(short_recording(tmp_path))], plain.read, plain.replay).answer.verdict
    assert verdict is not None
    assert answer.verdict.spread.value == pytest.approx(verdict.spread.low, abs=0.02)


def test_a_changed_file_of_an_option_is_another_point(tmp_path: Path) -> None:
    prices = tmp_path / "prices.json"
    costs = []
    for usd in (2.0, 4.0):
        prices.write_text(json.dumps({"usd_per_gpu_hour": {"H200": usd}}))
        summary = swept(tmp_path / "s", "gamma=4", base={"prices": str(prices)}, force=usd > 2)
        costs.append(summary.points[0].figures["usd_per_1000_sessions"].value)
    assert costs[1] / costs[0] == pytest.approx(2)
    prices.write_text(json.dumps({"usd_per_gpu_hour": {"H200": 3.0}}))
    with pytest.raises(OptionError, match="other files"):
        swept(tmp_path / "s", "gamma=4", base={"prices": str(prices)})


def test_the_summary_reads_back(plain: tuple[Path, Summary]) -> None:
    folder, summary = plain
    assert msgspec.json.decode((folder / "summary.json").read_bytes(), type=Summary) == summary
    assert not list(folder.glob(".*"))


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"method": Method.GRID}, "nothing varies"),
        ({"axes": ("seed=0,1",), "seeds": (0, 1)}, "--seeds and --axis seed"),
        ({"axes": ("gamma=0",), "seeds": (1, 1)}, "stands twice"),
        ({"axes": ("gamma=0",), "samples": 4}, "--samples goes with"),
        ({"axes": ("gamma=0",), "reference": {"rtt_ms": 1}}, "no axis of this sweep"),
        ({"axes": ("gamma=0",), "objectives": ("coost",)}, "did you mean 'cost'"),
        ({"axes": ("gamma=0", "rtt_ms=1,2"), "method": Method.RANDOM, "reference": {"gamma": 0}}, "name every axis"),
    ],
)
def test_requests_that_contradict_themselves(more: dict[str, Any], says: str, tmp_path: Path) -> None:
    axes = more.pop("axes", ())
    with pytest.raises(OptionError, match=says):
        swept(tmp_path / "s", *axes, **more)
    assert not (tmp_path / "s").exists()


def test_flags_go_before_a_scenario_axis_by_axis() -> None:
    section = {
        "axes": {"gamma": [0, 4], "rtt_ms": [0, 5]},
        "method": "list",
        "seeds": [0, 1],
        "reference": {"gamma": 0},
    }
    found = merged(section, Places(name="edge"), Request(), ["gamma=8,16"])
    assert [(axis.key, axis.values) for axis in found.axes] == [("gamma", (8, 16)), ("rtt_ms", (0.0, 5.0))]
    assert found.method is Method.LIST
    assert found.seeds == (0, 1)
    assert found.reference == {"gamma": 0}
    assert merged(section, Places(name="edge"), Request(seeds=(7,)), []).seeds == (7,)


@pytest.mark.parametrize(
    ("section", "says"),
    [
        ({"axis": {}}, "did you mean 'axes'"),
        ({"method": "gird"}, "one of grid, list"),
        ({"samples": 0}, "from 1"),
        ({"seeds": ["a"]}, "whole numbers"),
        ({"axes": {"gama": [1]}}, "did you mean 'gamma'"),
        ({"axes": [1]}, "table of options"),
    ],
)
def test_sections_that_cannot_be_used(section: dict[str, Any], says: str) -> None:
    with pytest.raises(OptionError, match=says) as raised:
        merged(section, Places(name="edge"), Request(), [])
    assert "edge" in str(raised.value)


def test_references_as_text() -> None:
    assert reference_of(["gamma=0", "max-concurrency=4"], "--reference") == {"gamma": 0, "max_concurrency": 4}
    with pytest.raises(OptionError, match="did you mean 'gamma'"):
        reference_of(["gama=0"], "--reference")
