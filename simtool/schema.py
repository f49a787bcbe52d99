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


def command(document: Annotated[Document, typer.Argument(help="Which document.")]) -> None:
    """Print the JSON Schema of the canonical trace, of a replay's result, of what tag finds, or of a profile."""
    from simtool.console import write_json

    if document is Document.TRACE:
        from traces.store import trace_schema

        write_json(trace_schema(), "-")
        return
    if document is Document.TAG:
        from scenarios.tagreport import schema as tag_schema

        write_json(tag_schema(), "-")
        return
    if document is Document.PROFILE:
        from scenarios.profilefile import schema as profile_schema

        write_json(profile_schema(), "-")
        return
    from scenarios.answer import schema

    write_json(schema(), "-")
