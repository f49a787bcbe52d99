"""From files to a workload: reads, tags and drops the text, session by session."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from scenarios.acceptance.forcedmasks import ForcedMasks
from scenarios.options.read import ReadOptions
from scenarios.recordings.mixfrom import span_model
from scenarios.recordings.outputformat import detected_format
from scenarios.recordings.sources import find_sources
from simulator.workload import Workload
from simulator.workloadbuilder import WorkloadBuilder
from tokenclass.formats.family import Family, ReasoningEnd
from tokenclass.formats.formatfile import load_format_file
from tokenclass.layout import Layout
from tokenclass.mix import ClassMix, Mix
from tokenclass.outputs import Observe, OutputRun
from tokenclass.render import known_families
from tokenclass.tagged import TaggedAttempt, TaggedCounts, TaggedSession
from tokenclass.tagger import Tagger, TagOptions
from tokenclass.tokenizers import load_tokenizer
from traces.errors import SimtoolError, TraceError
from traces.meter import ByteMeter
from traces.model import Session, Turn
from traces.readlog import ReadLog
from traces.registry import read_files
from traces.source import SourceFile

DEFAULT_CLASS_MIX = "S=0.345,R=0,F=0.655"
"""Classes of output tokens that a recording does not tell: those of a tool agent without reasoning."""
_MIX_SOURCE = "the default, as in tau-bench airline, gpt-4o"


Look = Callable[[Session], Observe | None]
"""Gives what is shown the outputs of a session before their text is dropped; None: nothing is."""


class Progress(Protocol):
    """Is told how far reading has come."""

    meter: ByteMeter

    def __call__(self, count: int, /) -> None:
        """Take the number of sessions so far."""
        ...


@dataclass(slots=True, kw_only=True)
class Recording:
    """Where the sessions come from and what was noted while reading them."""

    files: Sequence[SourceFile]
    log: ReadLog
    sha256: str
    """Of the names' order and the contents as stored."""
    straddling_tokens: int = 0
    hidden_reasoning_tokens: int = 0
    measured_rounds: int = 0
    """Speculative rounds that the recording itself reports."""
    measured_accepted_tokens: int = 0
    """Drafts accepted in them."""
    assumptions: dict[str, int] = field(default_factory=dict)
    forced: ForcedMasks | None = None
    """Forced tokens, where they are asked for."""

    def count(self, attempt: TaggedAttempt) -> None:
        """Add what *attempt* reports of itself to the totals."""
        self.straddling_tokens += attempt.straddling_tokens
        self.hidden_reasoning_tokens += attempt.hidden_reasoning_tokens
        self.measured_rounds += len(attempt.accepted_per_round or ())
        self.measured_accepted_tokens += sum(attempt.accepted_per_round or ())

    @property
    def measured_tokens_per_round(self) -> float | None:
        """Tokens a round emitted by the recording's own account; None if it reports no rounds."""
        return 1 + self.measured_accepted_tokens / self.measured_rounds if self.measured_rounds else None

    def notes(self) -> dict[str, int]:
        """All assumptions with how often each was made, of reading and of tagging."""
        return {**self.log.assumptions, **self.assumptions}


def read_log(options: ReadOptions) -> ReadLog:
    """A log that asks readers for what *options* say."""
    return ReadLog(skip_invalid=options.skip_invalid, simulated_users=options.simulated_users)


def open_recording(paths: Iterable[str], options: ReadOptions, progress: Progress | None = None) -> Recording:
    """The files of *paths*, hashed. Raises TraceError if there are none."""
    files = find_sources(list(paths), options)
    digest = hashlib.sha256()
    for file in metered(files, progress, "sha256 of the files"):
        with file.open_stored(file.meter) as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    return Recording(files=files, log=read_log(options), sha256=digest.hexdigest())


def session_tagger(options: ReadOptions) -> Tagger:
    """A tagger as *options* say. Raises SimtoolError for a tokenizer, format or class mix that is not usable."""
    options = with_span_model(options)
    mix: Mix = options.span_model or ClassMix.parse(
        options.class_mix or DEFAULT_CLASS_MIX, span_tokens=options.span_tokens, seed=options.seed
    )
    return Tagger(load_tokenizer(options.tokenizer), Layout.named(options.tool_call_format), _tags(options, mix))


def with_span_model(options: ReadOptions) -> ReadOptions:
    """*options* with the model of spans that mix_from names. Raises SimtoolError for one that is not usable."""
    if options.mix_from is None or options.span_model is not None:
        return options
    if options.class_mix is not None:
        raise SimtoolError("--class-mix and --mix-from both say what outputs without text are: give one")
    tokenizer, layout = load_tokenizer(options.tokenizer), Layout.named(options.tool_call_format)
    found = span_model(options.mix_from, options.seed, tokenizer, layout, _tags(options, None))
    return replace(options, span_model=found)


def raw_families(options: ReadOptions) -> tuple[Family, ...]:
    """Formats of recorded completion text by *options*; none where it is to be detected.

    Raises SimtoolError for an unknown name, TraceError for a declaration that cannot be used.
    """
    if options.format_file is not None:
        return (load_format_file(options.format_file),)
    return known_families(options.output_format)


def _tags(options: ReadOptions, mix: Mix | None) -> TagOptions:
    recorded = options.recording_tokenizer
    return TagOptions(
        raw_family=raw_families(options),
        reasoning_end=ReasoningEnd(options.reasoning_end),
        recording_tokenizer=load_tokenizer(recorded) if recorded is not None else None,
        class_mix=mix,
    )


def tagged_sessions(
    recording: Recording, options: ReadOptions, progress: Progress | None = None, look: Look | None = None
) -> Iterator[TaggedSession]:
    """The sessions of *recording*, read and tagged one at a time; notes gather in *recording*, *look* sees the text."""
    sessions, options = known_format(recording, options, progress)
    tagger = session_tagger(options)
    look = _looks(recording.forced, look, options)
    for session in (tagger.tag(one, look(one) if look is not None else None) for one in sessions):
        _note(recording, session)
        yield session
    recording.assumptions = with_default_mix(recording.assumptions, options)


def _tagged_together(
    recording: Recording, options: ReadOptions, progress: Progress | None
) -> Iterator[TaggedSession | TaggedCounts]:
    """As `tagged_sessions`, those of lengths only together."""
    sessions, options = known_format(recording, options, progress)
    for tagged in session_tagger(options).tag_many(sessions):
        _note(recording, tagged)
        yield tagged
    recording.assumptions = with_default_mix(recording.assumptions, options)


def _note(recording: Recording, tagged: TaggedSession | TaggedCounts) -> None:
    for text, count in tagged.assumptions.items():
        recording.assumptions[text] = recording.assumptions.get(text, 0) + count
    if isinstance(tagged, TaggedSession):
        for turn in tagged.turns:
            for attempt in turn.attempts:
                recording.count(attempt)


def _looks(forced: ForcedMasks | None, look: Look | None, options: ReadOptions) -> Look | None:
    """*look*, and *forced* beside it."""
    if forced is None:
        return look
    raw_forms = raw_families(options)

    def both(session: Session) -> Observe:
        watch, seen = forced.watch(session, options, raw_forms), None if look is None else look(session)

        def observe(turn: Turn, number: int, runs: Sequence[OutputRun]) -> None:
            watch(turn, number, runs)
            if seen is not None:
                seen(turn, number, runs)

        return observe

    return both


def known_format(
    recording: Recording, options: ReadOptions, progress: Progress | None = None
) -> tuple[Iterator[Session], ReadOptions]:
    """The sessions of *recording*, and *options* with what they leave open.

    That is the output format of its completions, detected if not given, and the model of spans to draw from.
    """
    options = with_span_model(options)
    files = metered(recording.files, progress)
    sessions = counted(read_files(files, recording.log, options.format_name), progress)
    if options.output_format is not None or options.format_file is not None:
        return sessions, options
    family, note, sessions = detected_format(sessions)
    if note is not None:
        recording.assumptions[note] = 1
    return sessions, replace(options, output_format=family)


def with_default_mix(assumptions: Mapping[str, int], options: ReadOptions) -> dict[str, int]:
    """*assumptions* of tagging; that of a class mix says so where the mix is nobody's choice."""
    if options.class_mix is not None:
        return dict(assumptions)
    return {
        f"{text} ({_MIX_SOURCE}; set another)" if "--class-mix" in text else text: count
        for text, count in assumptions.items()
    }


def load_workload(
    recording: Recording,
    options: ReadOptions,
    *,
    block_size: int,
    every_prompt_twice: bool = False,
    keep_ids: bool = False,
    keep_forced: bool = False,
    progress: Progress | None = None,
    look: Look | None = None,
) -> Workload:
    """The workload of *recording* for an engine with KV blocks of *block_size* tokens; *keep_ids*: with token ids.

    *keep_forced* puts the forced tokens of its outputs into *recording*.
    """
    recording.forced = ForcedMasks() if keep_forced else None
    builder = WorkloadBuilder(block_size, keep_ids=keep_ids)
    if keep_ids or keep_forced or look is not None:
        for session in tagged_sessions(recording, options, progress, look):
            builder.add(session)
    else:
        for tagged in _tagged_together(recording, options, progress):
            if isinstance(tagged, TaggedCounts):
                builder.add_counts(tagged)
            else:
                builder.add(tagged)
    workload = builder.build(every_prompt_twice=every_prompt_twice)
    if not workload.n_turns:
        raise TraceError(recording.files[0].name, None, "no turn with an output in the input", "name another recording")
    unknown = int(np.count_nonzero(np.isnan(workload.turn_tool_wait_s) & workload.turn_has_tools))
    if unknown:
        recording.assumptions["duration of the tools not recorded: --unknown-tool-wait is used"] = unknown
    return workload


def metered(files: Sequence[SourceFile], progress: Progress | None, stage: str = "") -> list[SourceFile]:
    """*files*, which tell *progress* how far they were read, for *stage* if not for their records."""
    if progress is None:
        return list(files)
    progress.meter.begin([file.path for file in files if file.path is not None], stage)
    return [replace(file, meter=progress.meter) for file in files]


def counted(sessions: Iterator[Session], progress: Progress | None) -> Iterator[Session]:
    """Pass *sessions* through, calling *progress* with the count so far."""
    for count, session in enumerate(sessions, start=1):
        if progress is not None:
            progress(count)
        yield session
