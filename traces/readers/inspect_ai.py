"""Inspect evaluation logs: JSON documents and .eval archives, a session for each sample."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from traces.clock import scaled, unix_seconds
from traces.conversation import Conversation
from traces.model import Session, Times, ToolSpec
from traces.readers.base import JsonReader, finished, stem
from traces.readers.inspect_archive import archive_parts
from traces.readers.inspect_messages import input_messages, inspect_usage, output_message, resolved
from traces.readers.tools import tool_specs
from traces.readlog import ReadLog
from traces.records import Json, as_count, as_dict, as_list, dicts, documents, first_text
from traces.source import SourceFile

_ZIP_MAGIC = b"PK\x03\x04"
_ZIP_NAMES = (b"_journal/", b"samples/", b"header.json")
_SCORERS = ("scorer", "scorers")
_GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""Correct, partly, incorrect, no answer."""


@dataclass(slots=True)
class _Sample:
    """One sample while its events go by."""

    conversation: Conversation
    log: ReadLog
    attachments: Json
    pool: list[Json]
    tools: dict[str, ToolSpec] = field(default_factory=dict)
    spans: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)


class InspectReader(JsonReader):
    """Reads Inspect logs; calls of scorers and replies from Inspect's own cache are left out."""

    name = "inspect"
    title = "Inspect evaluation logs (.json and .eval)"

    def sniff(self, file: SourceFile, head: bytes) -> float:
        """An archive with Inspect's member names, or a log document."""
        if head.startswith(_ZIP_MAGIC):
            return 0.95 if any(name in head for name in _ZIP_NAMES) or file.suffix == ".eval" else 0.0
        return super().sniff(file, head)

    def score(self, rows: list[Json]) -> float:
        """A log header: version, status and the evaluation's task."""
        first = rows[0]
        return 0.95 if "status" in first and "task" in as_dict(first.get("eval")) else 0.0

    def read(self, files: Sequence[SourceFile], log: ReadLog) -> Iterator[Session]:
        """Yield a session for each sample; one that stands in several logs is read once."""
        seen: set[str] = set()
        for file in files:
            for session_id, sample in _samples(file, log):
                if session_id in seen:
                    log.duplicate("Inspect sample in several logs")
                    continue
                seen.add(session_id)
                yield from _session(session_id, sample, log)


READER = InspectReader()


def _samples(file: SourceFile, log: ReadLog) -> Iterator[tuple[str, Json]]:
    """Yield (id, sample) of each sample of a log."""
    if file.head().startswith(_ZIP_MAGIC):
        run = stem(file)
        for name, part in archive_parts(file, log):
            if name.startswith("samples/"):
                yield _sample_id(run, part), part
            else:
                run = _run_id(part, run)
        return
    for number, value in documents(file, log):
        document = as_dict(value)
        if "eval" not in document:
            log.invalid(file.name, number, "the document is no Inspect log", kind="document of no log")
            continue
        samples = dicts(document.get("samples"))
        if not samples:
            log.omit("Inspect log without samples (header only)")
        for sample in samples:
            yield _sample_id(_run_id(document, stem(file)), sample), sample


def _run_id(header: Json, default: str) -> str:
    run = as_dict(header.get("eval"))
    return first_text(run.get("eval_id"), run.get("run_id"), run.get("task_id")) or default


def _sample_id(run: str, sample: Json) -> str:
    return f"{run}/{sample.get('id')}/{sample.get('epoch', 1)}"


def _session(session_id: str, sample: Json, log: ReadLog) -> Iterator[Session]:
    transcript = as_dict(sample.get("transcript"))
    attachments = as_dict(sample.get("attachments")) or as_dict(transcript.get("content"))
    pool = dicts(sample.get("message_pool")) or dicts(as_dict(sample.get("events_data")).get("messages"))
    state = _Sample(Conversation(session_id, log), log, attachments, pool)
    state.conversation.reward = _reward(as_dict(sample.get("scores")))
    events = dicts(sample.get("events")) or dicts(transcript.get("events"))
    for event in events:
        _event(state, event)
    yield from finished(state.conversation, log, tools=tuple(state.tools.values()))


def _reward(scores: Json) -> float | None:
    """The least of the grades that scorers gave; numbers are left out, whose scale only their scorer knows."""
    values = [as_dict(score).get("value") for score in scores.values()]
    grades = [float(one) if isinstance(one, bool) else _GRADES.get(str(one)) for one in values]
    return min((grade for grade in grades if grade is not None), default=None)


def _event(state: _Sample, event: Json) -> None:
    kind = event.get("event")
    if kind == "span_begin":
        span = (str(event.get("type")), first_text(event.get("parent_id")))
        state.spans[str(event.get("id"))] = span
    elif kind == "step":
        if event.get("action") == "begin":
            state.steps.append(str(event.get("type")))
        elif state.steps:
            state.steps.pop()
    elif kind == "model":
        _model(state, event)
    elif kind == "tool":
        _tool(state, event)


def _is_scoring(state: _Sample, event: Json) -> bool:
    if any(step in _SCORERS for step in state.steps):
        return True
    span_id = first_text(event.get("span_id"))
    passed: set[str] = set()
    while span_id is not None and span_id not in passed and span_id in state.spans:
        passed.add(span_id)
        kind, parent = state.spans[span_id]
        if kind in _SCORERS:
            return True
        span_id = parent
    return False


def _model(state: _Sample, event: Json) -> None:
    output = as_dict(event.get("output"))
    choices = dicts(output.get("choices"))
    if _is_scoring(state, event):
        state.log.omit("Inspect model call of a scorer")
        return
    if event.get("cache") == "read":
        state.log.omit("Inspect reply taken from its cache, not generated")
        return
    if not choices or event.get("pending") is True or event.get("error"):
        state.log.omit("Inspect model call that failed or never ended")
        return
    message = as_dict(choices[0].get("message"))
    blocks = output_message(message, state.attachments, state.log)
    usage = inspect_usage(as_dict(output.get("usage")))
    if not blocks and usage is None:
        state.log.omit("empty reply")
        return
    for spec in tool_specs(resolved(as_list(event.get("tools")), state.attachments)):
        state.tools.setdefault(spec.name, spec)
    state.conversation.history = input_messages(event, state.pool, state.attachments, state.log)
    state.conversation.reply(
        blocks,
        turn_id=first_text(event.get("uuid"), message.get("id")),
        usage=usage,
        times=_times(event),
        model=first_text(event.get("model"), output.get("model")),
        max_tokens=as_count(as_dict(event.get("config")).get("max_tokens")),
        finish_reason=first_text(choices[0].get("stop_reason")),
        remember=False,
    )


def _times(event: Json) -> Times | None:
    """Times of a call: newer logs date its start and its end, older ones its end only."""
    at_s, end_s = unix_seconds(event.get("timestamp")), unix_seconds(event.get("completed"))
    times = Times(sent_s=at_s, end_s=end_s) if end_s is not None else Times(end_s=at_s)
    return None if times == Times() else times


def _tool(state: _Sample, event: Json) -> None:
    start_s, end_s = unix_seconds(event.get("timestamp")), unix_seconds(event.get("completed"))
    spent = scaled(event.get("working_time"), 1.0)
    if start_s is not None and end_s is not None:
        spent = end_s - start_s
    name = first_text(event.get("function"))
    state.conversation.finish_call(first_text(event.get("id")), name=name, duration_s=spent)
    for inner in dicts(event.get("events")):
        _event(state, inner)
