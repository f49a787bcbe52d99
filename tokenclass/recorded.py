"""Completions recorded as token ids, and tokens recorded as block ids, as what is tagged."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tokenclass.tokenizers import Encoded, Tokenizer
from traces.errors import SimtoolError
from traces.model import Block, RawBlock
from traces.opaque import by_id


def told(blocks: tuple[Block, ...], tokenizer: Tokenizer | None) -> tuple[Block, ...]:
    """The blocks of a message or an output with text as far as they have any (see `with_text`), a block for each id."""
    return by_id(with_text(blocks, tokenizer))


def with_text(blocks: tuple[Block, ...], tokenizer: Tokenizer | None) -> tuple[Block, ...]:
    """The blocks with the text of completions that were recorded as ids only, in *tokenizer*'s vocabulary.

    Raises SimtoolError when there is no tokenizer for them, or an id that it lacks.
    """
    if not any(isinstance(block, RawBlock) and block.token_ids and not block.text for block in blocks):
        return blocks
    return tuple(
        RawBlock(text=_text(block.token_ids, tokenizer), token_ids=block.token_ids)
        if isinstance(block, RawBlock) and block.token_ids and not block.text
        else block
        for block in blocks
    )


def recorded_tokens(blocks: Sequence[Block], tokenizer: Tokenizer) -> Encoded | None:
    """The recorded tokens of an output that is one completion; None unless they spell its text in *tokenizer*."""
    block = blocks[0] if len(blocks) == 1 else None
    if not isinstance(block, RawBlock) or not block.token_ids:
        return None
    pieces = [tokenizer.vocabulary.get(token_id) for token_id in block.token_ids]
    known = [piece for piece in pieces if piece is not None]
    if len(known) < len(pieces) or b"".join(known) != block.text.encode("utf-8", "surrogatepass"):
        return None
    ends = np.cumsum([len(piece) for piece in known], dtype=np.int64)
    return Encoded(np.array(block.token_ids, np.int32), ends)


def _text(token_ids: Sequence[int], tokenizer: Tokenizer | None) -> str:
    if tokenizer is None:
        raise SimtoolError(
            "the trace holds completions as token ids; name the vocabulary that they are in with --recording-tokenizer"
        )
    unknown = [token_id for token_id in token_ids if token_id not in tokenizer.vocabulary]
    if unknown:
        raise SimtoolError(f"token id {unknown[0]} is not in the vocabulary of --recording-tokenizer {tokenizer.name}")
    return b"".join([tokenizer.token_bytes(token_id) for token_id in token_ids]).decode(errors="replace")
