"""Copilot CLI event logs: {type, data, id, parentId, timestamp}; sub-agents' events name their tool call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from traces.clock import scaled, unix_seconds
from traces.conversation import Conversation
from traces.model import Block, HiddenHead, ReasoningBlock, Session, SpawnLink, Times, ToolCallBlock, Usage
from traces.parts import content_blocks, content_text
from traces.pool import json_text
from traces.readers.base import JsonReader, finished, stem
from traces.readlog import ReadLog
from traces.records import Json, as_count, as_dict, dicts, first_text, objects
from traces.source import SourceFile

_TYPES = ("session.start", "user.message", "assistant.message", "tool.execution_start", "tool.execution_complete")


@dataclass(slots=True)
class _State:
    """The conversations of one file: the main agent's under None, a sub-agent's under its tool call's id."""

    main: Conversation
    log: ReadLog
    model: str | None = None
    others: dict[str, Conversation] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    reasoning: str | None = None
    sent_s: float | None = None
    turn_of_call: dict[str, str | None] = field(default_factory=dict)


class CopilotCliReader(JsonReader):
    """Reads Copilot CLI sessions; only output tokens are recorded for a call."""

    name = "copilot-cli"
    title = "Copilot CLI events (JSONL)"

    def score(self, rows: list[Json]) -> float:
        """Events of Copilot's types with a data object."""
        return 0.95 if any(row.get("type") in _TYPES and isinstance(row.get("data"), dict) for row in rows) else 0.0

    def read_file(self, file: SourceFile, log: ReadLog) -> Iterator[Session]:
        """Yield the main session and one for each sub-agent."""
        state = _State(Conversation(stem(file), log), log)
        for _, row in objects(file, log):
            _event(state, str(row.get("type")), as_dict(row.get("data")), unix_seconds(row.get("timestamp")))
        head = HiddenHead(key="copilot-cli")
        yield from finished(state.main, log, head=head)
        for call_id, conversation in state.others.items():
            link = SpawnLink(session_id=state.main.id, turn_id=state.turn_of_call.get(call_id))
            agent = state.names.get(call_id)
            yield from finished(
                conversation, log, head=HiddenHead(key=f"copilot-cli {agent}"), parent=link, agent=agent
            )


READER = CopilotCliReader()


def _event(state: _State, kind: str, data: Json, at_s: float | None) -> None:
    conversation = _conversation(state, first_text(data.get("parentToolCallId")))
    if kind == "session.start":
        state.main.id = first_text(data.get("sessionId")) or state.main.id
        state.model = first_text(data.get("selectedModel")) or state.model
        state.main.seen_at(at_s)
    elif kind == "session.model_change":
        state.model = first_text(data.get("newModel")) or state.model
    elif kind == "system.message":
        conversation.say("system", content_blocks(data.get("content"), state.log), at_s)
    elif kind == "user.message":
        shown = first_text(data.get("transformedContent"), data.get("content"))
        conversation.say("user", content_blocks(shown, state.log), at_s)
    elif kind == "assistant.turn_start":
        state.sent_s = at_s
    elif kind == "assistant.reasoning":
        state.reasoning = first_text(data.get("content"))
    elif kind == "assistant.message":
        _reply(state, conversation, data, at_s)
    elif kind == "tool.execution_start":
        conversation.call_started(first_text(data.get("toolCallId")), at_s)
    elif kind == "tool.execution_complete":
        _result(conversation, data, at_s)
    elif kind == "subagent.started":
        state.names[first_text(data.get("toolCallId")) or ""] = first_text(data.get("agentName")) or "subagent"
    else:
        state.log.omit("Copilot event that is no message, call or result")


def _conversation(state: _State, call_id: str | None) -> Conversation:
    if call_id is None:
        return state.main
    if call_id not in state.others:
        state.others[call_id] = Conversation(f"{state.main.id}/{call_id}", state.log)
    return state.others[call_id]


def _reply(state: _State, conversation: Conversation, data: Json, at_s: float | None) -> None:
    reasoning = first_text(data.get("reasoningText"), state.reasoning)
    state.reasoning = None
    blocks: list[Block] = []
    if reasoning or data.get("reasoningOpaque"):
        blocks.append(ReasoningBlock(text=reasoning))
    blocks += content_blocks(data.get("content"), state.log)
    calls = [_call(request) for request in dicts(data.get("toolRequests"))]
    usage = Usage(output_tokens=as_count(data.get("outputTokens")) or None)
    times = Times(sent_s=state.sent_s, end_s=at_s)
    state.sent_s = None
    model = first_text(data.get("model")) or state.model
    conversation.reply(
        (*blocks, *calls),
        turn_id=first_text(data.get("messageId")),
        usage=usage,
        times=None if times == Times() else times,
        model=model,
    )
    for call in calls:
        if call.call_id is not None:
            state.turn_of_call[call.call_id] = conversation.last_id


def _call(request: Json) -> ToolCallBlock:
    return ToolCallBlock(
        name=first_text(request.get("name")) or "unknown",
        arguments=json_text(request.get("arguments")),
        call_id=first_text(request.get("toolCallId")),
        free_form=request.get("type") == "custom",
    )


def _result(conversation: Conversation, data: Json, at_s: float | None) -> None:
    result = data.get("result")
    text = content_text(as_dict(result).get("content", result))
    if data.get("success") is False and not text:
        text = content_text(as_dict(data.get("error")).get("message"))
    call_id = first_text(data.get("toolCallId"))
    duration_s = scaled(as_dict(as_dict(data.get("toolTelemetry")).get("metrics")).get("durationMs"), 1e3)
    failed = data.get("success") is False
    conversation.result(text, call_id, is_error=failed, at_s=at_s, duration_s=duration_s)
