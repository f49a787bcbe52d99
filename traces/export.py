"""Writes canonical sessions in other tools' formats: Mooncake, agentic Mooncake and OpenAI chat JSON lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import orjson

from traces.atomic import whole_file
from traces.block_ids import BlockIds
from traces.chat_form import assistant_form, chat_form, has_form, tool_form, usage_form
from traces.model import Attempt, MessagePrompt, Session, Turn, Verdict, prompt_messages
from traces.readers.mooncake_rows import BLOCK_TOKENS
from traces.readlog import ReadLog
from traces.records import Json

_MS = 1e3
_NO_COUNTS = "turn without recorded input and output tokens, not exported"
_NO_TEXT = "turn whose text is not in the trace, not exported"


def write_mooncake(sessions: Iterable[Session], target: Path, log: ReadLog) -> int:
    """Write a row a turn with lengths and estimated block ids; return their number.

    Rows of one-turn sessions are bare; others share a session_id and give the delay after the turn before.
    Times are milliseconds from the earliest start; turns without token counts are omitted and counted.
    """
    return _write(target, _timed(_mooncake_rows(sessions, log)))


def write_agentic_mooncake(sessions: Iterable[Session], target: Path, log: ReadLog) -> int:
    """Write version 1 rows with dependencies and tool waits; return their number. Omits as write_mooncake does."""
    listed = list(sessions)
    branches: dict[str, list[str]] = {}
    for child in listed:
        if child.parent is not None and child.parent.turn_id is not None:
            spawner = f"{child.parent.session_id}/{child.parent.turn_id}"
            branches.setdefault(spawner, []).append(f"{child.id}/{child.turns[0].id}")
    written: set[str] = set()
    return _write(target, _timed(row for session in listed for row in _agentic_rows(session, branches, written, log)))


def write_openai_chat(sessions: Iterable[Session], target: Path, log: ReadLog) -> int:
    """Write a request and response an attempt; return their number. Turns without text are omitted and counted."""
    return _write(target, (row for session in sessions for row in _chat_rows(session, log)))


EXPORTS: dict[str, Callable[[Iterable[Session], Path, ReadLog], int]] = {
    "mooncake": write_mooncake,
    "agentic-mooncake": write_agentic_mooncake,
    "openai-chat": write_openai_chat,
}
"""Writers by the name of their format."""


def _write(target: Path, rows: Iterable[Json]) -> int:
    count = 0
    with whole_file(target) as temporary, temporary.open("wb") as stream:
        for row in rows:
            stream.write(orjson.dumps(row) + b"\n")
            count += 1
    return count


def _timed(rows: Iterable[Json]) -> list[Json]:
    """*rows* with timestamps from the earliest one on, in milliseconds."""
    listed = list(rows)
    times = [at_s for row in listed if isinstance(at_s := row.get("timestamp"), float)]
    first_s = min(times, default=0.0)
    for row in listed:
        if "timestamp" in row:
            at_s = row["timestamp"]
            row["timestamp"] = round((at_s - first_s) * _MS, 3) if isinstance(at_s, float) else 0.0
    return listed


def _lengths(session: Session, log: ReadLog) -> Iterator[tuple[Turn, Json]]:
    """Yield each turn that has token counts, with the fields that both Mooncake formats share."""
    ids = BlockIds(session, BLOCK_TOKENS)
    for turn in session.turns:
        usage = turn.final.usage
        if usage is None or not usage.input_tokens or not usage.output_tokens:
            log.omit(_NO_COUNTS)
            continue
        if isinstance(turn.prompt, MessagePrompt):
            log.assume("block ids of a prompt recorded as messages are estimated from its messages")
        row: Json = {
            "input_length": usage.input_tokens,
            "output_length": usage.output_tokens,
            "hash_ids": ids.of(turn, usage.input_tokens),
        }
        if turn.model is not None:
            row["model"] = turn.model
        yield turn, row


def _mooncake_rows(sessions: Iterable[Session], log: ReadLog) -> Iterator[Json]:
    for session in sessions:
        before: Turn | None = None
        for turn, lengths in _lengths(session, log):
            row: Json = {} if len(session.turns) == 1 else {"session_id": session.id}
            if before is None:
                row["timestamp"] = _start_s(session, turn, log)
            else:
                row["delay"] = round(_wait_s(before, turn, log) * _MS, 3)
            before = turn
            yield row | lengths


def _agentic_rows(session: Session, branches: dict[str, list[str]], written: set[str], log: ReadLog) -> Iterator[Json]:
    turns = {turn.id: turn for turn in session.turns}
    for turn, lengths in _lengths(session, log):
        name = f"{session.id}/{turn.id}"
        row: Json = {"request_id": name, "session_id": session.id, **lengths, "wait_for": []}
        parent = turns.get(turn.parent or "")
        while parent is not None and f"{session.id}/{parent.id}" not in written:
            parent = turns.get(parent.parent or "")
        link = session.parent
        spawner = f"{link.session_id}/{link.turn_id}" if link is not None else ""
        if parent is not None:
            row["wait_for"] = [f"{session.id}/{parent.id}"]
            wait = "tool_wait_ms" if parent.tool_waits else "delay"
            row[wait] = round(_wait_s(parent, turn, log) * _MS, 3)
        elif spawner in written:
            row["wait_for"] = [spawner]
        else:
            row["timestamp"] = _start_s(session, turn, log)
        if name in branches:
            row["branches"] = branches[name]
        written.add(name)
        yield row


def _chat_rows(session: Session, log: ReadLog) -> Iterator[Json]:
    tools = [tool_form(tool) for tool in session.tools]
    for turn in session.turns:
        prompt = list(prompt_messages(session, turn))
        known = isinstance(turn.prompt, MessagePrompt) and all(has_form(message.blocks) for message in prompt)
        if not known or not all(has_form(attempt.output) for attempt in turn.attempts):
            log.omit(_NO_TEXT)
            continue
        request: Json = {"messages": [form for message in prompt for form in chat_form(message)]}
        request |= {"model": turn.model} if turn.model is not None else {}
        request |= {"tools": tools} if tools else {}
        request |= {"max_tokens": turn.max_tokens} if turn.max_tokens is not None else {}
        for attempt in turn.attempts:
            yield {"session_id": session.id, "request": request, **_response(turn, attempt)}


def _response(turn: Turn, attempt: Attempt) -> Json:
    choice = {"index": 0, "message": assistant_form(attempt.output), "finish_reason": attempt.finish_reason}
    response: Json = {"id": turn.id, "object": "chat.completion", "choices": [choice]}
    if turn.model is not None:
        response["model"] = turn.model
    if attempt.usage is not None:
        response["usage"] = usage_form(attempt.usage)
    row: Json = {"response": response}
    if attempt.verdict is Verdict.REJECTED:
        row["verdict"] = attempt.verdict.value
    times = attempt.times
    if times is not None and times.sent_s is not None:
        row["sent_at"] = times.sent_s
    if times is not None and times.end_s is not None:
        row["end_time"] = times.end_s
    return row


def _start_s(session: Session, turn: Turn, log: ReadLog) -> float | None:
    sent_s = turn.final.times.sent_s if turn.final.times is not None else None
    start_s = session.start_s if session.start_s is not None else sent_s
    if start_s is None:
        log.assume("session without a recorded start exported with the earliest one")
    return start_s


def _wait_s(before: Turn, turn: Turn, log: ReadLog) -> float:
    """Seconds between the end of *before* and the sending of *turn*, as recorded."""
    known = [wait.duration_s for wait in before.tool_waits if wait.duration_s is not None]
    if known:
        return max(known)
    if before.user_wait_s is not None:
        return before.user_wait_s
    ended, sent = before.final.times, turn.final.times
    if ended is not None and sent is not None and ended.end_s is not None and sent.sent_s is not None:
        return max(0.0, sent.sent_s - ended.end_s)
    log.assume("wait between turns not recorded: exported as zero")
    return 0.0
