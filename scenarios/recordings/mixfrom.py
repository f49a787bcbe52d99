"""Fits the model of spans that ``--mix-from`` names: to a recording, or to the table of one that was tagged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from scenarios.recordings.outputformat import detected_format
from scenarios.recordings.outputsonly import outputs_only
from tokenclass.layout import Layout
from tokenclass.mix import ClassMix
from tokenclass.spanmodel import SpanModel, SpanModelBuilder
from tokenclass.tagged import LabelRuns
from tokenclass.tagger import Tagger, TagOptions
from tokenclass.tokenizers import Tokenizer
from traces.readlog import ReadLog
from traces.registry import read_files
from traces.source import find_files

_ANY_MIX = ClassMix.parse("F=1")
"""Lets outputs with tokens of no class be tagged; they are then passed over."""


def span_model(path: str, seed: int, tokenizer: Tokenizer, layout: Layout, options: TagOptions) -> SpanModel:
    """The spans of the outputs that count in the recording or table of labels at *path*.

    The recording is tagged for *tokenizer* and *layout*, its unusable records left out. Raises TraceError or
    SimtoolError for what cannot be read or holds no output of known classes.
    """
    from scenarios.recordings.spantable import is_table, table_labels  # pyarrow, which few runs need

    outputs = table_labels(path) if is_table(path) else _from_recording(path, tokenizer, layout, options)
    builder = SpanModelBuilder()
    count = tokens = 0
    for labels in outputs:
        builder.add(labels)
        count += 1
        tokens += labels.n_tokens
    return builder.build(f"{Path(path).name} ({count:,} outputs, {tokens:,} tokens)", seed)


def _from_recording(path: str, tokenizer: Tokenizer, layout: Layout, options: TagOptions) -> Iterator[LabelRuns]:
    """Yield the labels of each output of which every token has a class of its own."""
    sessions = read_files(find_files([path]), ReadLog(skip_invalid=True))
    family, _, sessions = detected_format(sessions)
    tagger = Tagger(
        tokenizer,
        layout,
        TagOptions(raw_family=family, recording_tokenizer=options.recording_tokenizer, class_mix=_ANY_MIX),
    )
    for session in sessions:
        for turn in tagger.tag(outputs_only(session)).turns:
            if not turn.final.opaque_tokens:
                yield turn.final.labels
