"""OpenHands event lists and evaluation outputs.

An agent's action carries the whole API reply that it came from; several actions, and their observations, repeat
one reply. The oldest lists have no replies: there the thought and the command are the text of one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from traces.clock import scaled, unix_seconds
from traces.conversation import Conversation
from traces.model import HiddenHead, Session, TextBlock, Times, ToolSpec, Usage
from traces.parts import content_blocks, content_text
from traces.readers.base import JsonReader, finished, first_value, stem
from traces.readers.openai_messages import chat_usage, completion
from traces.readers.spoken import ReplyFacts, reply
from traces.readers.tools import tool_specs
from traces.readlog import ReadLog
from traces.records import Json, as_count, as_dict, as_list, dicts, documents, first_text
from traces.source import SourceFile

_NOTES = ("agent_state_changed", "change_agent_state", "null", "recall", "condensation", "pause", "resume")


@dataclass(slots=True)
class _State:
    conversation: Conversation
    log: ReadLog
    latencies: dict[str, float]
    usages: dict[str, Usage]
    tools: tuple[ToolSpec, ...] = ()
    seen: set[str] = field(default_factory=set)
    end_s: float | None = None
    acted: str | None = None


class OpenHandsReader(JsonReader):
    """Reads OpenHands event lists and output.jsonl of evaluations and resolvers."""

    name = "openhands"
    title = "OpenHands event lists and output.jsonl"

    def sniff(self, file: SourceFile, head: bytes) -> float:
        """An array of events, or rows with a history of them."""
        value = first_value(head)
        return _likely(dicts(value)) if isinstance(value, list) else super().sniff(file, head)

    def score(self, rows: list[Json]) -> float:
        """Rows with a history of events beside what was to be done."""
        first = rows[0]
        events = _events(first.get("history"))
        return _likely(events) if "role" not in (events[0] if events else {"role": ""}) else 0.0

    def read_file(self, file: SourceFile, log: ReadLog) -> Iterator[Session]:
        """Yield a session for each event list."""
        for number, value in documents(file, log):
            run = as_dict(value)
            events = _events(value if isinstance(value, list) else run.get("history"))
            if not events:
                log.invalid(file.name, number, "the record holds no events", kind="OpenHands record without events")
                continue
            issue = as_dict(run.get("issue")).get("number")
            name = first_text(run.get("instance_id")) or (stem(file) if issue is None else f"{stem(file)}/{issue}")
            metrics = as_dict(run.get("metrics"))
            state = _State(Conversation(name, log), log, _latencies(metrics), _usages(metrics))
            for event in events:
                _event(state, event)
            lost = [key for key in state.latencies if key not in state.seen]
            if lost:
                log.omit("OpenHands reply that no event carries", len(lost))
            head = None if state.tools else HiddenHead(key="openhands")
            yield from finished(state.conversation, log, tools=state.tools, head=head)


READER = OpenHandsReader()


def _likely(events: list[Json]) -> float:
    known = [event for event in events if "action" in event or "observation" in event]
    marked = any({"source", "args", "extras", "cause", "action_risk", "images_urls"} & set(event) for event in known)
    return 0.9 if known and marked and len(known) == len(events) else 0.0


def _events(value: object) -> list[Json]:
    """The events of a list, whose members may be pairs of an action and its observation."""
    found: list[Json] = []
    for member in as_list(value):
        found += dicts(member) if isinstance(member, list) else dicts([member])
    return found


def _event(state: _State, event: Json) -> None:
    at_s = unix_seconds(event.get("timestamp"))
    state.conversation.seen_at(at_s)
    response = as_dict(as_dict(event.get("tool_call_metadata")).get("model_response"))
    if response and "action" in event:
        _reply(state, response, at_s)
    elif "action" in event:
        _action(state, event, at_s)
    elif "observation" in event:
        _observation(state, event, at_s, has_reply=bool(response))
    else:
        state.log.omit("OpenHands event that is no message, action or observation")


def _action(state: _State, event: Json, at_s: float | None) -> None:
    kind, source = event.get("action"), event.get("source")
    args = as_dict(event.get("args")) or event
    said = content_blocks(args.get("content"), state.log)
    if kind == "system":
        state.tools = tool_specs(args.get("tools")) or state.tools
        state.conversation.say("system", said)
    elif kind in _NOTES:
        state.log.omit("OpenHands event that is no message, action or observation")
    elif kind == "message" and (source == "user" or (source is None and not state.conversation.turns)):
        state.conversation.say("user", said, at_s)
    elif source in (None, "agent"):
        _text_action(state, str(kind), args, at_s)
    else:
        state.log.omit("OpenHands event that is no message, action or observation")


def _text_action(state: _State, kind: str, args: Json, at_s: float | None) -> None:
    """A reply recorded without its API response: the thought and the action's own text."""
    texts = [first_text(args.get(key)) for key in ("thought", "command", "code", "browser_actions", "content")]
    text = "\n".join(part for part in texts if part)
    if kind != "message":
        state.log.assume("OpenHands action without its API reply: thought and command count as the text of one")
        state.acted = kind
    reply(state.conversation, (TextBlock(text=text),) if text else (), at_s, None, state.log)
    state.end_s = at_s


def _observation(state: _State, event: Json, at_s: float | None, *, has_reply: bool) -> None:
    kind = event.get("observation")
    extras = as_dict(event.get("extras"))
    if kind == "recall":
        known = dicts(extras.get("microagent_knowledge"))
        state.conversation.say("user", content_blocks([item.get("content") for item in known], state.log))
        return
    if kind in _NOTES:
        state.log.omit("OpenHands event that is no message, action or observation")
        return
    text = content_text(event.get("content"))
    meta = as_dict(event.get("tool_call_metadata"))
    if meta:
        if has_reply:
            state.log.duplicate("OpenHands reply repeated on another event")
        failed = kind == "error" or as_count(as_dict(extras.get("metadata")).get("exit_code")) not in (None, 0)
        call_id, name = first_text(meta.get("tool_call_id")), first_text(meta.get("function_name"))
        state.conversation.result(text, call_id, name=name, is_error=failed, at_s=at_s)
        return
    if state.acted is not None:
        known_s = at_s is not None and state.end_s is not None and at_s >= state.end_s
        state.conversation.waits(state.acted, at_s - state.end_s if known_s and at_s and state.end_s else None)
        state.acted = None
    state.conversation.say("user", content_blocks(text, state.log), at_s)


def _reply(state: _State, response: Json, at_s: float | None) -> None:
    key = first_text(response.get("id"))
    if key is not None and key in state.seen:
        state.log.duplicate("OpenHands reply repeated on another event")
        return
    made = completion(response, state.log)
    if made is None:
        state.log.omit("OpenHands reply without a choice")
        return
    latency = None
    if key is not None:
        state.seen.add(key)
        latency = state.latencies.get(key)
    times = Times(sent_s=None if at_s is None or latency is None else at_s - latency, end_s=at_s)
    usage = made.usage or state.usages.get(key or "")
    facts = ReplyFacts(
        turn_id=key,
        usage=usage,
        times=None if times == Times() else times,
        model=made.model,
        finish_reason=made.finish_reason,
    )
    reply(state.conversation, made.output, at_s, facts, state.log)


def _latencies(metrics: Json) -> dict[str, float]:
    rows = dicts(metrics.get("response_latencies"))
    pairs = ((first_text(row.get("response_id")), scaled(row.get("latency"), 1.0)) for row in rows)
    return {key: value for key, value in pairs if key is not None and value is not None}


def _usages(metrics: Json) -> dict[str, Usage]:
    rows = dicts(metrics.get("token_usages"))
    pairs = ((first_text(row.get("response_id")), chat_usage(row)) for row in rows)
    return {key: value for key, value in pairs if key is not None and value is not None}
