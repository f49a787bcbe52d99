"""VCR cassettes: recorded HTTP exchanges with model APIs, stock ones and those with parsed bodies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from email.utils import parsedate_to_datetime
from urllib.parse import unquote

from traces.calls import ModelCall, call_session
from traces.errors import TraceError
from traces.model import Message, Session
from traces.readers.base import stem
from traces.readers.http_body import BodyError, body_value, header, json_body
from traces.readers.model_api import Exchanges
from traces.readlog import ReadLog
from traces.records import Json, as_count, as_dict, dicts, first_text, head_objects
from traces.source import SourceFile

_MODEL_IN_PATH = re.compile(r"/models?/([^/:?]+)")
_FAILED_FROM = 400
_LISTS = ("interactions", "http_interactions")


class VcrReader:
    """Reads a cassette a file; exchanges with other services are omitted and counted."""

    name = "vcr"
    title = "VCR cassettes of model APIs (YAML or JSON; OpenAI, Anthropic, Gemini, Bedrock, Cohere, ...)"

    def sniff(self, file: SourceFile, head: bytes) -> float:  # noqa: ARG002
        """Confidence from a list of interactions with requests."""
        if re.search(rb"^interactions:", head, re.MULTILINE) and re.search(
            rb"^[ -]*(request|response):", head, re.MULTILINE
        ):
            return 0.95
        for value in head_objects(head)[:1]:
            found = [item for key in _LISTS for item in dicts(value.get(key))]
            return 0.95 if any("request" in item for item in found) else 0.0
        return 0.0

    def read(self, files: Sequence[SourceFile], log: ReadLog) -> Iterator[Session]:
        """Yield a session for each conversation of each cassette."""
        for file in files:
            cassette = _cassette(file, log)
            exchanges = Exchanges(log)
            calls: list[ModelCall] = []
            for key in _LISTS:
                for interaction in dicts(cassette.get(key)):
                    call = _call(interaction, exchanges, log)
                    if call is not None:
                        calls.append(call)
            for number, conversation in enumerate(_conversations(calls), start=1):
                name = stem(file) if number == 1 else f"{stem(file)}#{number}"
                session = call_session(name, conversation, log)
                if session is not None:
                    yield session


READER = VcrReader()


def _cassette(file: SourceFile, log: ReadLog) -> Json:
    from traces.yaml_text import yaml_document  # yaml, which other formats need not wait for

    try:
        return as_dict(yaml_document(file))
    except TraceError as error:
        log.invalid(file.name, error.line, error.reason, error.mend, kind="cassette that cannot be loaded")
        return {}


def _call(interaction: Json, exchanges: Exchanges, log: ReadLog) -> ModelCall | None:
    request, response = as_dict(interaction.get("request")), as_dict(interaction.get("response"))
    status = as_count(as_dict(response.get("status")).get("code")) or as_count(response.get("status_code")) or 200
    if status >= _FAILED_FROM:
        log.omit("API call that failed")
        return None
    try:
        reply = body_value(response)
    except BodyError as error:
        log.omit(str(error))
        return None
    call = exchanges.call(json_body(request), reply, _date(response))
    if call is not None and call.model is None:
        found = _MODEL_IN_PATH.search(first_text(request.get("uri"), request.get("url")) or "")
        call.model = unquote(found.group(1)) if found else None
    return call


def _date(response: Json) -> float | None:
    text = header(response, "date")
    try:
        return parsedate_to_datetime(text).timestamp() if text else None
    except (ValueError, OverflowError):
        return None


def _conversations(calls: list[ModelCall]) -> list[list[ModelCall]]:
    """*calls* by conversation: a call continues the last one that began alike and was shorter."""
    found: list[list[ModelCall]] = []
    for call in calls:
        opening = _opening(call)
        for conversation in reversed(found):
            last = conversation[-1]
            if opening is not None and _opening(last) == opening and len(call.prompt or ()) > len(last.prompt or ()):
                conversation.append(call)
                break
        else:
            found.append([call])
    return found


def _opening(call: ModelCall) -> Message | None:
    """The first message that is no system prompt."""
    return next((m for m in call.prompt or () if m.role not in ("system", "developer")), None)
