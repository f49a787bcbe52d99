"""From a recording or knobs to a synthetic trace file with its report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import msgspec

from scenarios.law.schemacurve import SchemaCurve
from scenarios.options.read import ReadOptions
from scenarios.options.replay import ReplayOptions
from scenarios.recordings.recording import known_format, open_recording, session_tagger
from scenarios.synth.declared import Declared, declared_model
from scenarios.synth.fit import Fitter
from scenarios.synth.lengths import BLOCK_TOKENS
from scenarios.synth.model import SynthModel
from scenarios.synth.neutral import neutral
from scenarios.synth.report import Compared, Features, compare, features
from scenarios.synth.saving import checked_options, saving_curve
from scenarios.synth.target import NEAR, Traffic, scale_for, schema_share
from scenarios.synth.words import Vocabulary
from tokenclass.layout import Layout
from tokenclass.tokenizers import load_tokenizer
from traces.model import Session
from traces.readlog import ReadLog
from traces.store import write_trace

REPORT_SESSIONS = 1000
"""Synthetic sessions that the report looks at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthOptions:
    """What to generate; without *paths* to fit to, traffic is *declared*."""

    paths: Sequence[str] = ()
    declared: Declared = field(default_factory=Declared)
    sessions: int = 100
    target_w_S: float | None = None
    replay: ReplayOptions = field(default_factory=ReplayOptions)
    """Under which the saving at target_w_S is found."""
    lengths_only: bool = False
    neutral_names: bool = False
    seed: int = 0


class SynthReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was written and how it compares with its source."""

    sessions: int
    turns: int
    w_S: float | None
    """Schema share of the sessions looked at."""
    non_schema_scale: float
    """Factor that --target-w-s put on the lengths of reasoning and prose."""
    saving: SchemaCurve | None
    """Of speculation on this traffic, by schema share; None without --target-w-s."""
    source_sha256: str | None
    compared: list[Compared]
    notes: list[str]


def synthesize(
    options: SynthOptions, read: ReadOptions, target: Path, progress: Callable[[int], None] | None = None
) -> SynthReport:
    """Write a synthetic trace to *target*.

    Raises TraceError or SimtoolError for input that cannot be used, OptionError for options out of range.
    """
    replay = checked_options(options.replay) if options.target_w_S is not None else None
    tokenizer = load_tokenizer(read.tokenizer)
    vocabulary = Vocabulary(tokenizer)
    source: Features = {}
    sha256 = None
    if options.paths:
        model, source, sha256 = _fitted(options, read)
    else:
        model = declared_model(options.declared, vocabulary)
    if options.neutral_names:
        model = neutral(model)
    traffic = Traffic(
        model=model,
        vocabulary=vocabulary,
        tokenizer=tokenizer,
        layout=Layout.named(read.tool_call_format),
        seed=options.seed,
        sessions=options.sessions,
        lengths_only=options.lengths_only,
    )
    scale = 1.0 if options.target_w_S is None else scale_for(traffic, options.target_w_S)
    turns = _Turns()
    notes = _notes(options)
    written = turns.counting(traffic.written(scale), progress)
    count = write_trace(written, target, ReadLog(), "simtool synth", notes)
    found: Features = {}
    if options.paths or not options.lengths_only:
        found = features(map(session_tagger(read).tag, islice(traffic.written(scale), REPORT_SESSIONS)))
    share = _pooled_w_S(found) if found else schema_share(traffic, scale)
    return SynthReport(
        sessions=count,
        turns=turns.count,
        w_S=share,
        non_schema_scale=scale,
        saving=saving_curve(traffic.written(scale), read, replay) if replay is not None else None,
        source_sha256=sha256,
        compared=compare(source, found),
        notes=[*notes, *_missed(options, share)],
    )


class _Turns:
    """Counts the turns of the sessions that pass."""

    def __init__(self) -> None:
        self.count = 0

    def counting(self, sessions: Iterator[Session], progress: Callable[[int], None] | None) -> Iterator[Session]:
        for number, session in enumerate(sessions, start=1):
            self.count += len(session.turns)
            if progress is not None:
                progress(number)
            yield session


def _fitted(options: SynthOptions, read: ReadOptions) -> tuple[SynthModel, Features, str]:
    recording = open_recording(options.paths, read)
    sessions, read = known_format(recording, read)
    fitter = Fitter(load_tokenizer(read.tokenizer), read.output_format)
    tagger = session_tagger(read)

    def tagged() -> Iterator[Session]:
        for session in sessions:
            fitter.add(session)
            yield session

    source = features(map(tagger.tag, tagged()))
    return fitter.model(), source, recording.sha256


def _missed(options: SynthOptions, share: float | None) -> Iterator[str]:
    """Why the share that was found is not the one wanted."""
    if options.target_w_S is None or share is None or abs(share - options.target_w_S) <= NEAR:
        return
    reason = f"the first {REPORT_SESSIONS} sessions are looked at, more were scaled together"
    if options.sessions <= REPORT_SESSIONS:
        reason = "lengths are whole tokens, and these sessions are few or their calls bound it"
    yield f"w_S is {abs(share - options.target_w_S) * 100:.1f} points off --target-w-s: {reason}"


def _pooled_w_S(found: Features) -> float | None:
    spans = {name: found.get(f"{name} span tokens") for name in ("S", "R", "F")}
    totals = {name: sum(span.values) if span is not None else 0.0 for name, span in spans.items()}
    return totals["S"] / sum(totals.values()) if any(totals.values()) else None


def _notes(options: SynthOptions) -> list[str]:
    notes = [f"synthetic: seed {options.seed}, {'fitted to a recording' if options.paths else 'declared by knobs'}"]
    if options.lengths_only:
        notes.append(
            f"lengths only: shared prefixes are known by blocks of {BLOCK_TOKENS} tokens, and an output is not in "
            "the cache before a prompt repeats it"
        )
    if options.neutral_names:
        notes.append("names of tools and keys are invented")
    return notes
