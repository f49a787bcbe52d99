"""What a canonical session must satisfy beyond its schema."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from traces.model import Block, LengthPrompt, MessagePrompt, OpaqueBlock, Session, Times, Turn, Usage


def problems(session: Session) -> Iterator[str]:
    """Yield what is wrong with *session*, each with the path of the field; nothing for a sound one."""
    if not session.turns:
        yield "$.turns: a session needs at least one turn"
    seen: set[str] = set()
    for index, turn in enumerate(session.turns):
        path = f"$.turns[{index}]"
        if turn.id in seen:
            yield f"{path}.id: turn id {turn.id!r} is there twice"
        if turn.parent is not None and turn.parent not in seen:
            yield f"{path}.parent: {turn.parent!r} is no earlier turn of the session"
        seen.add(turn.id)
        yield from _prompt_problems(path, turn, len(session.messages))
        yield from _attempt_problems(path, turn)
        waits = [wait.duration_s for wait in turn.tool_waits] + [turn.user_wait_s]
        if any(wait is not None and wait < 0 for wait in waits):
            yield f"{path}: a wait is negative"
    for number, message in enumerate(session.messages):
        yield from _block_problems(f"$.messages[{number}].blocks", message.blocks)


def _prompt_problems(path: str, turn: Turn, messages: int) -> Iterator[str]:
    prompt = turn.prompt
    if isinstance(prompt, MessagePrompt):
        for number, (start, end) in enumerate(prompt.ranges):
            if not 0 <= start < end <= messages:
                yield f"{path}.prompt.ranges[{number}]: [{start}, {end}] is no range of the {messages} messages"
    else:
        yield from _length_problems(path, prompt)


def _block_problems(path: str, blocks: tuple[Block, ...]) -> Iterator[str]:
    for number, block in enumerate(blocks):
        if not isinstance(block, OpaqueBlock) or not block.block_ids:
            continue
        place = f"{path}[{number}]"
        if block.key is not None:
            yield f"{place}.key: block_ids stand in place of a key"
        if block.block_tokens is None or block.block_tokens < 1:
            yield f"{place}.block_tokens: needed with block_ids, 1 or more"
        elif len(block.block_ids) != -(-block.tokens // block.block_tokens):
            yield f"{place}.block_ids: {len(block.block_ids)} blocks are not as many as {block.tokens} tokens fill"


def _length_problems(path: str, prompt: LengthPrompt) -> Iterator[str]:
    if prompt.tokens < 0:
        yield f"{path}.prompt.tokens: {prompt.tokens} is negative"
    if not prompt.block_ids:
        return
    if prompt.block_tokens is None or prompt.block_tokens < 1:
        yield f"{path}.prompt.block_tokens: needed with block_ids, 1 or more"
    elif len(prompt.block_ids) > -(-prompt.tokens // prompt.block_tokens):
        yield f"{path}.prompt.block_ids: {len(prompt.block_ids)} blocks are more than {prompt.tokens} tokens fill"


def _attempt_problems(path: str, turn: Turn) -> Iterator[str]:
    if not turn.attempts:
        yield f"{path}.attempts: a turn needs at least one attempt"
    for number, attempt in enumerate(turn.attempts):
        place = f"{path}.attempts[{number}]"
        if any(isinstance(block, OpaqueBlock) and block.tokens < 0 for block in attempt.output):
            yield f"{place}.output: a block has a negative number of tokens"
        yield from _block_problems(f"{place}.output", attempt.output)
        if attempt.block_ids and not (isinstance(turn.prompt, LengthPrompt) and turn.prompt.block_tokens):
            yield f"{place}.block_ids: needs a prompt known by length with block_tokens"
        if attempt.usage is not None:
            yield from _usage_problems(f"{place}.usage", attempt.usage)
        if attempt.times is not None and not _ordered(attempt.times):
            yield f"{place}.times: sent_s, first_token_s, end_s must not decrease"


def _usage_problems(path: str, usage: Usage) -> Iterator[str]:
    counts = (
        usage.input_tokens,
        usage.cached_tokens,
        usage.cache_write_tokens,
        usage.output_tokens,
        usage.reasoning_tokens,
    )
    if any(count is not None and count < 0 for count in counts):
        yield f"{path}: a count is negative"
    cached = (usage.cached_tokens or 0) + (usage.cache_write_tokens or 0)
    if usage.input_tokens is not None and cached > usage.input_tokens:
        yield f"{path}: cached_tokens and cache_write_tokens are more than input_tokens"
    if usage.output_tokens is not None and (usage.reasoning_tokens or 0) > usage.output_tokens:
        yield f"{path}: reasoning_tokens are more than output_tokens"


def _ordered(times: Times) -> bool:
    known = [time for time in (times.sent_s, times.first_token_s, times.end_s) if time is not None]
    return all(earlier <= later for earlier, later in pairwise(known))
