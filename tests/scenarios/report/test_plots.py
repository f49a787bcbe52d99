"""Each plot says what the run's own results say."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from scenarios.report.glossary import GLOSSARY
from scenarios.report.plot import Drawing, NotDrawn, Plot
from scenarios.report.registry import all_plots, plots_of
from scenarios.report.subjects import LawTruth, Runs, read_subject
from scenarios.report.theme import DARK, LIGHT, resolved
from tests.scenarios.report.conftest import Checked, Made


def _plot(name: str) -> Plot:
    return next(plot for plot in all_plots() if plot.name == name)


def _drawn(name: str, *made: Made) -> Drawing:
    drawing = _plot(name).draw(read_subject([str(one.folder) for one in made]))
    assert isinstance(drawing, Drawing), drawing
    return drawing


def test_names_are_unique_and_terms_are_explained() -> None:
    names = [plot.name for plot in all_plots()]
    assert len(set(names)) == len(names)
    assert {"saving-by-schema", "tokens-per-round", "gamma-curve", "latency", "throughput-latency"} <= set(names)
    assert all(plot.title and plot.definition for plot in all_plots())


def test_both_themes_have_the_same_colours() -> None:
    assert LIGHT.keys() == DARK.keys()


@pytest.mark.parametrize("name", ["run", "steep", "measured", "plain"])
def test_every_plot_is_drawn_or_says_why_not(name: str, request: pytest.FixtureRequest) -> None:
    made = request.getfixturevalue(name)
    subject = read_subject([str(made.folder)])
    drawn = 0
    for plot in plots_of(subject):
        drawing = plot.draw(subject)
        if isinstance(drawing, NotDrawn):
            assert drawing.reason
            continue
        drawn += 1
        assert drawing.finding.endswith(".")
        assert all(len(row) == len(drawing.table.columns) for row in drawing.table.rows)
        assert all(column.term is None or column.term in GLOSSARY for column in drawing.table.columns)
        for panel in drawing.panels:
            spec = json.dumps(resolved(panel.chart.to_dict(), LIGHT), allow_nan=False)
            assert "var(--" not in spec
    assert drawn == (4 if name == "plain" else 8)


def test_latency_quantiles_are_those_of_the_summary(run: Made) -> None:
    rows = {(row[0], row[1]): row for row in _drawn("latency", run).table.rows}
    for metric, own, base in (
        ("TTFT", run.asked.answer.replay.ttft_s, run.asked.answer.baseline.ttft_s),
        ("E2EL", run.asked.answer.replay.e2el_s, run.asked.answer.baseline.e2el_s),
        ("TPOT", run.asked.answer.replay.tpot_s, run.asked.answer.baseline.tpot_s),
    ):
        for share, mark in ((0.5, "p50"), (0.9, "p90"), (0.99, "p99"), (1.0, "max")):
            assert rows[metric, share][2:] == pytest.approx((own[mark], base[mark]))


def test_waterfall_ends_at_the_total(run: Made) -> None:
    cost = run.asked.answer.replay.cost
    rows = [row for row in _drawn("cost-waterfall", run).table.rows if row[0] == "with speculation"]
    assert rows[-1][1] == "C_total"
    assert rows[-1][4] == pytest.approx(cost.C_total_s)
    assert sum(row[4] for row in rows[:-1]) == pytest.approx(cost.C_total_s)
    assert [row[2] for row in rows[1:-1]] == pytest.approx([row[3] for row in rows[:-2]])
    assert rows[-2][4] == pytest.approx((cost.nu - 1) / cost.nu * cost.C_total_s)


def test_load_peaks_are_those_of_the_summary(run: Made) -> None:
    rows = np.array(_drawn("load-over-time", run).table.rows)
    summary = run.asked.answer.replay
    assert rows[:, 1].max() == summary.max_num_requests_running
    assert rows[:, 2].max() == summary.max_num_requests_waiting
    assert rows[:, 3].max() == pytest.approx(summary.max_kv_cache_usage)
    assert (np.diff(rows[:, 0]) > 0).all()


def test_the_curve_passes_through_this_traffic(run: Made) -> None:
    rows = _drawn("saving-by-schema", run).table.rows
    point = run.asked.answer.break_even
    exact = next(row.exact for row in run.asked.answer.comparison if row.quantity == "decode saving s")
    at = [row for row in rows if row[0].startswith("exact") and math.isclose(row[1], point.w_S, rel_tol=1e-9)]
    assert at[0][2] == pytest.approx(exact)
    law = [row for row in rows if row[0].startswith("law")]
    by_law = np.interp(point.w_S, [row[1] for row in law], [row[2] for row in law])
    assert by_law == pytest.approx(next(row.law for row in run.asked.answer.comparison[1:]), abs=2e-4)


def test_saving_changes_sign_at_the_break_even(steep: Made) -> None:
    drawing = _drawn("saving-by-schema", steep)
    exact = [row for row in drawing.table.rows if row[0].startswith("exact")]
    assert exact[0][2] < 0 < exact[-1][2]
    details = read_subject([str(steep.folder)]).main.details
    found = details.schema_curve.break_even.on_spans
    assert np.interp(found, [row[1] for row in exact], [row[2] for row in exact]) == pytest.approx(0, abs=0.05)
    assert f"breaks even at {found * 100:.1f} %" in drawing.finding


def test_known_rounds_are_shown_as_measured(run: Made, measured: Made) -> None:
    columns = [column.key for column in _drawn("tokens-per-round", run).table.columns]
    expected = dict(zip(columns, _drawn("tokens-per-round", run).table.rows[1], strict=True))
    known = dict(zip(columns, _drawn("tokens-per-round", measured).table.rows[1], strict=True))
    assert expected["measured"] is None
    assert known["exact"] is None
    row = measured.asked.answer.classes[0]
    assert known["measured"] == row.tokens_per_round_exact
    assert expected["exact"] == run.asked.answer.classes[0].tokens_per_round_exact
    assert expected["law"] == pytest.approx(run.asked.answer.classes[0].tau_law + 1)


def test_several_runs_stand_beside_each_other(run: Made, steep: Made, plain: Made) -> None:
    table = _drawn("throughput-latency", run, steep, plain).table
    assert [row[:3] for row in table.rows] == [
        ("sample", "with speculation", 8),
        ("sample", "without", 0),
        ("steep", "with speculation", 4),
        ("steep", "without", 0),
        ("plain", "without", 0),
    ]


def test_a_check_of_the_law_has_its_own_plots(checked: Checked) -> None:
    subject = read_subject([str(checked.path)])
    assert isinstance(subject, LawTruth)
    drawn = {plot.name: plot.draw(subject) for plot in plots_of(subject)}
    assert set(drawn) == {"law-approximations", "law-classes", "law-spans", "law-break-even"}
    rows = {row[0]: row[1] for row in drawn["law-approximations"].table.rows}
    assert rows == {one.name: one.tokens_per_round for one in checked.check.approximations}
    assert [row[2] for row in drawn["law-spans"].table.rows] == [one.tokens for one in checked.check.spans]


def test_plots_of_runs_are_not_plots_of_checks(run: Made, checked: Checked) -> None:
    of_runs = {plot.name for plot in plots_of(read_subject([str(run.folder)]))}
    of_checks = {plot.name for plot in plots_of(read_subject([str(checked.path)]))}
    assert not of_runs & of_checks
    assert of_runs | of_checks == {plot.name for plot in all_plots()}
    assert all(plot.subject in (Runs, LawTruth) for plot in all_plots())
