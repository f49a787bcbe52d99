"""LMCache agent traces: whole prompts as flat text, times in microseconds, rows in no order of time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise
from os.path import commonprefix

from traces.clock import scaled
from traces.conversation import Conversation
from traces.model import Message, RawBlock, Session, TextBlock, Times
from traces.readers.base import JsonReader, finished, stem
from traces.readlog import ReadLog
from traces.records import Json, as_text, first_text, objects
from traces.source import SourceFile


@dataclass(frozen=True, slots=True)
class _Call:
    prompt: str
    output: str
    sent_s: float | None


class LmcacheReader(JsonReader):
    """Reads LMCache agent traces; prompts are cut where they part, so that shared beginnings stay shared."""

    name = "lmcache"
    title = "LMCache agent traces (flat prompts, JSONL)"

    def score(self, rows: list[Json]) -> float:
        """Rows of a time, a session and texts of input and output."""
        first = rows[0]
        keys = {"timestamp", "input", "output", "session_id"} <= set(first)
        return 0.95 if keys and isinstance(first["input"], str) and isinstance(first["output"], str) else 0.0

    def read_file(self, file: SourceFile, log: ReadLog) -> Iterator[Session]:
        """Yield a session for each session id, its calls in the order of time."""
        sessions: dict[str, list[_Call]] = {}
        for number, row in objects(file, log):
            prompt, output = as_text(row.get("input")), as_text(row.get("output"))
            if prompt is None or output is None:
                log.invalid(file.name, number, "input and output must be texts", kind="row without its texts")
                continue
            call = _Call(prompt, output, scaled(row.get("timestamp"), 1e6))
            sessions.setdefault(first_text(row.get("session_id")) or stem(file), []).append(call)
        for session_id, calls in sessions.items():
            yield from _session(session_id, calls, log)


READER = LmcacheReader()


def _session(session_id: str, calls: list[_Call], log: ReadLog) -> Iterator[Session]:
    ordered = sorted(calls, key=lambda call: call.sent_s if call.sent_s is not None else float("inf"))
    if ordered != calls:
        log.assume("LMCache rows out of the order of time: sorted")
    conversation = Conversation(session_id, log)
    cuts = _cuts({call.prompt for call in ordered})
    for call in ordered:
        if not call.output:
            log.omit("LMCache call whose output is empty (its tool call was not recorded)")
            continue
        conversation.history = _messages(call.prompt, cuts[call.prompt])
        times = None if call.sent_s is None else Times(sent_s=call.sent_s)
        conversation.reply((RawBlock(text=call.output),), times=times, remember=False)
    if conversation.turns:
        log.assume("LMCache time stamps are taken as the time of sending")
    yield from finished(conversation, log)


def _cuts(prompts: set[str]) -> dict[str, list[int]]:
    """Where each prompt parts from another: ends of common beginnings, moved back to the end of a line.

    In sorted order the common beginnings of a prompt with all others are minima over runs of neighbours.
    """
    ordered = sorted(prompts)
    shared = [len(commonprefix(pair)) for pair in pairwise(ordered)]  # noqa: RUF071
    cuts: dict[str, list[int]] = {}
    for index, prompt in enumerate(ordered):
        ends = {*_running_minima(shared[index:]), *_running_minima(shared[:index][::-1])}
        whole = {end if end == len(prompt) else prompt.rfind("\n", 0, end) + 1 for end in ends}
        cuts[prompt] = sorted(whole - {0, len(prompt)})
    return cuts


def _running_minima(lengths: list[int]) -> set[int]:
    return set(accumulate(lengths, min))


def _messages(prompt: str, cuts: list[int]) -> list[Message]:
    edges = [0, *cuts, len(prompt)]
    pieces = (prompt[start:end] for start, end in pairwise(edges))
    return [Message(role="user", blocks=(TextBlock(text=piece),)) for piece in pieces if piece]
