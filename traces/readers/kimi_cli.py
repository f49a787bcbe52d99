"""Kimi CLI wire logs: steps with their parts, tool runs, usage, time to first token and streaming time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePath

from traces.clock import scaled, unix_seconds
from traces.conversation import Conversation
from traces.model import Block, HiddenHead, ReasoningBlock, Session, TextBlock, Times, ToolCallBlock, ToolSpec, Usage
from traces.parts import content_blocks, content_text
from traces.pool import json_text
from traces.readers.base import JsonReader, finished, stem
from traces.readers.tools import tool_specs
from traces.readlog import ReadLog
from traces.records import Json, as_count, as_dict, as_text, first_text, objects
from traces.source import SourceFile

_LOOP = "context.append_loop_event"
_TYPES = ("llm.request", "turn.prompt", "context.append_message", "step.begin", "usage.record", _LOOP)
_REPLY_EVENTS = ("step.begin", "content.part", "tool.call", "tool.result", "step.end")


@dataclass(slots=True)
class _Step:
    """One step: its reply so far, and the results that came before the reply was counted."""

    id: str | None
    sent_s: float | None = None
    model: str | None = None
    max_tokens: int | None = None
    blocks: list[Block] = field(default_factory=list)
    called_s: dict[str, float | None] = field(default_factory=dict)
    results: list[tuple[Json, float | None]] = field(default_factory=list)


@dataclass(slots=True)
class _State:
    conversation: Conversation
    log: ReadLog
    step: _Step | None = None
    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    head_key: str | None = None
    summarising: _Step | None = None


class KimiCliReader(JsonReader):
    """Reads wire logs of the Kimi CLI; thinking is sent again, as the CLI does."""

    name = "kimi-cli"
    title = "Kimi CLI wire logs (JSONL)"

    def score(self, rows: list[Json]) -> float:
        """Rows of the wire protocol's types."""
        if any(row.get("type") in _TYPES[:3] or row.get("type") == _LOOP for row in rows):
            return 0.95
        return 0.9 if rows[0].get("type") == "metadata" and "protocol_version" in rows[0] else 0.0

    def read_file(self, file: SourceFile, log: ReadLog) -> Iterator[Session]:
        """Yield the one session of a log."""
        state = _State(Conversation(_session_id(file), log), log)
        for _, row in objects(file, log):
            _row(state, row, unix_seconds(row.get("time")))
        _finish(state, {})
        hidden = HiddenHead(key=state.head_key) if state.head_key and not state.tools else None
        yield from finished(state.conversation, log, tools=state.tools, head=hidden)


READER = KimiCliReader()


def _session_id(file: SourceFile) -> str:
    """A log named ``wire`` lies in session/agents/agent, whose names identify it; others go by their own name."""
    parts = PurePath(file.name).parts
    if stem(file) != "wire" or len(parts) < 4:
        return stem(file)
    return f"{parts[-4]}/{parts[-2]}"


def _row(state: _State, row: Json, at_s: float | None) -> None:
    kind = row.get("type")
    if kind == "config.update" or kind == "profile.bind":
        state.system = first_text(row.get("systemPrompt")) or state.system
    elif kind == "llm.tools_snapshot":
        state.tools = tool_specs(row.get("tools")) if isinstance(row.get("tools"), list) else state.tools
    elif kind == "context.append_message":
        _finish(state, {})
        _message(state, as_dict(row.get("message")), at_s)
    elif kind == "llm.request":
        _request(state, row, at_s)
    elif kind == _LOOP:
        _event(state, as_dict(row.get("event")), at_s)
    elif kind == "usage.record" and state.summarising is not None:
        state.summarising.results.append((as_dict(row.get("usage")), at_s))
    elif kind == "context.apply_compaction":
        _compact(state, row)


def _message(state: _State, message: Json, at_s: float | None) -> None:
    _system(state)
    role = first_text(message.get("role")) or "user"
    state.conversation.say(role, content_blocks(message.get("content"), state.log), at_s)


def _system(state: _State) -> None:
    conversation = state.conversation
    if state.system and not any(message.role == "system" for message in conversation.history):
        conversation.say("system", (TextBlock(text=state.system),))


def _request(state: _State, row: Json, at_s: float | None) -> None:
    """Note when a step was sent; a repeated request tells of a failed one that left no reply."""
    hashes = [first_text(row.get(key)) for key in ("systemPromptHash", "toolsHash")]
    if all(hashes):
        state.head_key = state.head_key or "kimi " + " ".join(text[:16] for text in hashes if text)
    if row.get("kind") == "compaction":
        state.summarising = _Step(None, at_s, first_text(row.get("model")), as_count(row.get("maxTokens")))
        return
    if state.step is None:
        return
    if state.step.sent_s is not None:
        state.log.omit("Kimi request that failed and was sent again")
    state.step.sent_s = at_s
    state.step.model = first_text(row.get("model")) or state.step.model
    state.step.max_tokens = as_count(row.get("maxTokens"))


def _event(state: _State, event: Json, at_s: float | None) -> None:
    kind = event.get("type")
    if kind == "step.begin":
        _finish(state, {})
        _system(state)
        state.step = _Step(first_text(event.get("uuid")))
        return
    if state.step is None or kind not in _REPLY_EVENTS:
        state.log.omit("Kimi event outside a step")
        return
    if kind == "content.part":
        state.step.blocks += _part(as_dict(event.get("part")), state.log)
    elif kind == "tool.call":
        call_id = first_text(event.get("toolCallId"), event.get("uuid"))
        name = first_text(event.get("name")) or "unknown"
        state.step.blocks.append(ToolCallBlock(name=name, arguments=json_text(event.get("args")), call_id=call_id))
        state.step.called_s[call_id or ""] = at_s
    elif kind == "tool.result":
        state.step.results.append((event, at_s))
    else:
        _finish(state, event)


def _part(part: Json, log: ReadLog) -> tuple[Block, ...]:
    if part.get("type") == "think":
        return (ReasoningBlock(text=first_text(part.get("think"))),)
    return content_blocks(part, log)


def _finish(state: _State, end: Json) -> None:
    """End the open step with *end*, its last event; empty when the step was cut off."""
    step, state.step = state.step, None
    if step is None:
        return
    if not step.blocks and not end:
        state.log.omit("Kimi step without a reply (cancelled or failed)")
        return
    conversation = state.conversation
    conversation.reply(
        step.blocks,
        turn_id=step.id,
        usage=_usage(as_dict(end.get("usage"))),
        times=_times(step.sent_s, end),
        model=step.model,
        max_tokens=step.max_tokens,
        finish_reason=first_text(end.get("finishReason")),
    )
    for event, at_s in step.results:
        call_id = first_text(event.get("toolCallId"), event.get("parentUuid"))
        result = as_dict(event.get("result"))
        conversation.call_started(call_id, step.called_s.get(call_id or ""))
        text = content_text(result.get("output", event.get("result")))
        conversation.result(text, call_id, is_error=result.get("isError") is True, at_s=at_s)


def _compact(state: _State, row: Json) -> None:
    """Add the summarising call, if its usage is recorded, and put its summary in place of the history."""
    _finish(state, {})
    conversation, step = state.conversation, state.summarising
    summary = as_text(row.get("summary")) or ""
    state.summarising = None
    if step is not None and step.results:
        counts, end_s = step.results[-1]
        state.log.assume("Kimi compaction call: its prompt is taken to be the history, its instruction is not recorded")
        conversation.reply(
            content_blocks(summary, state.log),
            usage=_usage(counts),
            times=Times(sent_s=step.sent_s, end_s=end_s),
            model=step.model,
            max_tokens=step.max_tokens,
            remember=False,
        )
    kept = as_count(row.get("keptUserMessageCount")) or 0
    users = [message for message in conversation.history if message.role == "user"]
    system = [message for message in conversation.history if message.role == "system"]
    conversation.history = [*system, *(users[-kept:] if kept else [])]
    shown = first_text(row.get("contextSummary"), summary)
    conversation.say("user", content_blocks(shown, state.log))


def _usage(counts: Json) -> Usage:
    fresh = as_count(counts.get("inputOther"))
    read = as_count(counts.get("inputCacheRead"))
    written = as_count(counts.get("inputCacheCreation"))
    return Usage(
        input_tokens=None if fresh is None else fresh + (read or 0) + (written or 0),
        cached_tokens=read,
        cache_write_tokens=written,
        output_tokens=as_count(counts.get("output")),
    )


def _times(sent_s: float | None, end: Json) -> Times | None:
    """Times of a step: the log dates the request, and gives the waits for the first and the last token in ms."""
    first = scaled(end.get("llmFirstTokenLatencyMs"), 1e3)
    stream = scaled(end.get("llmStreamDurationMs"), 1e3)
    if sent_s is None:
        return None
    first_s = None if first is None else sent_s + first
    return Times(
        sent_s=sent_s, first_token_s=first_s, end_s=None if first_s is None or stream is None else first_s + stream
    )
