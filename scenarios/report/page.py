"""Renders a subject as one HTML file that needs nothing beside itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

import jinja2
import vl_convert

from scenarios.answer import Answer
from scenarios.report.cells import heading, is_text, prose, shown
from scenarios.report.embed import json_in_html, script_hash, script_in_html
from scenarios.report.excerpts import NAMES, Passage, passages
from scenarios.report.glossary import glossary
from scenarios.report.plot import Drawing, NotDrawn, Plot, Table
from scenarios.report.registry import plots_of
from scenarios.report.specs import VEGA_LITE, page_spec
from scenarios.report.subjects import Runs, Subject
from scenarios.report.tables import Block, blocks, settings
from scenarios.report.theme import DARK, LIGHT, chart_config
from scenarios.report.verdicts import Headline, of_check, of_run
from traces.safetext import safe

SHOWN_ROWS = 400
"""Rows of a table that the page shows; its download has all."""


@dataclass(slots=True)
class Section:
    """A part of the page: plots, and tables beside them."""

    title: str
    plots: list[tuple[Plot, Drawing]] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)

    @property
    def anchor(self) -> str:
        """Its id on the page."""
        return "".join(char if char.isalnum() else "-" for char in self.title.lower()).strip("-")


@dataclass(slots=True)
class Rendered:
    """A page, and what of it could not be drawn."""

    html: str
    drawn: list[str]
    left_out: dict[str, str]
    """Title of a plot -> why."""


def render(subject: Subject, *, excerpt: bool = True) -> Rendered:
    """The page of *subject*; *excerpt*: with the passages of the recording that the run's folder holds."""
    sections: dict[str, Section] = {}
    left_out: dict[str, str] = {}
    for plot in plots_of(subject):
        drawing = plot.draw(subject)
        if isinstance(drawing, NotDrawn):
            left_out[plot.title] = drawing.reason
            continue
        sections.setdefault(plot.section, Section(plot.section)).plots.append((plot, drawing))
    for block in blocks(subject.main.answer) if isinstance(subject, Runs) else []:
        sections.setdefault(block.section, Section(block.section)).blocks.append(block)
    html = (
        _environment()
        .get_template("report.html.j2")
        .render(**_content(subject, list(sections.values()), left_out, excerpt=excerpt))
    )
    drawn = [plot.name for section in sections.values() for plot, _ in section.plots]
    return Rendered(html, drawn, left_out)


def _content(
    subject: Subject, sections: Sequence[Section], left_out: dict[str, str], *, excerpt: bool
) -> dict[str, Any]:
    code = script_in_html(_static("report.js"))
    bundle = script_in_html(vl_convert.javascript_bundle(vl_version=VEGA_LITE))  # type: ignore[call-arg]
    tables = {plot.name: (plot.title, drawing.table) for section in sections for plot, drawing in section.plots}
    tables |= {block.name: (block.title, block.table) for section in sections for block in section.blocks}
    result = subject.main.answer if isinstance(subject, Runs) else subject.check
    data = {
        "specs": {
            f"{plot.name}-{number}": page_spec(plot, drawing, panel)
            for section in sections
            for plot, drawing in section.plots
            for number, panel in enumerate(drawing.panels)
        },
        "config": chart_config(),
        "tables": {name: _download(title, table) for name, (title, table) in tables.items()},
        "glossary": glossary(),
        "result": result,
    }
    return {
        "name": subject.main.name if isinstance(subject, Runs) else subject.name,
        "headline": _headline(subject),
        "sections": sections,
        "left_out": left_out,
        "glossary": glossary(),
        "answer": result if isinstance(result, Answer) else None,
        "trace_sha256": result.trace.sha256 if isinstance(result, Answer) else result.trace_sha256,
        "result": result,
        "settings": settings(result.config),
        "passages": _passages(subject) if excerpt else [],
        "sub_classes": NAMES,
        "other_runs": subject.others if isinstance(subject, Runs) else (),
        "style": script_in_html(_static("report.css")),
        "light": LIGHT,
        "dark": DARK,
        "data": json_in_html(data),
        "bundle": bundle,
        "code": code,
        "script_hashes": [script_hash(bundle), script_hash(code)],
        "shown_rows": SHOWN_ROWS,
    }


def _headline(subject: Subject) -> Headline:
    return of_run(subject.main.answer) if isinstance(subject, Runs) else of_check(subject.check)


def _passages(subject: Subject) -> list[Passage]:
    if not isinstance(subject, Runs) or subject.main.details is None:
        return []
    return passages(subject.main.details.excerpt)


def _download(title: str, table: Table) -> dict[str, Any]:
    return {"title": title, "columns": [column.key for column in table.columns], "rows": list(table.rows)}


def _static(name: str) -> str:
    return files("scenarios.report").joinpath("static", name).read_text(encoding="utf-8")


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("scenarios.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"safe_text": safe, "prose": prose, "shown": shown, "heading": heading}
    environment.tests |= {"text_column": is_text}
    return environment
