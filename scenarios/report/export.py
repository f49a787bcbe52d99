"""Plots as PNG or SVG files, for papers."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path

import vl_convert

from scenarios.options.replay import OptionError
from scenarios.report.plot import NotDrawn
from scenarios.report.registry import plots_of
from scenarios.report.specs import VEGA_LITE, file_spec
from scenarios.report.subjects import Subject
from traces.atomic import whole_file
from traces.errors import SimtoolError

PPI = 216


class PlotFormat(StrEnum):
    """Formats of exported plots."""

    PNG = "png"
    SVG = "svg"


def write_plots(subject: Subject, folder: Path, kind: PlotFormat, *, force: bool) -> list[Path]:
    """Write each plot of *subject* that can be drawn into *folder* and return the files.

    Nothing is fetched. Raises OptionError for files that are there already unless *force* is set.
    """
    drawn = [(plot, plot.draw(subject)) for plot in plots_of(subject)]
    found = [(folder / f"{plot.name}.{kind.value}", one) for plot, one in drawn if not isinstance(one, NotDrawn)]
    for path, _ in found:
        if path.exists() and not force:
            raise OptionError(f"--plots {folder} already holds {path.name}: add --force to overwrite it")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SimtoolError(f"cannot make --plots {folder}: {error.strerror or error}") from error
    for path, drawing in found:
        spec = json.dumps(file_spec(drawing))
        with whole_file(path) as partial:
            if kind is PlotFormat.PNG:
                partial.write_bytes(vl_convert.vegalite_to_png(spec, VEGA_LITE, ppi=PPI, allowed_base_urls=[]))
            else:
                partial.write_text(vl_convert.vegalite_to_svg(spec, VEGA_LITE, allowed_base_urls=[]))
    return [path for path, _ in found]
