from __future__ import annotations

from tests.traces.agent_files import lines, one, outputs, prompt_texts, read
from traces.model import LengthPrompt, ReasoningBlock, TextBlock, ToolCallBlock, Usage, Verdict
from traces.readers import gemini_cli, gemini_responses

_HEADER = {"sessionId": "g1", "projectHash": "00", "startTime": "2026-02-01T10:00:00Z"}
_USER = {"id": "u", "timestamp": "2026-02-01T10:00:01Z", "type": "user", "content": [{"text": "list"}]}
_TOOL = {
    "id": "k1",
    "name": "ls",
    "args": {"dir": "."},
    "status": "success",
    "timestamp": "2026-02-01T10:00:06Z",
    "result": [{"functionResponse": {"id": "k1", "name": "ls", "response": {"output": "a b"}}}],
}
_CALL = {
    "id": "m",
    "timestamp": "2026-02-01T10:00:04Z",
    "type": "gemini",
    "content": "",
    "model": "flash",
    "thoughts": [{"subject": "Plan", "description": "look around"}],
    "tokens": {"input": 50, "output": 7, "cached": 10, "thoughts": 12, "tool": 0, "total": 69},
    "toolCalls": [_TOOL],
}
_END = {"id": "e", "timestamp": "2026-02-01T10:00:09Z", "type": "gemini", "content": "Two files."}


def test_a_chat_as_document_and_as_lines_is_the_same() -> None:
    document, _ = one(gemini_cli.READER, {**_HEADER, "messages": [_USER, _CALL, _END]})
    streamed, log = one(gemini_cli.READER, lines(_HEADER, _USER, {**_CALL, "toolCalls": []}, {"$set": {}}, _CALL, _END))
    assert document == streamed
    assert sum(log.duplicates.values()) == 1


def test_thoughts_are_beside_the_output_hidden_and_not_sent_again() -> None:
    session, _ = one(gemini_cli.READER, {**_HEADER, "messages": [_USER, _CALL, _END]})
    call, end = session.turns
    assert call.final.usage == Usage(input_tokens=50, cached_tokens=10, output_tokens=19, reasoning_tokens=12)
    assert outputs(call) == (
        ReasoningBlock(tokens=12),
        ToolCallBlock(name="ls", arguments='{"dir": "."}', call_id="k1"),
    )
    assert call.tool_waits[0].duration_s == 2.0
    assert prompt_texts(session, end) == [("user", "list"), ("assistant", "ls"), ("tool", "a b")]


def test_thoughts_inside_the_output_are_told_by_the_total() -> None:
    tokens = {"input": 50, "output": 19, "thoughts": 12, "total": 69}
    session, _ = one(gemini_cli.READER, {**_HEADER, "messages": [_USER, {**_CALL, "tokens": tokens}]})
    usage = session.turns[0].final.usage
    assert usage is not None
    assert usage.output_tokens == 19


def test_notes_to_the_person_are_left_out() -> None:
    note = {"id": "i", "type": "info", "content": "signed in"}
    sessions, log = read(gemini_cli.READER, {**_HEADER, "messages": [note]})
    assert sessions == []
    assert log.omitted["Gemini message to the person, not to the model"] == 1


def test_the_older_history_form() -> None:
    history = [{"role": "user", "parts": [{"text": "hi"}]}, {"role": "gemini", "parts": [{"text": "yo"}]}]
    session, _ = one(gemini_cli.READER, {"history": history, "meta": {"model": "pro"}})
    assert (session.turns[0].model, outputs(session.turns[0])) == ("pro", (TextBlock(text="yo"),))


def _chunk(parts: list[object], reason: str | None = None, **usage: int) -> dict[str, object]:
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": reason}
    return {"candidates": [candidate], "usageMetadata": usage}


def _reply(*chunks: object) -> dict[str, object]:
    return {"method": "generateContentStream", "response": list(chunks)}


def test_chunks_of_a_stream_run_together() -> None:
    reply = _reply(
        _chunk([{"text": "hmm", "thought": True}], promptTokenCount=9, thoughtsTokenCount=5),
        _chunk([{"text": "I "}], promptTokenCount=9),
        _chunk([{"text": "see."}], "STOP", promptTokenCount=9, candidatesTokenCount=4, thoughtsTokenCount=5),
    )
    session, _ = one(gemini_responses.READER, lines(reply))
    turn = session.turns[0]
    assert outputs(turn) == (ReasoningBlock(tokens=5), TextBlock(text="I see."))
    assert turn.prompt == LengthPrompt(tokens=9)
    assert turn.final.usage == Usage(input_tokens=9, output_tokens=9, reasoning_tokens=5)
    assert turn.final.finish_reason == "STOP"


def test_an_empty_reply_asked_for_again_is_a_rejected_attempt() -> None:
    empty = _reply(_chunk([], "STOP", promptTokenCount=30))
    good = _reply(_chunk([{"text": "ok"}], "STOP", promptTokenCount=30, candidatesTokenCount=1))
    other = _reply(_chunk([{"text": "no"}], "STOP", promptTokenCount=31, candidatesTokenCount=1))
    session, _ = one(gemini_responses.READER, lines(empty, good, empty, other))
    verdicts = [[attempt.verdict for attempt in turn.attempts] for turn in session.turns]
    assert verdicts == [[Verdict.REJECTED, Verdict.ACCEPTED], [Verdict.ACCEPTED], [Verdict.ACCEPTED]]
    assert outputs(session.turns[1]) == ()


def test_calls_that_generate_nothing_are_left_out() -> None:
    counted = {"method": "countTokens", "response": {"totalTokens": 3}}
    _, log = one(gemini_responses.READER, lines(counted, _reply(_chunk([{"text": "a"}]))))
    assert sum(log.omitted.values()) == 1
