"""Plots as files."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest

from scenarios.options.replay import OptionError
from scenarios.report.export import PlotFormat, write_plots
from scenarios.report.subjects import read_subject
from tests.scenarios.report.conftest import Checked, Made


def test_png_and_svg_of_every_plot_that_can_be_drawn(run: Made, tmp_path: Path) -> None:
    subject = read_subject([str(run.folder)])
    pngs = write_plots(subject, tmp_path / "png", PlotFormat.PNG, force=False)
    svgs = write_plots(subject, tmp_path / "svg", PlotFormat.SVG, force=False)
    assert [path.stem for path in pngs] == [path.stem for path in svgs]
    assert {"latency", "cost-waterfall", "saving-by-schema"} <= {path.stem for path in pngs}
    assert "throughput-latency" not in {path.stem for path in pngs}
    for path in pngs:
        head = path.read_bytes()[:24]
        assert head[:8] == b"\x89PNG\r\n\x1a\n"
        width, height = struct.unpack(">II", head[16:24])
        assert width > 1000
        assert height > 500
    for path in svgs:
        text = path.read_text(encoding="utf-8")
        assert text.startswith("<svg")
        assert "var(--" not in text
        marks = re.findall(r'aria-roledescription="(?:bar|point|line mark)"[^>]* d="M[^"]{8,}"', text)
        assert len(marks) >= 3, path.stem
        assert not re.search(r"(?:href|src)=\"(?!#)", text)


def test_hostile_names_stay_text(hostile: Made, tmp_path: Path) -> None:
    (tools,) = [
        path
        for path in write_plots(read_subject([str(hostile.folder)]), tmp_path, PlotFormat.SVG, force=False)
        if path.stem == "tools"
    ]
    text = tools.read_text(encoding="utf-8")
    assert "&lt;img src=x onerror" in text
    assert "<img" not in text
    assert "<script" not in text
    assert "var(--nothing)" in text


def test_files_are_not_overwritten_unasked(checked: Checked, tmp_path: Path) -> None:
    subject = read_subject([str(checked.path)])
    first = write_plots(subject, tmp_path, PlotFormat.SVG, force=False)
    first[-1].write_text("mine")
    with pytest.raises(OptionError, match="--force"):
        write_plots(subject, tmp_path, PlotFormat.SVG, force=False)
    assert first[-1].read_text() == "mine"
    write_plots(subject, tmp_path, PlotFormat.SVG, force=True)
    assert first[-1].read_text().startswith("<svg")
