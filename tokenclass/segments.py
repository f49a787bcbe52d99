"""Turns pieces into tokens and keeps each distinct run of tokens once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from itertools import groupby

import numpy as np
import xxhash
from numpy.typing import NDArray

from tokenclass.identity import identity64
from tokenclass.pieces import Hidden, Piece, Pieces
from tokenclass.tagged import SegmentTable
from tokenclass.tokenizers import Encoded, Tokenizer

_FIRST_HIDDEN_ID = -2
_HIDDEN_IDS = 2**31 - 2


class TokenCache:
    """Token ids of texts met before, by content; the longest unused are forgotten first."""

    def __init__(self, tokenizer: Tokenizer, max_tokens: int = 16_000_000) -> None:
        self.tokenizer = tokenizer
        self._max_tokens = max_tokens
        self._held_tokens = 0
        self._ids: OrderedDict[bytes, NDArray[np.int32]] = OrderedDict()

    def ids(self, pieces: Sequence[Piece]) -> NDArray[np.int32]:
        """Token ids of the joined pieces (read-only)."""
        digest = _digest(pieces)
        known = self._ids.get(digest)
        if known is not None:
            self._ids.move_to_end(digest)
            return known
        return self._keep(digest, encode_pieces(self.tokenizer, pieces).ids)

    def encode(self, pieces: Sequence[Piece]) -> Encoded:
        """Tokens of the joined pieces with their ends; their ids are then known to `ids`."""
        encoded = encode_pieces(self.tokenizer, pieces)
        self._keep(_digest(pieces), encoded.ids)
        return encoded

    def _keep(self, digest: bytes, ids: NDArray[np.int32]) -> NDArray[np.int32]:
        ids.flags.writeable = False
        if digest in self._ids:
            return ids
        self._ids[digest] = ids
        self._held_tokens += ids.size
        while self._held_tokens > self._max_tokens and len(self._ids) > 1:
            self._held_tokens -= self._ids.popitem(last=False)[1].size
        return ids


def encode_pieces(tokenizer: Tokenizer, pieces: Sequence[Piece]) -> Encoded:
    """Tokens of the joined pieces; special tokens quoted in recorded text stay ordinary text."""
    if any(not piece.marked and tokenizer.find_special(piece.text) for piece in pieces):
        return tokenizer.encode_marked([(piece.text, piece.marked) for piece in pieces])
    return tokenizer.encode("".join([piece.text for piece in pieces]))


def byte_ends(pieces: Sequence[Piece]) -> NDArray[np.int64]:
    """Byte offset in the joined pieces at which each of them ends; shape (pieces,)."""
    sizes = [len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass")) for text, _, _ in pieces]
    return np.cumsum(sizes, dtype=np.int64)


def text_runs(pieces: Pieces) -> Iterable[list[Piece] | Hidden]:
    """The pieces with neighbouring texts together."""
    for hidden, group in groupby(pieces, key=lambda piece: isinstance(piece, Hidden)):
        if hidden:
            yield from (piece for piece in group if isinstance(piece, Hidden))
        else:
            yield [piece for piece in group if isinstance(piece, Piece)]


class SegmentTableBuilder:
    """Collects the distinct segments of one session."""

    def __init__(self) -> None:
        self._index: dict[int, int] = {}
        self._ids: list[NDArray[np.int32]] = []

    def add_text(self, ids: NDArray[np.int32]) -> int:
        """Index of the segment of these token ids."""
        return self._add(xxhash.xxh64_intdigest(ids.tobytes()), ids)

    def add_hidden(self, hidden: Hidden) -> int:
        """Index of the segment of tokens without text."""
        key = identity64(str(hidden.tokens), hidden.key)
        known = self._index.get(key)
        return self._add(key, hidden_ids(hidden)) if known is None else known

    def tokens(self, index: int) -> int:
        """Length of a segment in tokens."""
        return int(self._ids[index].size)

    def build(self) -> SegmentTable:
        """The table of all segments so far."""
        keys = np.fromiter(self._index, np.uint64, len(self._index))
        tokens = np.array([ids.size for ids in self._ids], np.int32)
        return SegmentTable(keys, tokens, tuple(self._ids))

    def _add(self, key: int, ids: NDArray[np.int32]) -> int:
        index = self._index.setdefault(key, len(self._ids))
        if index == len(self._ids):
            self._ids.append(ids)
        return index


def hidden_ids(hidden: Hidden) -> NDArray[np.int32]:
    """The one negative id that stands for all tokens of a hidden run (read-only; takes no memory a token)."""
    value = _FIRST_HIDDEN_ID - identity64(hidden.key) % _HIDDEN_IDS
    return np.ndarray(hidden.tokens, np.int32, np.int32(value).tobytes(), strides=(0,))  # as broadcast_to, in less time


def _digest(pieces: Sequence[Piece]) -> bytes:
    digest = xxhash.xxh3_128()
    for text, _, marked in pieces:
        digest.update(text.encode("utf-8", "surrogatepass"))
        digest.update(b"\xff" if marked else b"\xfe")
    return digest.digest()
