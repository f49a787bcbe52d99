"""Puts messages of the common chat shapes into a conversation, as prompt, tool result or reply."""

from __future__ import annotations

from dataclasses import dataclass

from traces.conversation import Conversation
from traces.model import Message, Times, ToolResultBlock, Usage
from traces.readers.anthropic_messages import output_blocks, prompt_messages
from traces.readers.openai_messages import assistant_blocks, chat_message
from traces.readlog import ReadLog
from traces.records import Json, as_dict, as_list, first_text


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyFacts:
    """What a recording says of a reply beside its content."""

    turn_id: str | None = None
    usage: Usage | None = None
    times: Times | None = None
    model: str | None = None
    finish_reason: str | None = None


def add_blocks_message(
    conversation: Conversation, message: Json, log: ReadLog, at_s: float | None = None, facts: ReplyFacts | None = None
) -> None:
    """Add a message whose content is text or Anthropic-like parts; an assistant's one is a reply."""
    content = message.get("content")
    if isinstance(content, list):
        message = {**message, "content": [_usual(part) for part in as_list(content)]}
    if message.get("role") == "assistant":
        reply(conversation, output_blocks(message.get("content"), log), at_s, facts, log)
        return
    for said in prompt_messages(message, log):
        add_prompt(conversation, said, at_s)


def add_chat_message(
    conversation: Conversation, message: Json, log: ReadLog, at_s: float | None = None, facts: ReplyFacts | None = None
) -> None:
    """Add a chat-completion message; an assistant's one is a reply."""
    if message.get("role") == "assistant":
        reply(conversation, assistant_blocks(message, log), at_s, facts, log)
        return
    said = chat_message(message, log)
    if said is None:
        log.omit("message without a role")
    else:
        add_prompt(conversation, said, at_s)


def add_prompt(conversation: Conversation, message: Message, at_s: float | None = None) -> None:
    """Add a prompt message; one that starts with a tool's result closes the wait for it."""
    first = message.blocks[0] if message.blocks else None
    if not isinstance(first, ToolResultBlock):
        conversation.say(message.role, message.blocks, at_s)
        return
    conversation.result(
        first.text, first.call_id, name=message.name, is_error=first.is_error, at_s=at_s, media=message.blocks[1:]
    )


def reply(
    conversation: Conversation, blocks: object, at_s: float | None, facts: ReplyFacts | None, log: ReadLog
) -> None:
    """Add a reply of *blocks* that ended at *at_s*; an empty one without usage is omitted."""
    facts = facts or ReplyFacts()
    output = blocks if isinstance(blocks, tuple) else ()
    if not output and facts.usage is None:
        log.omit("empty reply")
        return
    times = facts.times or (None if at_s is None else Times(end_s=at_s))
    conversation.reply(
        output,
        turn_id=facts.turn_id,
        usage=facts.usage,
        times=times,
        model=facts.model,
        finish_reason=facts.finish_reason,
    )


def _usual(part: object) -> object:
    """A part in Anthropic's spelling; Pi writes its calls another way."""
    fields = as_dict(part)
    if fields.get("type") != "toolCall":
        return part
    name = first_text(fields.get("name")) or "unknown"
    return {"type": "tool_use", "id": fields.get("id"), "name": name, "input": fields.get("arguments")}
