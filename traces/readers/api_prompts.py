"""Prompts of API requests as messages, by family of API."""

from __future__ import annotations

from traces.model import Block, Message, ReasoningBlock, TextBlock, ToolCallBlock, ToolResultBlock
from traces.parts import content_blocks, content_text
from traces.pool import json_text
from traces.readers import gemini_parts
from traces.readers.openai_messages import chat_messages
from traces.readlog import ReadLog
from traces.records import Json, as_dict, dicts, first_text


def chat_prompt(request: Json, log: ReadLog) -> list[Message]:
    """Messages of a chat completion, or of a plain completion's prompt text."""
    for key in ("prompt", "inputs"):
        text = request.get(key)
        if isinstance(text, str) and text:
            return [Message(role="user", blocks=(TextBlock(text=text),))]
    history = [{"role": _v1_role(turn), "content": turn.get("message")} for turn in dicts(request.get("chat_history"))]
    said = request.get("message")
    last = [{"role": "user", "content": said}] if isinstance(said, str) else []
    return chat_messages(request.get("messages") or [*history, *last], log)


def gemini_prompt(request: Json, log: ReadLog) -> list[Message]:
    """Messages of a generateContent request, the system instruction first."""
    system = request.get("systemInstruction") or request.get("system_instruction")
    parts = dicts(as_dict(system).get("parts"))
    found = [Message(role="system", blocks=gemini_parts.input_blocks(parts, log))]
    contents = request.get("contents")
    for content in [contents] if isinstance(contents, dict) else dicts(contents):
        parts = dicts(content.get("parts"))
        if content.get("role") == "model":
            found.append(Message(role="assistant", blocks=gemini_parts.output_blocks(parts, log)))
            continue
        for text, call_id, name in gemini_parts.function_responses(parts):
            found.append(Message(role="tool", blocks=(ToolResultBlock(text=text, call_id=call_id),), name=name))
        found.append(Message(role="user", blocks=gemini_parts.input_blocks(parts, log)))
    return [message for message in found if message.blocks]


def converse_prompt(request: Json, log: ReadLog) -> list[Message]:
    """Messages of a Bedrock Converse request, the system prompt first."""
    found = [Message(role="system", blocks=content_blocks(request.get("system"), log))]
    for message in dicts(request.get("messages")):
        role = first_text(message.get("role")) or "user"
        results = [as_dict(part.get("toolResult")) for part in dicts(message.get("content")) if "toolResult" in part]
        for result in results:
            block = ToolResultBlock(
                text=_converse_text(result.get("content")),
                call_id=first_text(result.get("toolUseId")),
                is_error=result.get("status") == "error",
            )
            found.append(Message(role="tool", blocks=(block,)))
        rest = [part for part in dicts(message.get("content")) if "toolResult" not in part]
        found.append(Message(role=role, blocks=converse_blocks(rest, log)))
    return [message for message in found if message.blocks]


def converse_blocks(parts: list[Json], log: ReadLog) -> tuple[Block, ...]:
    """Blocks of a Converse message's parts."""
    blocks: list[Block] = []
    for part in parts:
        call, thought = as_dict(part.get("toolUse")), part.get("reasoningContent")
        if call:
            name = first_text(call.get("name")) or "unknown"
            call_id = first_text(call.get("toolUseId"))
            blocks.append(ToolCallBlock(name=name, arguments=json_text(call.get("input")), call_id=call_id))
        elif thought is not None:
            text = first_text(as_dict(as_dict(thought).get("reasoningText")).get("text"))
            blocks.append(ReasoningBlock(text=text))
        else:
            blocks += content_blocks(part, log)
    return tuple(blocks)


def _converse_text(content: object) -> str:
    return "".join(content_text(part.get("json", part)) for part in dicts(content))


def _v1_role(turn: Json) -> str:
    return {"CHATBOT": "assistant", "SYSTEM": "system"}.get(str(turn.get("role")).upper(), "user")
