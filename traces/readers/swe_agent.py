"""SWE-agent trajectories (.traj), from the first releases to function calling.

Actions of the older ones are fenced or tagged text in the reply: prose to the engine. Totals of the run are
the only usage recorded.
"""

from __future__ import annotations

from collections.abc import Iterator

from traces.clock import scaled
from traces.conversation import Conversation
from traces.model import HiddenHead, Message, Session, ToolCallBlock
from traces.readers.base import JsonReader, finished, stem
from traces.readers.openai_messages import assistant_blocks, chat_messages
from traces.readers.spoken import add_chat_message
from traces.readlog import ReadLog
from traces.records import Json, as_dict, as_list, dicts, documents, first_text
from traces.source import SourceFile


class SweAgentReader(JsonReader):
    """Reads SWE-agent trajectories; demonstrations are prompt, never output."""

    name = "swe-agent"
    title = "SWE-agent trajectories (.traj)"

    def score(self, rows: list[Json]) -> float:
        """Steps of response and observation, or a history of messages with an agent's name."""
        first = rows[0]
        steps = dicts(first.get("trajectory"))
        if any("observation" in step and ("response" in step or "action" in step) for step in steps):
            return 0.9
        messages = dicts(first.get("history"))
        named = any("role" in message and ("agent" in message or "message_type" in message) for message in messages)
        return 0.9 if named else 0.0

    def read_file(self, file: SourceFile, log: ReadLog) -> Iterator[Session]:
        """Yield the one session of a trajectory."""
        for number, value in documents(file, log):
            run = as_dict(value)
            history = [_with_id(message) for message in dicts(run.get("history"))]
            if not history:
                log.invalid(file.name, number, "the trajectory holds no history", kind="trajectory without history")
                continue
            conversation = Conversation(stem(file), log)
            _read(conversation, history, dicts(run.get("trajectory")), _model(run), log)
            yield from finished(conversation, log, head=_head(history))


READER = SweAgentReader()


def _read(conversation: Conversation, history: list[Json], steps: list[Json], model: str | None, log: ReadLog) -> None:
    spoken = sum(_is_output(message) for message in history)
    if steps and len(steps) != spoken:
        log.assume("SWE-agent steps that do not pair with the replies: their tool times are left out")
        steps = []
    number = 0
    for message in history:
        if not _is_output(message):
            _add_prompt(conversation, message, log)
            continue
        before = list(conversation.history)
        prompt = _prompt(steps, number, log) if number < len(steps) else None
        conversation.history = before if prompt is None else prompt
        output = assistant_blocks(message, log)
        conversation.reply(output, model=model)
        conversation.history = [*before, Message(role="assistant", blocks=output)] if output else before
        if number < len(steps):
            _wait(conversation, output, steps[number])
        number += 1


def _add_prompt(conversation: Conversation, message: Json, log: ReadLog) -> None:
    if message.get("role") == "assistant":
        conversation.say("assistant", assistant_blocks(message, log))
    else:
        add_chat_message(conversation, message, log)


def _wait(conversation: Conversation, output: tuple[object, ...], step: Json) -> None:
    """Wait for the step's action, named by its command where no tool call names it."""
    duration_s = scaled(step.get("execution_time"), 1.0)
    calls = [block for block in output if isinstance(block, ToolCallBlock)]
    for call in calls:
        conversation.finish_call(call.call_id, name=call.name, duration_s=duration_s)
    words = (first_text(step.get("action")) or "").split(maxsplit=1)
    if not calls and words:
        conversation.waits(words[0], duration_s)


def _prompt(steps: list[Json], number: int, log: ReadLog) -> list[Message] | None:
    """The prompt that a step records: its query, or the messages as they stood before its reply."""
    query = steps[number].get("query")
    if isinstance(query, list):
        return _messages(query, log)
    own = dicts(steps[number].get("messages"))
    replies = sum(_is_output(message) for message in own)
    if not own or replies <= number:
        return _messages(own, log) if own else None
    if number:
        return _messages(as_list(steps[number - 1].get("messages")), log) or None
    first = next(index for index, message in enumerate(own) if _is_output(message))
    return _messages(own[:first], log)


def _messages(values: object, log: ReadLog) -> list[Message]:
    return chat_messages([_with_id(message) for message in dicts(values)], log)


def _with_id(message: Json) -> Json:
    """A tool's message with the id of its call in the place where chat messages have it."""
    ids = as_list(message.get("tool_call_ids"))
    return {**message, "tool_call_id": ids[0]} if ids and "tool_call_id" not in message else message


def _is_output(message: Json) -> bool:
    demo = message.get("is_demo") is True or message.get("message_type") == "demonstration"
    return message.get("role") == "assistant" and not demo


def _head(history: list[Json]) -> HiddenHead | None:
    return HiddenHead(key="swe-agent tools") if any(message.get("tool_calls") for message in history) else None


def _model(run: Json) -> str | None:
    agent = as_dict(as_dict(run.get("replay_config")).get("agent"))
    return first_text(as_dict(agent.get("model")).get("name"))
