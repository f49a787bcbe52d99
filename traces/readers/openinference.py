"""OpenInference spans (Phoenix and its exporters), and the Vercel AI SDK's spans."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from traces.model import Session
from traces.readers.otel import read_spans
from traces.readlog import ReadLog
from traces.source import SourceFile

_SPAN = re.compile(rb'"(spanId|span_id|spanID|spanContext|context\.span_id)"')
_MARKS = re.compile(
    rb'"(attributes\.)?(openinference\.|llm\.input_messages|llm\.token_count|llm\.model_name|ai\.operationId)'
)


class OpenInferenceReader:
    """Reads spans of kind LLM; of Vercel's spans the doGenerate and doStream ones, whose parents repeat the usage."""

    name = "openinference"
    title = "OpenInference spans (flattened llm.* attributes) and Vercel AI SDK spans"

    def sniff(self, file: SourceFile, head: bytes) -> float:  # noqa: ARG002
        """Confidence from span identities beside OpenInference or Vercel attributes."""
        if not head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")):
            return 0.0
        return 0.95 if _SPAN.search(head) and _MARKS.search(head) else 0.0

    def read(self, files: Sequence[SourceFile], log: ReadLog) -> Iterator[Session]:
        """Yield the sessions of all *files*: a trace may be spread over several."""
        yield from read_spans(files, log)


READER = OpenInferenceReader()
