"""``simtool schema``: JSON Schemas of the documents that simtool reads and writes."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class Document(StrEnum):
    """Documents with a published schema."""

    TRACE = "trace"
    RESULT = "result"
    TAG = "tag"
    PROFILE = "profile"
    SCENARIO = "scenario"
    COMPARISON = "comparison"
    SWEEP = "sweep"
    PLAN = "plan"


_SCHEMAS = {
    Document.TRACE: "traces.store:trace_schema",
    Document.RESULT: "scenarios.answer:schema",
    Document.TAG: "scenarios.tags.tagreport:schema",
    Document.PROFILE: "scenarios.acceptance.profilefile:schema",
    Document.SCENARIO: "scenarios.scenariofile.schema:schema",
    Document.COMPARISON: "scenarios.comparison.document:schema",
    Document.SWEEP: "scenarios.sweep.document:schema",
    Document.PLAN: "scenarios.plan.document:schema",
}
"""Where each is made: a new document is one more row."""


def command(document: Annotated[Document, typer.Argument(help="Which document.")]) -> None:
    """Print the JSON Schema of a document that simtool reads or writes."""
    from importlib import import_module

    from simtool.console import write_json

    module, function = _SCHEMAS[document].split(":")
    write_json(getattr(import_module(module), function)(), "-")
