"""Requests known by their lengths only: turns and sessions of traces that carry no text."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
import xxhash
from numpy.typing import NDArray

from traces.model import (
    Attempt,
    Block,
    LengthPrompt,
    OpaqueBlock,
    Session,
    Times,
    ToolWait,
    Turn,
    Usage,
)
from traces.readlog import ReadLog

BLOCK_SIZES = (512, 16, 32, 64, 128, 256, 1024, 2048)
"""Tokens a block id may stand for, the most common first."""
_SMALL_ID = 1 << 62
_KEPT_OUTPUTS = 1 << 14
_PROMPTS_AT_A_TIME = 1 << 16


def length_turn(
    turn_id: str,
    prompt: LengthPrompt,
    output_tokens: int,
    *,
    times: Times | None = None,
    parent: str | None = None,
    tool_waits: Sequence[ToolWait] = (),
    user_wait_s: float | None = None,
    model: str | None = None,
    cached_tokens: int | None = None,
    output: Sequence[Block] = (),
) -> Turn:
    """A turn of *prompt* and *output_tokens* tokens; *output* replaces the one opaque block."""
    usage = Usage(input_tokens=prompt.tokens, cached_tokens=cached_tokens, output_tokens=output_tokens)
    blocks = tuple(output) if output else OUTPUTS[output_tokens]
    return Turn(
        id=turn_id,
        prompt=prompt,
        attempts=(Attempt(output=blocks, usage=usage, times=times),),
        parent=parent,
        tool_waits=tuple(tool_waits) if tool_waits else (),
        user_wait_s=user_wait_s,
        model=model,
    )


def block_turn(
    turn_id: str,
    tokens: int,
    block_tokens: int,
    ids: tuple[int | str, ...],
    output_tokens: int,
    times: Times | None = None,
    parent: str | None = None,
    tool_waits: tuple[ToolWait, ...] = (),
    user_wait_s: float | None = None,
    model: str | None = None,
) -> Turn:
    """A turn whose prompt of *tokens* has *ids* of its blocks, or none; as `length_turn`, in less time."""
    prompt = LengthPrompt(tokens, block_tokens, ids) if ids else LengthPrompt(tokens)
    attempt = Attempt(OUTPUTS[output_tokens], Usage(tokens, None, None, output_tokens), times)
    return Turn(turn_id, prompt, (attempt,), parent, tool_waits, user_wait_s, model)


class _Outputs(dict[int, tuple[OpaqueBlock, ...]]):
    """Outputs without text by their tokens; those asked for first are kept."""

    def __missing__(self, tokens: int) -> tuple[OpaqueBlock, ...]:
        output = (OpaqueBlock(tokens=tokens),)
        if len(self) < _KEPT_OUTPUTS:
            self[tokens] = output
        return output


OUTPUTS = _Outputs()
"""``OUTPUTS[n]``: an output of n tokens without text."""


@lru_cache(maxsize=1 << 10)
def turn_name(number: int) -> str:
    """Id of the turn of *number*, counted from 1, where the recording gives it none."""
    return f"t{number}"


@lru_cache(maxsize=256)
def turn_names(count: int) -> tuple[str, ...]:
    """Ids of *count* turns that the recording gives none."""
    return tuple([turn_name(number) for number in range(1, count + 1)])


def single(session_id: str, turn: Turn, start_s: float | None) -> Session:
    """A session of one request."""
    return Session(id=session_id, turns=(turn,), start_s=start_s)


def usable_lengths(input_tokens: int, output_tokens: int, log: ReadLog) -> bool:
    """Whether a request can be served: it has a prompt and an answer. Others are omitted."""
    if output_tokens <= 0:
        log.omit("request without output tokens (failed or cut off before the first)")
    elif input_tokens <= 0:
        log.omit("request without input tokens")
    else:
        return True
    return False


def block_count_fits(tokens: int, blocks: int, block_tokens: int) -> bool:
    """Whether *blocks* ids cover *tokens* tokens, with or without an id for the partial last block."""
    return blocks in (tokens // block_tokens, -(-tokens // block_tokens))


def infer_block_tokens(sizes: array[int], default: int) -> int | None:
    """The one of BLOCK_SIZES that fits *sizes*, each prompt's tokens before its number of ids; None if none does.

    *default*: where no prompt has ids.
    """
    fitting: tuple[int, ...] = BLOCK_SIZES
    shown = False
    for tokens, blocks in _columns(sizes):
        shown = shown or bool(np.any(blocks))
        fitting = tuple([size for size in fitting if np.all(_fit(tokens, blocks, size))])
    return (fitting[0] if fitting else None) if shown else default


def fitting_blocks(sizes: array[int], block_tokens: int) -> NDArray[np.bool_]:
    """Whether `check_blocks` lets each of *sizes* pass, a prompt's tokens before its number of ids."""
    found = [_fit(tokens, blocks, block_tokens) for tokens, blocks in _columns(sizes)]
    return np.concatenate(found) if found else np.ones(0, np.bool_)


def _columns(sizes: array[int]) -> Iterator[NDArray[np.int64]]:
    """Tokens and numbers of ids of some prompts at a time."""
    pairs = np.frombuffer(sizes, np.int64).reshape(-1, 2) if sizes else np.empty((0, 2), np.int64)
    for begin in range(0, len(pairs), _PROMPTS_AT_A_TIME):
        yield pairs[begin : begin + _PROMPTS_AT_A_TIME].T


def _fit(tokens: NDArray[np.int64], blocks: NDArray[np.int64], block_tokens: int) -> NDArray[np.bool_]:
    whole = tokens // block_tokens
    found: NDArray[np.bool_] = (blocks == 0) | (blocks == whole) | (blocks == -(-tokens // block_tokens))
    return found


def scoped(ids: Sequence[int | str], scope: str) -> tuple[int | str, ...]:
    """Block ids that hold within *scope* only, made distinct from those of others; as they are without one.

    Whole numbers stay so: they count on from a number of 63 bits that is the scope's own.
    """
    if not scope:
        return tuple(ids)
    base = _base(scope)
    try:
        if min(ids, default=0) >= 0 and max(ids, default=0) < _SMALL_ID:  # type: ignore[operator]
            return tuple([base + value for value in ids])  # type: ignore[operator]
    except TypeError:
        pass
    return tuple([f"{scope}:{value}" for value in ids])


class ScopedIds:
    """The block ids of prompts within one scope (see `scoped`), most of which go on from the prompt before."""

    def __init__(self, scope: str) -> None:
        self._scope = scope
        self._ids: tuple[int | str, ...] = ()
        self._scoped: tuple[int | str, ...] = ()

    def of(self, ids: tuple[int | str, ...]) -> tuple[int | str, ...]:
        """The ids of a prompt, made distinct from those of other scopes."""
        if not self._scope:
            return ids
        for kept in (len(self._ids), len(self._ids) - 1):
            if kept > 0 and ids[:kept] == self._ids[:kept]:
                found = self._scoped[:kept] + scoped(ids[kept:], self._scope)
                break
        else:
            found = scoped(ids, self._scope)
        self._ids, self._scoped = ids, found
        return found


def first_id(scope: str) -> int:
    """The block id from which those of *scope* count on; of 63 bits."""
    return xxhash.xxh3_64_intdigest(scope.encode("utf-8", "surrogatepass")) >> 1


_base = lru_cache(maxsize=64)(first_id)


def unique(wanted: str, taken: set[str]) -> str:
    """*wanted*, with a number behind it if it is taken already; the answer joins *taken*."""
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted}#{number}", number + 1
    taken.add(name)
    return name


def block_ids(value: object) -> tuple[int | str, ...] | None:
    """The ids in a recorded list; None if a member is neither a whole number nor a text."""
    if not isinstance(value, list):
        return () if value is None else None
    ids = tuple(item for item in value if type(item) is int or isinstance(item, str))
    return ids if len(ids) == len(value) else None


def blocks_prompt(tokens: int, ids: Sequence[int | str], block_tokens: int) -> LengthPrompt:
    """A prompt with block ids. Raises ValueError when there are too many or too few of them."""
    if not ids:
        return LengthPrompt(tokens=tokens)
    check_blocks(tokens, len(ids), block_tokens)
    return LengthPrompt(tokens=tokens, block_tokens=block_tokens, block_ids=tuple(ids))


def check_blocks(tokens: int, blocks: int, block_tokens: int) -> None:
    """Raise ValueError when *blocks* ids, of which there may be none, are too many or too few for *tokens* tokens."""
    if blocks and blocks != -(-tokens // block_tokens) and blocks != tokens // block_tokens:
        raise ValueError(f"{blocks} block ids of {block_tokens} tokens do not fit {tokens} input tokens")
