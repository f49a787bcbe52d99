"""Token counts and clock times of the sample trace: what a serving engine would have reported for each draw.

The prompt is rendered with the chat markup of Qwen3 and counted in its vocabulary. The times follow a formula with
a fixed scatter; they are made up, not measured.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence

from tokenclass.tokenizers import load_tokenizer
from traces.model import (
    Block,
    Message,
    ReasoningBlock,
    TextBlock,
    Times,
    ToolCallBlock,
    ToolResultBlock,
    ToolSpec,
    Usage,
)

BLOCK_TOKENS = 16
"""Tokens of a cache block; cached prompt tokens are whole blocks."""
PREFILL_TOKENS_PER_S = 9000.0
QUEUE_S = 0.045
DECODE_S = 0.0125
"""Seconds an output token takes with a short context."""
CONTEXT_TOKENS = 60_000
"""Context at which an output token takes twice DECODE_S."""
TOOLS_HEAD = """# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>"""
"""What Qwen3's chat template writes before the tools."""
TOOLS_FOOT = """</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call>"""
"""What Qwen3's chat template writes after the tools."""


def scatter(*key: object) -> float:
    """A number in [0, 1) that depends on *key* alone."""
    digest = hashlib.sha256("/".join(map(str, key)).encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


def output_text(blocks: Sequence[Block]) -> str:
    """The completion as the model emits it, without its end token."""
    text = ""
    for block in blocks:
        if isinstance(block, ReasoningBlock):
            text += f"<think>\n{block.text}\n</think>\n\n"
        elif isinstance(block, TextBlock):
            text += block.text
        elif isinstance(block, ToolCallBlock):
            lead = "\n" if text and not text.endswith("\n\n") else ""
            body = f'{{"name": {json.dumps(block.name)}, "arguments": {block.arguments}}}'
            text += f"{lead}<tool_call>\n{body}\n</tool_call>"
    return text


def prompt_text(messages: Iterable[Message], tools: Sequence[ToolSpec]) -> Iterable[str]:
    """The prompt in pieces that end at a special token, so that they can be counted one by one."""
    after_result = False
    for message in messages:
        texts = [b.text for b in message.blocks if isinstance(b, TextBlock)]
        results = [b.text for b in message.blocks if isinstance(b, ToolResultBlock)]
        if results:
            yield "\n" if after_result else "<|im_start|>user\n"
            yield "\n".join(f"<tool_response>\n{text}\n</tool_response>" for text in results)
        else:
            yield "<|im_end|>\n" if after_result else ""
            content = output_text(message.blocks) if message.role == "assistant" else "\n".join(texts)
            listing = _tool_text(tools) if message.role == "system" else ""
            yield f"<|im_start|>{message.role}\n{content}{listing}<|im_end|>\n"
        after_result = bool(results)
    yield "<|im_end|>\n" if after_result else ""
    yield "<|im_start|>assistant\n"


def _tool_text(tools: Sequence[ToolSpec]) -> str:
    functions = (
        {"type": "function", "function": {"name": t.name, "description": t.description, "parameters": t.parameters}}
        for t in tools
    )
    listing = "\n".join(json.dumps(function, ensure_ascii=False) for function in functions)
    return f"\n\n{TOOLS_HEAD}\n{listing}\n{TOOLS_FOOT}"


class RecordedEngine:
    """Counts and times the draws of one session after another; later sessions find the shared head cached."""

    def __init__(self) -> None:
        self._tokenizer = load_tokenizer("qwen3")
        self._counts: dict[str, int] = {"": 0}
        self._kept: dict[str, int] = {}
        self._head_tokens = 0

    def draw(
        self,
        key: tuple[str, str, int],
        prompt: Sequence[Message],
        tools: Sequence[ToolSpec],
        output: Sequence[Block],
        sent_s: float,
    ) -> tuple[Usage, Times]:
        """Usage and times of one draw; *key* is (session, turn, attempt)."""
        session = key[0]
        pieces = list(prompt_text(prompt, tools))
        prompt_tokens = sum(map(self._count, pieces))
        cached = self._kept.get(session, self._head_tokens) // BLOCK_TOKENS * BLOCK_TOKENS
        cached = min(cached, (prompt_tokens - 1) // BLOCK_TOKENS * BLOCK_TOKENS)
        output_tokens = self._count(output_text(output)) + 1
        thought = sum(self._count(output_text([b])) for b in output if isinstance(b, ReasoningBlock))
        self._head_tokens = sum(map(self._count, pieces[:2]))
        self._kept[session] = prompt_tokens
        usage = Usage(
            input_tokens=prompt_tokens, cached_tokens=cached, output_tokens=output_tokens, reasoning_tokens=thought
        )
        return usage, _times(key, usage, sent_s)

    def keep(self, session: str, attempt_usage: Usage) -> None:
        """Note that the prompt and output of the accepted draw stay in the cache, save the last token."""
        self._kept[session] = (attempt_usage.input_tokens or 0) + (attempt_usage.output_tokens or 0) - 1

    def _count(self, text: str) -> int:
        if text not in self._counts:
            self._counts[text] = len(self._tokenizer.encode(text).ids)
        return self._counts[text]


def _times(key: tuple[str, str, int], usage: Usage, sent_s: float) -> Times:
    inputs, cached, outputs = usage.input_tokens or 0, usage.cached_tokens or 0, usage.output_tokens or 0
    first_s = sent_s + QUEUE_S * (0.7 + scatter(*key, "queue")) + (inputs - cached) / PREFILL_TOKENS_PER_S
    token_s = DECODE_S * (1 + inputs / CONTEXT_TOKENS) * (0.93 + 0.14 * scatter(*key, "decode"))
    end_s = first_s + (outputs - 1) * token_s
    return Times(sent_s=round(sent_s, 3), first_token_s=round(first_s, 3), end_s=round(end_s, 3))
