"""What the output tokens of a recording are made of, asked for in Python."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from scenarios.api.counting import Wanted, counting
from scenarios.api.frames import frame
from scenarios.api.given import Traces, resolve
from scenarios.jsonbytes import json_bytes
from scenarios.tags.tagging import tag_recording
from scenarios.tags.tagreport import KeyStats, OutputStats, TagReport, ToolStats


@dataclass(frozen=True, slots=True)
class Tags:
    """Labels of a recording, counted."""

    report: TagReport
    """As ``simtool schema tag`` describes it."""

    @property
    def outputs(self) -> OutputStats:
        """Figures of all outputs."""
        return self.report.outputs

    @property
    def classes(self) -> pd.DataFrame:
        """One row a class: tokens, share, spans and their mean length."""
        found = self.outputs
        total = found.output_tokens
        return pd.DataFrame(
            {
                "label": list(found.class_tokens),
                "tokens": list(found.class_tokens.values()),
                "share": [tokens / total if total else None for tokens in found.class_tokens.values()],
                "spans": [found.span_tokens[name].count for name in found.class_tokens],
                "mean_span_tokens": [found.span_tokens[name].mean for name in found.class_tokens],
            }
        )

    @property
    def subclasses(self) -> pd.DataFrame:
        """One row a sub-class of S: tokens and share of S."""
        found = self.outputs
        return pd.DataFrame(
            {
                "label": list(found.subclass_tokens),
                "tokens": list(found.subclass_tokens.values()),
                "share_of_S": [found.subclass_share_of_S[name] for name in found.subclass_tokens],
            }
        )

    @property
    def tools(self) -> pd.DataFrame:
        """One row a tool, by falling tokens."""
        return frame(self.report.tools, ToolStats)

    @property
    def keys(self) -> pd.DataFrame:
        """One row an argument of a tool, by falling tokens."""
        return frame(self.report.keys, KeyStats)

    @property
    def sessions(self) -> pd.DataFrame:
        """One row a session, if tagged with ``by_session=True``; else none."""
        rows = [
            {"session_id": one.session_id, "agent": one.agent, **_scalars(one.outputs)}
            for one in self.report.sessions or ()
        ]
        return pd.DataFrame(rows)

    def to_json(self) -> str:
        """The document as ``simtool tag --json -`` prints it, to the byte."""
        return json_bytes(self.report).decode()


def tag(
    traces: Traces | None = None,
    *,
    scenario: str | Path | None = None,
    by_session: bool = False,
    spans: str | Path | None = None,
    jobs: int = 1,
    progress: Wanted = False,
    **options: Any,
) -> Tags:
    """Label every output token of recordings S, R or F, as ``simtool tag`` does.

    Args:
        traces: Files or folders; None: those that *scenario* names.
        scenario: A scenario, of which only what concerns reading counts.
        by_session: Keep the figures of each session.
        spans: Write the labels there as Parquet, one row a run of one sub-class.
        jobs: Processes that label; the result is the same for any number.
        progress: True for a bar, or a function of the number of sessions labelled.
        options: Those of reading: ``tokenizer``, ``output_format``, ``skip_invalid`` ...

    Raises OptionError for unknown options and bad values, TraceError or SimtoolError for unusable recordings.
    """
    given = resolve(traces, scenario, options, only_reading=True)
    target = None if spans is None else Path(spans)
    with counting(progress, "sessions labelled") as count:
        report = tag_recording(
            given.traces, given.settings.read, jobs=jobs, by_session=by_session, spans=target, progress=count
        )
    return Tags(report)


def _scalars(stats: OutputStats) -> dict[str, Any]:
    fields = {name: getattr(stats, name) for name in stats.__struct_fields__}
    return {name: value for name, value in fields.items() if not isinstance(value, dict)}
