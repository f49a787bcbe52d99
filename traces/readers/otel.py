"""OpenTelemetry spans of generative AI calls: OTLP JSON, SDK exports, Jaeger JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from traces.model import Session
from traces.readers.span_sessions import nodes_of, sessions_of
from traces.readers.spans import Span, spans_of
from traces.readlog import ReadLog
from traces.records import documents
from traces.source import SourceFile

_OTLP = re.compile(rb'"(resourceSpans|resource_spans)"')
_SPAN = re.compile(rb'"(spanId|span_id|spanID|spanContext|context\.span_id)"')
_MODEL_CALL = re.compile(rb'"(attributes\.)?(gen_ai\.|llm\.request|llm\.usage|traceloop\.)')


class OtelReader:
    """Reads spans that follow the OpenTelemetry conventions of any age; a trace or conversation is a session."""

    name = "otel"
    title = "OpenTelemetry spans with gen_ai attributes (OTLP JSON, SDK and Jaeger exports)"

    def sniff(self, file: SourceFile, head: bytes) -> float:  # noqa: ARG002
        """Confidence from span identities beside gen_ai attributes."""
        if not head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")):
            return 0.0
        if _SPAN.search(head) and _MODEL_CALL.search(head):
            return 0.9
        return 0.8 if _OTLP.search(head) else 0.0

    def read(self, files: Sequence[SourceFile], log: ReadLog) -> Iterator[Session]:
        """Yield the sessions of all *files*: a trace may be spread over several."""
        yield from read_spans(files, log)


READER = OtelReader()


def read_spans(files: Sequence[SourceFile], log: ReadLog) -> Iterator[Session]:
    """Yield the sessions of the spans in *files*, which are exports of one system."""
    yield from sessions_of(nodes_of(_spans(files, log), log), log)


def _spans(files: Sequence[SourceFile], log: ReadLog) -> Iterator[Span]:
    for file in files:
        for line, value in documents(file, log):
            spans = list(spans_of(value))
            if not spans:
                log.invalid(file.name, line, "no span with a name and an id", kind="record without a span")
            yield from spans
