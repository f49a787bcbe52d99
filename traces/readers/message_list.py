"""A list of chat messages as a session: every assistant message is a model call with those before it as prompt."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from traces.conversation import Conversation
from traces.model import Message, ToolResultBlock
from traces.readers.anthropic_messages import prompt_messages
from traces.readers.openai_messages import chat_message
from traces.readlog import ReadLog
from traces.records import Json, dicts

_ANTHROPIC_PARTS = ("tool_use", "tool_result")


def is_messages(value: object) -> bool:
    """Whether *value* is a non-empty array of objects with a role."""
    return isinstance(value, list) and bool(value) and all(isinstance(m, dict) and "role" in m for m in value)


def converter(messages: Iterable[Json]) -> Callable[[Json, ReadLog], list[Message]]:
    """The reading that fits *messages*: Anthropic's if tool parts stand in their content, else OpenAI's."""
    for message in messages:
        if any(part.get("type") in _ANTHROPIC_PARTS for part in dicts(message.get("content"))):
            return prompt_messages
    return _chat


def add_messages(conversation: Conversation, messages: Iterable[Json], log: ReadLog, model: str | None = None) -> None:
    """Add *messages* to *conversation*, its assistant messages as replies; empty ones are omitted."""
    listed = list(messages)
    convert = converter(listed)
    for member in listed:
        found = convert(member, log)
        if not found or not any(message.blocks for message in found):
            log.omit("message without a role or content")
        for message in found:
            if message.role == "assistant" and message.blocks:
                conversation.reply(message.blocks, model=model)
            elif message.blocks:
                add_prompt(conversation, message)


def add_prompt(conversation: Conversation, message: Message) -> None:
    """Add a message that no model made; a tool's result closes the wait for its call."""
    if message.role != "tool":
        conversation.say(message.role, message.blocks)
        return
    conversation.history.append(message)
    for block in message.blocks:
        if isinstance(block, ToolResultBlock):
            conversation.finish_call(block.call_id, name=message.name)


def _chat(message: Json, log: ReadLog) -> list[Message]:
    found = chat_message(message, log)
    return [] if found is None else [found]
