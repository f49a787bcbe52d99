"""Small sessions for the tagger's tests."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tokenclass.tokenizers import load_tokenizer
from traces.model import (
    Attempt,
    Block,
    Message,
    MessagePrompt,
    ReasoningBlock,
    Session,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    ToolSpec,
    Turn,
    Usage,
)
from traces.pool import MessagePool

CALL = ToolCallBlock(name="look_up", arguments='{"city": "Ulm"}', call_id="1")
RESULT = ToolResultBlock(text="12 degrees", call_id="1")
THOUGHT = ReasoningBlock(text="I should look it up.")
TOOLS = (ToolSpec(name="look_up", description="Weather", parameters={"type": "object", "properties": {}}),)


def say(role: str, *blocks: Block | str) -> Message:
    """A message; a text stands for a text block."""
    parts = tuple(TextBlock(text=block) if isinstance(block, str) else block for block in blocks)
    return Message(role=role, blocks=parts)


def one_turn(*output: Block, usage: Usage | None = None, **session: object) -> Session:
    """A session of one turn after one user message."""
    attempt = Attempt(output=output, usage=usage)
    turn = Turn(id="t0", prompt=MessagePrompt(ranges=((0, 1),)), attempts=(attempt,))
    return Session(id="s", turns=(turn,), messages=(say("user", "Hello"),), **session)  # type: ignore[arg-type]


def conversation(*messages: Message, usage: Usage | None = None, **session: object) -> Session:
    """A session whose turns are the assistant messages, each after all messages before it."""
    pool = MessagePool()
    turns: list[Turn] = []
    for at, message in enumerate(messages):
        if message.role == "assistant":
            attempts = (Attempt(output=message.blocks, usage=usage),)
            parent = turns[-1].id if turns else None
            prompt = pool.prompt(messages[:at])
            turns.append(Turn(id=f"t{len(turns)}", prompt=prompt, attempts=attempts, parent=parent))
    return Session(id="s", turns=tuple(turns), messages=pool.messages, **session)  # type: ignore[arg-type]


def text_of(ids: NDArray[np.int32] | None) -> str:
    """The text of Qwen3 token ids; hidden tokens are shown as a dot each."""
    assert ids is not None
    tokenizer = load_tokenizer("qwen3")
    return b"".join(tokenizer.token_bytes(i) if i >= 0 else b"." for i in ids.tolist()).decode()
