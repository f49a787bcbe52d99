"""Tags a recording and says what its output tokens are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from scenarios.options.read import ReadOptions
from scenarios.recordings.recording import Progress, Recording, known_format, metered, open_recording, with_default_mix
from scenarios.tags.tagpool import session_tallies
from scenarios.tags.tagreport import (
    SCHEMA_VERSION,
    AgentStats,
    SessionStats,
    TaggedTraceInfo,
    TagReport,
    key_stats,
    output_stats,
    tool_stats,
)
from scenarios.tags.tagsession import Detail, SessionTally
from scenarios.tags.tagspans import span_writer
from scenarios.tags.tagtally import OutputTally, ToolTally
from tokenclass.classes import PositionClass
from tokenclass.tokenizers import load_tokenizer


@dataclass(slots=True, eq=False)
class _Sums:
    whole: OutputTally = field(default_factory=OutputTally)
    agents: dict[str | None, OutputTally] = field(default_factory=dict)
    tools: dict[str | None, ToolTally] = field(default_factory=dict)
    sessions: list[SessionStats] = field(default_factory=list)
    assumptions: dict[str, int] = field(default_factory=dict)

    def add(self, tally: SessionTally) -> None:
        self.whole.merge(tally.outputs)
        self.agents.setdefault(tally.agent, OutputTally()).merge(tally.outputs)
        for name, tool in tally.tools.items():
            self.tools.setdefault(name, ToolTally()).merge(tool)
        if tally.stats is not None:
            self.sessions.append(tally.stats)
        for text, count in tally.assumptions.items():
            self.assumptions[text] = self.assumptions.get(text, 0) + count


def tag_recording(
    paths: Sequence[str],
    options: ReadOptions,
    *,
    jobs: int = 1,
    by_session: bool = False,
    spans: Path | None = None,
    progress: Progress | None = None,
) -> TagReport:
    """Label the outputs of the recordings at *paths* and count them; with *spans* write the labels there, too.

    Memory is bounded by the longest session, except that *by_session* keeps the figures of each.
    Reading is done by one process, labelling by *jobs*; the result does not depend on their number. Raises
    TraceError or SimtoolError for recordings that cannot be used.
    """
    recording = open_recording(paths, options, progress)
    sums = _Sums()
    sinks: list[Callable[[SessionTally], None]] = [sums.add]
    with ExitStack() as stack:
        if spans is not None:
            sinks.append(stack.enter_context(span_writer(spans)).add)
        recording.files = metered(recording.files, progress)
        sessions, options = known_format(recording, options)
        detail = Detail(labels=spans is not None, stats=by_session)
        tallies = session_tallies(sessions, options, detail, jobs=jobs)
        for count, tally in enumerate(tallies, start=1):
            for sink in sinks:
                sink(tally)
            if progress is not None:
                progress(count)
    return _report(recording, options, sums, by_session=by_session)


def _report(recording: Recording, options: ReadOptions, sums: _Sums, *, by_session: bool) -> TagReport:
    in_calls = int(sums.whole.class_tokens[PositionClass.S])
    return TagReport(
        schema_version=SCHEMA_VERSION,
        tool="simtool",
        version=version("simtool"),
        seed=options.seed,
        trace=TaggedTraceInfo(
            sha256=recording.sha256,
            files=len(recording.files),
            vocabulary_xxh64=load_tokenizer(options.tokenizer).fingerprint,
            tool_call_format=options.tool_call_format,
        ),
        outputs=output_stats(sums.whole),
        agents=[AgentStats(agent=name, outputs=output_stats(tally)) for name, tally in sums.agents.items()],
        tools=tool_stats(sums.tools, in_calls),
        keys=key_stats(sums.tools, in_calls),
        sessions=sums.sessions if by_session else None,
        assumptions={**recording.notes(), **with_default_mix(sums.assumptions, options)},
        omissions=dict(recording.log.omitted),
        duplicates=dict(recording.log.duplicates),
    )
