"""Tokens whose text a recording hides: how many they are, what they are labelled, and when two are the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from tokenclass.classes import SubClass
from tokenclass.identity import hashed_name
from tokenclass.mix import Mix, labels_of
from tokenclass.pieces import Hidden
from tokenclass.tagged import LabelRuns
from traces.errors import SimtoolError
from traces.model import (
    Attempt,
    Block,
    HiddenHead,
    MediaBlock,
    Message,
    OpaqueBlock,
    RawBlock,
    ReasoningBlock,
    Turn,
    Usage,
)

Assume = Callable[[str], None]
"""Notes an assumption."""
_NO_USAGE = Usage()


def reasoning_run(tokens: int, key: str) -> Hidden:
    """Hidden reasoning of a known length."""
    values = np.array([SubClass.R] if tokens else [], np.uint8)
    return Hidden(tokens, LabelRuns(values, np.array([tokens] if tokens else [], np.int32)), key)


class HiddenHeads:
    """Lengths of prompt heads that recordings omit, equal for equal keys across sessions."""

    def __init__(self) -> None:
        self._tokens: dict[str, int] = {}

    def resolve(self, head: HiddenHead, turn: Turn, visible_tokens: int, assume: Assume) -> Hidden:
        """The head's tokens: as recorded, else what *turn*'s recorded input holds beyond *visible_tokens*."""
        tokens = head.tokens if head.tokens is not None else self._tokens.get(head.key)
        if tokens is None:
            tokens = self._derived(head, turn, visible_tokens, assume)
        return Hidden(tokens, None, f"head\x1f{head.key}")

    def _derived(self, head: HiddenHead, turn: Turn, visible_tokens: int, assume: Assume) -> int:
        usage = turn.final.usage or _NO_USAGE
        if usage.input_tokens is None:
            assume("hidden prompt head without a token count: taken as empty")
            return 0
        assume("hidden prompt head: tokens are the first turn's recorded input less its visible prompt")
        tokens = max(0, usage.input_tokens - visible_tokens)
        self._tokens[head.key] = tokens
        return tokens


class HiddenText:
    """Stands tokens in for the blocks of one session that have no text."""

    def __init__(self, session_id: str, mix: Mix | None, assume: Assume) -> None:
        self._session_id = session_id
        self._mix = mix
        self._assume = assume
        self._reasoning: dict[tuple[Block, ...], list[Hidden]] = {}

    def remember_reasoning(self, output: Sequence[Block], runs: Iterable[Hidden]) -> None:
        """Note what stood for the hidden reasoning of *output*, for prompts that repeat it."""
        if kept := list(runs):
            self._reasoning[_visible(output)] = kept

    def in_prompt(self, index: int, message: Message, block: Block) -> Hidden:
        """The tokens of a block without text in the prompt message at *index*."""
        if isinstance(block, OpaqueBlock) and block.key is not None:
            return Hidden(block.tokens, None, self._key(block.key))
        place = (str(index), str(next(at for at, other in enumerate(message.blocks) if other is block)))
        if isinstance(block, ReasoningBlock):
            return self._reasoning_in_prompt(message, block, place)
        if isinstance(block, MediaBlock):
            if block.tokens is None:
                self._assume("media without a token count: taken as empty")
            return Hidden(block.tokens or 0, None, f"media\x1f{block.key}")
        if isinstance(block, OpaqueBlock):
            return Hidden(block.tokens, None, self._key(block.key, "prompt", *place))
        raise TypeError(f"block with text: {block!r}")

    def _reasoning_in_prompt(self, message: Message, block: ReasoningBlock, place: tuple[str, ...]) -> Hidden:
        known = self._reasoning.get(_visible(message.blocks), [])
        at = next(n for n, other in enumerate(filter(is_hidden_reasoning, message.blocks)) if other is block)
        if at < len(known):
            return known[at]
        if block.tokens is None:
            self._assume("hidden reasoning in a prompt without a token count: taken as empty")
        return Hidden(block.tokens or 0, None, self._key(None, "prompt", *place))

    def reasoning_key(self, *place: str) -> str:
        """Identity of an output's hidden reasoning."""
        return self._key(None, *place)

    def opaque(self, block: Block, *place: str) -> Hidden:
        """The tokens of an output's block without text, labelled. Raises SimtoolError when nothing says how."""
        if isinstance(block, MediaBlock):
            block = OpaqueBlock(tokens=block.tokens or 0, label=SubClass.F.name, key=block.key)
        if not isinstance(block, OpaqueBlock):
            raise TypeError(f"block with text: {block!r}")
        key = self._key(block.key, *place)
        if block.label is not None:
            if block.label == "S":
                self._assume("S tokens without text: spread over its sub-classes by fixed shares")
            labels = labels_of(block.label, block.tokens, key)
        elif self._mix is None:
            raise SimtoolError(
                f"session {self._session_id}, turn {place[0]}: {block.tokens} output tokens have neither text nor "
                "class; say what they are with --class-mix S=SHARE,R=SHARE,F=SHARE or --mix-from TRACE"
            )
        else:
            self._assume(self._mix.assumption)
            labels = self._mix.draw(block.tokens, key)
        return Hidden(block.tokens, LabelRuns.of(labels), key)

    def _key(self, key: str | None, *place: str) -> str:
        if key is not None:
            return f"opaque\x1f{hashed_name(key)}"
        return own_key(hashed_name(self._session_id), hashed_name(place[0]), *place[1:])


def own_key(session: str, turn: str, *place: str) -> str:
    """Identity of tokens that are like no others, by their session and turn (as `hashed_name` has them) and place."""
    return "\x1f".join(("own", session, turn, *place))


def is_hidden_reasoning(block: Block) -> bool:
    """Whether *block* is reasoning whose text is not recorded."""
    return isinstance(block, ReasoningBlock) and block.text is None


def with_hidden_reasoning(attempt: Attempt, assume: Assume) -> tuple[Block, ...]:
    """The output's blocks, led by the hidden reasoning that only the usage tells of."""
    usage = attempt.usage or _NO_USAGE
    speaks = any(isinstance(block, (ReasoningBlock, RawBlock, OpaqueBlock)) for block in attempt.output)
    if speaks or not usage.reasoning_tokens:
        return attempt.output
    assume("reasoning that only the usage reports: placed at the head of the output")
    return (ReasoningBlock(tokens=usage.reasoning_tokens), *attempt.output)


def hidden_reasoning_tokens(
    blocks: Sequence[Block], usage: Usage | None, visible_tokens: int, assume: Assume
) -> list[int]:
    """Tokens of each hidden reasoning block in order: its own count, else an even part of what usage leaves.

    Usage leaves its reasoning tokens, or its output tokens less *visible_tokens*, less the counts known.
    """
    usage = usage or _NO_USAGE
    hidden = [block for block in blocks if isinstance(block, ReasoningBlock) and block.text is None]
    open_blocks = [block for block in hidden if block.tokens is None]
    if not open_blocks:
        return [block.tokens or 0 for block in hidden]
    known = sum(block.tokens or 0 for block in hidden)
    if usage.reasoning_tokens is not None:
        assume("hidden reasoning: tokens are the recorded reasoning tokens")
        left = usage.reasoning_tokens - known
    elif usage.output_tokens is not None:
        assume("hidden reasoning: tokens are the recorded output less the retokenized visible output")
        left = usage.output_tokens - visible_tokens - known
    else:
        assume("hidden reasoning without a token count: taken as empty")
        left = 0
    share, rest = divmod(max(0, left), len(open_blocks))
    parts = iter([share + (at < rest) for at in range(len(open_blocks))])
    return [next(parts) if block.tokens is None else block.tokens for block in hidden]


def _visible(blocks: Sequence[Block]) -> tuple[Block, ...]:
    return tuple(block for block in blocks if not is_hidden_reasoning(block))
