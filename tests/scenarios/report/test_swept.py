"""The points of a sweep in a report, against the sweep's own summary."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scenarios import api
from scenarios.report.plot import Drawing
from scenarios.report.plots.throughput_latency import PLOT
from scenarios.report.subjects import Runs, read_subject, with_sweep
from scenarios.report.swept import read_sweep
from tests.scenarios.report.conftest import Checked, Made
from tests.scenarios.sweep.recordings import short_recording
from traces.errors import SimtoolError


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> api.Swept:
    folder = tmp_path_factory.mktemp("swept")
    axes = {"gamma": [0, 2, "S=5,R=1,F=0"], "max_concurrency": [1, 2]}
    return api.sweep(short_recording(folder), axes=axes, seeds=[0, 1], folder=folder / "sweep", jobs=1)


def test_points_are_means_over_seeds(swept: api.Swept) -> None:
    found = read_sweep(swept.folder)
    rows = swept.summary.points
    assert [point.name for point in found.points] == [row.name for row in rows]
    assert [point.gamma for point in found.points] == [0, 0, 2, 2, 5, 5]
    for point, row in zip(found.points, rows, strict=True):
        for key in ("p99_e2el_ms", "output_throughput_tokens_per_s", "C_total_usd_per_1000_turns"):
            assert point.figures[key] == pytest.approx(row.figures[key].value)


def test_the_plot_has_the_points_beside_the_run(run: Made, swept: api.Swept) -> None:
    alone = read_subject([str(run.folder)])
    assert not isinstance(PLOT.draw(alone), Drawing)
    drawing = PLOT.draw(with_sweep(alone, swept.folder))
    assert isinstance(drawing, Drawing)
    own = [row for row in drawing.table.records() if row["run"] == "sweep"]
    assert [row["load"] for row in own] == [point.name for point in read_sweep(swept.folder).points]
    assert {row["by"] for row in own} == {"with speculation", "without"}
    labels = json.dumps([panel.chart.to_dict() for panel in drawing.panels])
    assert all(f'"label": "gamma {gamma}"' in labels for gamma in (0, 2, 5))


def test_what_is_no_sweep_is_an_error(run: Made, checked: Checked, swept: api.Swept, tmp_path: Path) -> None:
    with pytest.raises(SimtoolError, match="no finished sweep"):
        read_sweep(tmp_path)
    assert isinstance(with_sweep(read_subject([str(run.folder)]), None), Runs)
    with pytest.raises(SimtoolError, match="law-check"):
        with_sweep(read_subject([str(checked.path)]), swept.folder)
