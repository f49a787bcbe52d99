"""Prompts and outputs as tracing tools record them: any framework's message shape, or JSON text of one."""

from __future__ import annotations

import orjson

from traces.model import Block, Message, ReasoningBlock, TextBlock, ToolCallBlock, ToolResultBlock
from traces.parts import content_blocks, content_text
from traces.pool import json_text
from traces.readers import api_prompts, api_replies
from traces.readers.openai_messages import assistant_blocks
from traces.readlog import ReadLog
from traces.records import Json, as_dict, as_list, as_text, dicts, first_text, parsed

_ROLES = {"human": "user", "ai": "assistant", "model": "assistant", "function": "tool", "constant": "user"}
_KNOWN_ROLES = ("system", "developer", "user", "assistant", "tool")
_CALLS = ("tool_call", "tool-call", "tool_use", "function", "function_call")
_RESULTS = ("tool_call_response", "tool-result", "tool_result", "function_call_output", "function_result")
_THOUGHTS = ("reasoning", "thinking", "redacted_thinking", "redacted-reasoning")
_PROMPT_KEYS = ("messages", "input_messages", "prompt", "input", "args", "prompts", "contents")


def json_value(value: object) -> object:
    """*value*, or what its JSON text says when it is the text of an object or an array."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return parsed(value.encode(errors="replace"))
        except orjson.JSONDecodeError:
            return value
    return value


def loose_prompt(value: object, log: ReadLog) -> list[Message]:
    """Messages of a recorded prompt: an array of them, an object around one, or plain text."""
    value = json_value(value)
    if isinstance(value, str):
        return [Message(role="user", blocks=(TextBlock(text=value),))] if value else []
    if isinstance(value, dict):
        if "contents" in value:
            return api_prompts.gemini_prompt(_gemini_names(value), log)
        inner = next((value[key] for key in _PROMPT_KEYS if value.get(key)), None)
        if inner is None or "role" in value:
            return loose_message(value, log)
        system = loose_prompt(value.get("system"), log) if "role" not in value else []
        return [*(Message(role="system", blocks=m.blocks) for m in system), *loose_prompt(inner, log)]
    found: list[Message] = []
    called: set[str] = set()
    for member in as_list(value):
        if isinstance(member, (str, list)):
            added = loose_prompt(member, log)
        else:
            message = as_dict(member)
            # Some exporters give a tool's message the tool's name for a role.
            named = first_text(message.get("role")) in called
            added = loose_message({**message, "role": "tool"} if named else message, log)
        found += added
        called |= {b.name for m in added for b in m.blocks if isinstance(b, ToolCallBlock)} - set(_KNOWN_ROLES)
    return found


def loose_output(value: object, log: ReadLog) -> tuple[Block, ...] | None:
    """Blocks of a recorded output; None when nothing is recorded."""
    value = json_value(value)
    if isinstance(value, str):
        return (TextBlock(text=value),) if value else None
    if isinstance(value, list):
        return _outputs(value, log)
    if not isinstance(value, dict) or not value:
        return None
    family = api_replies.family_of([value])
    if family is not None:
        reply = api_replies.reply_of(family, [value], log)
        return reply.output if reply is not None else None
    inner = next(
        (value[key] for key in ("message", "messages", "generations") if isinstance(value.get(key), (dict, list))), None
    )
    if inner is not None and "role" not in value:
        return loose_output(inner, log)
    content = as_dict(value.get("content"))
    return message_blocks(
        {"role": "assistant", **value, **({"parts": content["parts"]} if "parts" in content else {})}, log
    )


def loose_message(value: Json, log: ReadLog) -> list[Message]:
    """The messages that one recorded message stands for: its tool results become messages of role tool."""
    message = _unwrapped(value)
    role = first_text(message.get("role"), message.get("type")) or "user"
    role = _ROLES.get(role, role)
    if role not in _KNOWN_ROLES:
        role = "tool" if "tool_call_id" in message or "toolCallId" in message else "user"
    blocks = message_blocks(message, log)
    if role == "tool":
        if blocks and all(isinstance(block, ToolCallBlock) for block in blocks):
            return [Message(role="assistant", blocks=blocks)]
        blocks = _as_result(message, blocks)
    results = [block for block in blocks if isinstance(block, ToolResultBlock)]
    rest = tuple(block for block in blocks if not isinstance(block, ToolResultBlock))
    found = [Message(role="tool", blocks=(block,), name=first_text(message.get("name"))) for block in results]
    if rest:
        found.append(Message(role="user" if role == "tool" else role, blocks=rest))
    return found


def message_blocks(message: Json, log: ReadLog) -> tuple[Block, ...]:
    """Blocks of one message in whatever shape, tool results included."""
    message = _unwrapped(message)
    raw = next((message[key] for key in ("parts", "contents", "content") if message.get(key) is not None), None)
    content = _content(raw)
    bare = {key: item for key, item in message.items() if key not in ("content", "parts", "contents", "tool_calls")}
    reasoning = assistant_blocks(bare, log)
    blocks: list[Block] = [block for block in reasoning if isinstance(block, ReasoningBlock)]
    for part in as_list(content) if isinstance(content, list) else [content]:
        blocks += _part(part, log)
    calls = json_value(message.get("tool_calls"))
    for call in dicts(calls if isinstance(calls, list) else []):
        found = _call(as_dict(call.get("tool_call")) or call)
        if found is not None and found not in blocks:
            blocks.append(found)
    return tuple(blocks)


def _outputs(value: list[object], log: ReadLog) -> tuple[Block, ...] | None:
    """Blocks of an array: of messages, of calls, or of choices, of which only the first counts."""
    members = [json_value(member) for member in value]
    found = [
        message_blocks(_choice(as_dict(m)), log) if isinstance(m, dict) and not _is_part(m) else tuple(_part(m, log))
        for m in members
    ]
    found = [blocks for blocks in found if blocks]
    if not found:
        return None
    single = len(found) == 1 or all(_is_part(as_dict(m)) or isinstance(m, str) for m in members)
    if single or all(any(isinstance(b, ToolCallBlock) for b in blocks) for blocks in found):
        return tuple(block for blocks in found for block in blocks)
    if any(as_dict(m).get("index") not in (None, 0) for m in members):
        log.omit("further choice of one call (n > 1)", len(found) - 1)
        return found[0]
    return tuple(b for blocks in found for b in blocks if not isinstance(b, ToolResultBlock))


def _choice(member: Json) -> Json:
    return as_dict(member.get("message")) or member


def _is_part(member: object) -> bool:
    part = as_dict(member)
    return "role" not in part and "message" not in part and ("type" in part or "toolName" in part)


def _unwrapped(value: Json) -> Json:
    """*value* out of the wrappers that OpenInference and LangChain put around a message."""
    inner = as_dict(value.get("message")) or as_dict(value.get("kwargs"))
    if not inner or "role" in value:
        return value
    name = [part for part in as_list(value.get("id")) if isinstance(part, str)]
    kind = name[-1].removesuffix("Message").removesuffix("MessageChunk").lower() if name else None
    return {**({"role": kind} if kind else {}), **inner}


def _content(raw: object) -> object:
    """Content with JSON texts of parts or of calls read; other text as it stands."""
    value = json_value(raw)
    known = isinstance(value, list) and value and all(_is_known_part(part) for part in value)
    if isinstance(raw, str):
        return value if known else raw
    return value


def _is_known_part(part: object) -> bool:
    fields = as_dict(part)
    kind = fields.get("type")
    return ("text" in fields and kind == "text") or kind in (*_CALLS, *_RESULTS) or "toolName" in fields


def _part(value: object, log: ReadLog) -> list[Block]:
    part = as_dict(value)
    part = as_dict(part.get("message_content")) or part
    kind = part.get("type")
    call = as_dict(part.get("functionCall") or part.get("function_call"))
    answer = as_dict(part.get("functionResponse") or part.get("function_response"))
    if not part:
        return list(content_blocks(value, log)) if value is not None else []
    if kind in _RESULTS or answer:
        return [_result(answer or part)]
    if kind in _CALLS or call or "toolName" in part:
        found = _call(call or part)
        return [found] if found is not None else []
    if kind in _THOUGHTS:
        text = first_text(part.get("text"), part.get("content"), part.get("thinking"), part.get("reasoning"))
        return [ReasoningBlock(text=text)]
    if part.get("thought") is True:
        return [ReasoningBlock()]
    said = part.get("content")
    if kind == "text" and "text" not in part and isinstance(said, str):
        return list(content_blocks(said, log))
    return list(content_blocks(part, log))


def _call(value: Json) -> ToolCallBlock | None:
    call = as_dict(value.get("function")) or value
    name = first_text(call.get("name"), call.get("toolName"), call.get("tool_name"))
    if name is None:
        return None
    arguments = next((call[key] for key in ("arguments", "args", "input") if call.get(key) is not None), None)
    call_id = first_text(*(value.get(key) for key in ("id", "toolCallId", "tool_call_id", "call_id")))
    return ToolCallBlock(name=name, arguments=json_text(_once(arguments)), call_id=call_id)


def _once(arguments: object) -> object:
    """Arguments without a second encoding: JSON text whose value is again a text of an object."""
    if isinstance(arguments, str) and arguments.startswith('"{'):
        try:
            inner = parsed(arguments.encode(errors="replace"))
        except orjson.JSONDecodeError:
            return arguments
        return inner if isinstance(inner, str) else arguments
    return arguments


def _result(part: Json) -> ToolResultBlock:
    keys = ("response", "result", "output", "content")
    value = next((part[key] for key in keys if part.get(key) is not None), None)
    inner = as_dict(value)
    if set(inner) == {"type", "value"}:
        value = inner["value"]
    call_id = first_text(*(part.get(key) for key in ("id", "toolCallId", "tool_use_id", "tool_call_id", "call_id")))
    return ToolResultBlock(text=content_text(value), call_id=call_id, is_error=part.get("is_error") is True)


def _as_result(message: Json, blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Text of a tool's message as its result."""
    if any(isinstance(block, ToolResultBlock) for block in blocks):
        return blocks
    text = "".join(block.text for block in blocks if isinstance(block, TextBlock))
    call_id = first_text(message.get("tool_call_id"), message.get("id"), message.get("toolCallId"))
    rest = tuple(block for block in blocks if not isinstance(block, TextBlock))
    return (ToolResultBlock(text=text, call_id=as_text(call_id)), *rest)


def _gemini_names(request: Json) -> Json:
    """A Gemini request of the Python library with the API's own names."""
    config = as_dict(request.get("config"))
    system = config.get("system_instruction") or request.get("system_instruction")
    contents = [
        {**content, "parts": [_gemini_part(part) for part in dicts(content.get("parts"))]}
        for content in dicts(request.get("contents"))
    ]
    renamed: Json = {**request, "contents": contents}
    if system is not None:
        renamed["systemInstruction"] = {"parts": [{"text": system}]} if isinstance(system, str) else system
    return renamed


def _gemini_part(part: Json) -> Json:
    names = {"function_call": "functionCall", "function_response": "functionResponse", "inline_data": "inlineData"}
    return {names.get(key, key): value for key, value in part.items() if value is not None}
