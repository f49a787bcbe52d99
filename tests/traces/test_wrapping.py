"""Recordings as arrays, over several lines, in UTF-16 and as event streams: read as their format's own form is."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.traces import test_api_streams, test_gemini_api
from tests.traces.fuzz import JSON_VALUES
from tests.traces.hostile_samples import SAMPLES
from traces import wrapping
from traces.errors import TraceError
from traces.jsontext import values_of
from traces.model import Session, TextBlock
from traces.readlog import ReadLog
from traces.registry import read_files
from traces.source import SourceFile

ROWS = sorted(
    name
    for name, data in SAMPLES.items()
    if data.count(b"\n") > 1 and all(line.startswith(b"{") for line in data.split(b"\n") if line)
    # Block ids alone tell the two apart from the plain Mooncake format.
    if name not in ("mooncake-delta", "canonical", "opencode")
)
STREAMS = {
    "openai-chat": [
        *test_api_streams._CHUNKS,
        {**test_api_streams._CHUNKS[0], "choices": [], "usage": test_api_streams._USAGE},
    ],
    "anthropic-messages": test_api_streams._ANTHROPIC,
    "openai-responses": test_api_streams._EVENTS,
}


def sessions(data: bytes, log: ReadLog | None = None, name: str = "x", format_name: str | None = None) -> list[Session]:
    return list(read_files([SourceFile(None, name, data)], log or ReadLog(), format_name))


def values(data: bytes) -> list[object]:
    return [json.loads(line) for line in data.splitlines() if line.strip()]


def said(found: list[Session]) -> list[object]:
    """Everything but the sessions' names, which may be those of lines."""
    return [(session.turns, session.messages, session.tools, session.start_s) for session in found]


def event_text(events: list[dict[str, object]], end: str = "\n") -> str:
    return "".join(f"event: {event.get('type')}{end}data: {json.dumps(event)}{end}{end}" for event in events)


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("form", ["array", "indented array", "indented values", "one line"])
def test_lines_in_another_wrapping_are_read_the_same(name: str, form: str) -> None:
    rows = values(SAMPLES[name])
    wrapped = {
        "array": json.dumps(rows),
        "indented array": json.dumps(rows, indent=2),
        "indented values": "\n".join(json.dumps(row, indent=2) for row in rows),
        "one line": " ".join(json.dumps(row) for row in rows),
    }[form]
    plain = sessions(SAMPLES[name])
    assert plain
    assert said(sessions(wrapped.encode())) == said(plain)
    assert said(sessions(wrapped.encode(), format_name=name)) == said(plain)


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_utf_16_is_read_as_text(name: str, encoding: str) -> None:
    text = SAMPLES[name].decode()
    data = text.encode(encoding) if encoding == "utf-16" else b"\xfe\xff" + text.encode(encoding)
    assert said(sessions(data)) == said(sessions(SAMPLES[name]))


def test_utf_16_that_is_cut_says_so() -> None:
    with pytest.raises(TraceError, match="not valid UTF-16"):
        sessions(SAMPLES["kimi-cli"].decode().encode("utf-16")[:-1])


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_dump_of_an_event_stream_is_the_completion_it_streams(name: str, end: str) -> None:
    events = STREAMS[name]
    plain = sessions("\n".join(json.dumps(event) for event in events).encode())
    text = event_text(events, end)
    for dumped in (
        text + f"data: [DONE]{end}",
        f": keep-alive{end}{end}" + text,
        f"HTTP/1.1 200 OK{end}Content-Type: text/event-stream{end}{end}" + text,
        text.replace("data: ", "data:"),
        "\ufeff" + text,
    ):
        log = ReadLog()
        found = sessions(dumped.encode(), log)
        assert log.formats == {name: 1}
        assert said(found) == said(plain)
        assert len(found) == 1


def test_a_dump_of_a_gemini_stream() -> None:
    chunks = test_gemini_api.CHUNKS
    plain = sessions("\n".join(map(json.dumps, chunks)).encode())
    assert said(sessions("".join(f"data: {json.dumps(chunk)}\r\n\r\n" for chunk in chunks).encode())) == said(plain)


def test_several_streams_in_a_row_are_several_completions() -> None:
    again = [{**event, "id": "second"} for event in STREAMS["openai-chat"]]
    assert len(sessions((event_text(STREAMS["openai-chat"]) + event_text(again)).encode())) == 2
    assert len(sessions(event_text(STREAMS["anthropic-messages"] * 2).encode())) == 2


def test_data_of_one_event_over_several_lines() -> None:
    events = STREAMS["anthropic-messages"]
    text = "".join(
        "".join(f"data: {line}\n" for line in json.dumps(event, indent=1).split("\n")) + "\n" for event in events
    )
    assert said(sessions(text.encode())) == said(sessions("\n".join(map(json.dumps, events)).encode()))


def test_a_stream_that_is_cut_names_the_line() -> None:
    text = event_text(STREAMS["openai-chat"]).rstrip()[:-4]
    with pytest.raises(TraceError, match=rf"^x:{text.count(chr(10)) + 1}: not valid JSON"):
        sessions(text.encode())
    log = ReadLog(skip_invalid=True)
    assert len(sessions(text.encode(), log)) == 1
    assert log.omitted.total() == 1


def test_messages_one_a_line_are_one_conversation() -> None:
    messages = [
        {"role": "system", "content": "Be short."},
        {"role": "user", "content": "Where is it warm?"},
        {"role": "assistant", "content": "In Rome."},
        {"role": "user", "content": "And cold?"},
        {"role": "assistant", "content": "In Oslo."},
    ]
    (session,) = sessions("\n".join(map(json.dumps, messages)).encode(), name="talk.jsonl")
    assert [turn.final.output for turn in session.turns] == [
        (TextBlock(text="In Rome."),),
        (TextBlock(text="In Oslo."),),
    ]
    with pytest.raises(TraceError, match=r"^talk.jsonl:[34]: not valid JSON"):
        sessions("\n".join([*map(json.dumps, messages[:2]), "{"]).encode(), name="talk.jsonl")


def test_an_array_that_is_cut_keeps_what_is_whole() -> None:
    rows = values(SAMPLES["llmservingsim"])
    text = json.dumps([*rows, *rows])[:-9]
    with pytest.raises(TraceError, match=rf"^x:{2 * len(rows)}: "):
        sessions(text.encode())
    log = ReadLog(skip_invalid=True)
    assert len(sessions(text.encode(), log)) == 2 * len(rows) - 1
    assert log.omitted.total() == 1
    assert any("one JSON array" in note for note in log.assumptions)


def test_what_is_too_large_to_unwrap_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wrapping, "MAX_WRAPPED_BYTES", 100)
    with pytest.raises(TraceError, match="JSON lines"):
        sessions(json.dumps(values(SAMPLES["kimi-cli"])).encode())


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\xef\xbb\xbf", "empty"),
        (b"\n \r\n", "empty"),
        (b"[]", "no record in it"),
        (b"{}", "first record is empty"),
        (b"42\n", "no record in it"),
        (b"hello\n", "no JSON object"),
        (b'{"colour": 1, "shape": 2}\n{"colour": 3}\n', "keys colour, shape"),
        (b'data: {"error": {"message": "busy"}}\n\n', "keys error"),
    ],
)
def test_what_is_no_recording_is_described(data: bytes, reason: str) -> None:
    with pytest.raises(TraceError, match=reason):
        sessions(data)


def test_values_far_apart_are_found_without_their_head() -> None:
    """A first value larger than what sniffing sees."""
    row = {"id": "r", "choices": [{"message": {"role": "assistant", "content": "y" * 200_000}}], "object": "x"}
    text = json.dumps(row, indent=1) + "\n" + json.dumps({**row, "id": "s"}, indent=1)
    assert len(sessions(text.encode())) == 2
    with pytest.raises(TraceError, match="value 3 is not valid JSON"):
        sessions((text + "\n{").encode())


@given(listed=st.lists(JSON_VALUES, max_size=5), indent=st.sampled_from([None, 1, 4]), array=st.booleans())
def test_values_come_back(listed: list[object], indent: int | None, array: bool) -> None:
    texts = [json.dumps(value, indent=indent) for value in listed]
    text = json.dumps(listed, indent=indent) if array else "\n".join(texts)
    if not array and texts and texts[0].startswith("["):
        return
    found = [json.loads(value) for value in values_of(text)]
    assert json.dumps(found) == json.dumps(listed)
    assert all("\n" not in value for value in values_of(text))


@given(text=st.text(alphabet='[]{}",: \n\\a1', max_size=40))
def test_no_text_is_too_much(text: str) -> None:
    assert sum(map(len, values_of(text))) <= len(text)
    file = SourceFile(None, "x", text.encode())
    kind = wrapping.wrapping(file.data or b"")
    if kind is not None:
        head = wrapping.unwrapped_head(file, file.data or b"", kind)
        assert isinstance(head.data, bytes)
        assert replace(head, data=None) == replace(file, data=None)
