"""One logged API call: its request, its response and its times, in the spellings that loggers use."""

from __future__ import annotations

from dataclasses import dataclass, field

import orjson

from traces.clock import scaled, unix_seconds
from traces.model import Times, Verdict
from traces.readers.sse import stream_events
from traces.records import Json, as_count, as_dict, dicts, first_text, parsed

_REQUEST_KEYS = ("request", "body", "request_body", "request_json", "req", "kwargs", "input", "prompt", "params")
_RESPONSE_KEYS = ("response", "response_body", "response_json", "resp", "output", "completion", "result", "chunks")
_BODY_KEYS = ("body", "json", "payload", "parsed_body", "data")
_SESSION_KEYS = ("session_id", "sessionId", "conversation_id", "thread_id", "trace_id", "session", "chat_id")
_SENT_KEYS = ("sent_at", "request_time", "start_time", "started_at", "startTime", "timestamp", "created_at", "time")
_END_KEYS = ("end_time", "ended_at", "endTime", "completed_at", "response_time", "finished_at")
_TOOK_KEYS = (("latency_ms", 1e3), ("duration_ms", 1e3), ("elapsed_ms", 1e3), ("latency_s", 1.0), ("duration_s", 1.0))
_FIRST_KEYS = (("ttft_ms", 1e3), ("time_to_first_token_ms", 1e3), ("ttft_s", 1.0))
_LEAST_ERROR_STATUS = 400


@dataclass(frozen=True, slots=True)
class Exchange:
    """A call as logged. *response* is the unstreamed form's object; *events* (of a stream, or items) add to it."""

    request: Json = field(default_factory=dict)
    response: Json = field(default_factory=dict)
    events: tuple[Json, ...] = ()
    said: str | None = None
    """A response that is plain text."""
    key: str | None = None
    """Session that the call belongs to, where logged."""
    custom_id: str | None = None
    times: Times | None = None
    verdict: Verdict = Verdict.ACCEPTED
    failed: bool = False

    @property
    def answered(self) -> bool:
        """Whether there is a response in any form."""
        return bool(self.response or self.events or self.said)


def exchange_of(row: Json) -> Exchange:
    """The call that *row* logs: request and response by any usual name, or the row itself as either."""
    request = _request(row)
    logged = next((row[key] for key in _RESPONSE_KEYS if row.get(key) is not None and row[key] is not row), None)
    if logged is None or "choices" in row or _is_response(row):
        logged = row if "choices" in row or _is_response(row) else None
    response, events, said = _response(logged)
    status = as_count(as_dict(logged).get("status_code"))
    bad_status = status is not None and status >= _LEAST_ERROR_STATUS
    error = row.get("error") or (response.get("error") if not _has_output(response) else None)
    if response or events or said:
        response = {**{key: row[key] for key in ("usage", "model") if row.get(key) is not None}, **response}
    places = (row, as_dict(row.get("metadata")), request, as_dict(request.get("metadata")))
    return Exchange(
        request=request,
        response=response,
        events=events,
        said=said,
        key=next((name for place in places for name in (_name(place.get(key)) for key in _SESSION_KEYS) if name), None),
        custom_id=first_text(row.get("custom_id")),
        times=call_times(row),
        verdict=_verdict(row),
        failed=bool(error) or bad_status,
    )


def call_times(row: Json) -> Times | None:
    """Times of a call by the usual names; a duration is used only under a name that says its unit."""
    sent_s = _first_time(row, _SENT_KEYS)
    end_s = _first_time(row, _END_KEYS)
    took_s = _span(row, _TOOK_KEYS)
    if end_s is None and sent_s is not None and took_s is not None:
        end_s = sent_s + took_s
    if sent_s is not None and end_s is not None and end_s < sent_s:
        end_s = None
    wait_s = _span(row, _FIRST_KEYS)
    first_s = sent_s + wait_s if sent_s is not None and wait_s is not None else None
    if first_s is not None and end_s is not None and first_s > end_s:
        first_s = None
    times = Times(sent_s=sent_s, first_token_s=first_s, end_s=end_s)
    return None if times == Times() else times


def _request(row: Json) -> Json:
    for key in _REQUEST_KEYS:
        value = _unwrapped(row.get(key))
        if isinstance(value, dict) and value:
            return value
        if isinstance(value, list) and value:
            return {"messages": value, **{name: row[name] for name in ("model", "tools", "system") if name in row}}
        if isinstance(value, str) and value and key in ("input", "prompt"):
            return {"messages": [{"role": "user", "content": value}], **{n: row[n] for n in ("model",) if n in row}}
    return row if "messages" in row else {}


def _response(logged: object) -> tuple[Json, tuple[Json, ...], str | None]:
    value = _unwrapped(logged)
    if isinstance(value, str):
        events = tuple(stream_events(value))
        return ({}, events, None) if events else ({}, (), value or None)
    if isinstance(value, list):
        events = tuple(dicts(value))
        return {}, events, None
    return as_dict(value), (), None


def _unwrapped(value: object) -> object:
    """*value* out of HTTP envelopes and JSON texts."""
    for _ in range(4):
        if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
            try:
                value = parsed(value.encode())
            except orjson.JSONDecodeError:
                return value
            continue
        inner = next((value[key] for key in _BODY_KEYS if value.get(key)), None) if isinstance(value, dict) else None
        if inner is None or _has_output(as_dict(value)) or "messages" in as_dict(value):
            return value
        value = inner
    return value


def _has_output(value: Json) -> bool:
    return any(value.get(key) for key in ("choices", "output", "content"))


def _is_response(row: Json) -> bool:
    """Whether *row* itself is a response object of the Responses or the Messages API."""
    if row.get("object") == "response":
        return True
    return row.get("type") == "message" and row.get("role") == "assistant" and "content" in row


def _name(value: object) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return first_text(value)


def _first_time(row: Json, keys: tuple[str, ...]) -> float | None:
    return next((at_s for key in keys if (at_s := unix_seconds(row.get(key))) is not None), None)


def _span(row: Json, keys: tuple[tuple[str, float], ...]) -> float | None:
    spans = (scaled(row.get(key), units) for key, units in keys)
    return next((span for span in spans if span is not None and span >= 0), None)


def _verdict(row: Json) -> Verdict:
    refused = row.get("verdict") == "rejected" or row.get("accepted") is False or row.get("rejected") is True
    return Verdict.REJECTED if refused else Verdict.ACCEPTED
