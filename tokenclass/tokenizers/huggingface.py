"""Vocabularies in Hugging Face's tokenizer.json, of byte-level and of sentencepiece style."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

import numpy as np
import tokenizers
from numpy.typing import NDArray

from tokenclass.tokenizers.base import Encoded, Tokenizer, clean
from traces.errors import TraceError

_BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")


class HuggingFaceTokenizer(Tokenizer):
    """A ``tokenizer.json`` applied by the tokenizers library."""

    def __init__(self, name: str, content: str) -> None:
        self._content = content
        self._tokenizer = tokenizers.Tokenizer.from_str(content)
        added: dict[int, tokenizers.AddedToken] = self._tokenizer.get_added_tokens_decoder()
        special = {token.content: token_id for token_id, token in added.items()}
        pieces: dict[str, int] = self._tokenizer.get_vocab(with_added_tokens=False)
        read = _byte_level_bytes if '"ByteLevel"' in content else _sentencepiece_bytes
        vocabulary = {token_id: read(piece) for piece, token_id in pieces.items()}
        vocabulary |= {token_id: text.encode() for text, token_id in special.items()}
        super().__init__(name, lambda: vocabulary, special)

    @cached_property
    def _ordinary(self) -> tokenizers.Tokenizer:
        declared = json.loads(self._content)
        declared["added_tokens"] = []
        declared["post_processor"] = None
        return tokenizers.Tokenizer.from_str(json.dumps(declared))

    def encode(self, text: str) -> Encoded:
        """Tokens of *text*; the text of a special token becomes that token."""
        return self._encoded(self._tokenizer, clean(text))

    def encode_ordinary(self, text: str) -> Encoded:
        """Tokens of *text*; the text of a special token is cut like any other text."""
        return self._encoded(self._ordinary, clean(text))

    def _encoded(self, tokenizer: tokenizers.Tokenizer, text: str) -> Encoded:
        encoding = tokenizer.encode(text, add_special_tokens=False)
        ids = np.array(encoding.ids, np.int32)
        joined = b"".join([self.vocabulary[token_id] for token_id in encoding.ids])
        data = text.encode()
        added = len(joined) - len(data)
        if joined == data or (added == 1 and joined[:1] == b" " and joined[1:] == data):
            return Encoded(ids, np.maximum(np.cumsum(self._byte_lengths[ids]) - added, 0))
        return Encoded(ids, self._ends_from_offsets(text, ids, encoding.offsets))

    def _ends_from_offsets(
        self, text: str, ids: NDArray[np.int32], offsets: list[tuple[int, int]]
    ) -> NDArray[np.int64]:
        """Ends where tokens are not the bytes of the text (a normalizer, a trimmed space, unknown tokens).

        The library's offsets are characters; the tokens of one character's bytes share its offsets, so all but
        the last of such a run end one byte earlier each.
        """
        if not offsets:
            return np.empty(0, np.int64)
        chars = np.frombuffer(text.encode("utf-32-le"), np.uint32)
        sizes = 1 + (chars > 0x7F).astype(np.int64) + (chars > 0x7FF) + (chars > 0xFFFF)
        byte_at = np.concatenate(([0], np.cumsum(sizes)))
        spans = np.array(offsets, np.int64)
        ends = np.maximum.accumulate(byte_at[spans[:, 1]])
        starts = byte_at[spans[:, 0]]
        for index in range(len(ids) - 2, -1, -1):
            if spans[index, 0] == spans[index + 1, 0] and self._byte_lengths[ids[index]] == 1:
                ends[index] = max(ends[index + 1] - 1, starts[index])
        ends[-1] = byte_at[-1]
        return np.maximum.accumulate(ends)


def _byte_level_alphabet() -> dict[str, int]:
    """Byte of each character in the byte-level alphabet: printable bytes stand for themselves."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in set(printable)]
    return {chr(byte): byte for byte in printable} | {chr(256 + n): byte for n, byte in enumerate(others)}


_BYTE_OF: Mapping[str, int] = _byte_level_alphabet()


def _byte_level_bytes(piece: str) -> bytes:
    try:
        return bytes([_BYTE_OF[char] for char in piece])
    except KeyError:
        return piece.encode()


def _sentencepiece_bytes(piece: str) -> bytes:
    match = _BYTE_TOKEN.fullmatch(piece)
    return bytes([int(match.group(1), 16)]) if match else piece.replace("▁", " ").encode()


def load_huggingface(path: Path, content: bytes) -> HuggingFaceTokenizer:
    """The vocabulary in a ``tokenizer.json``. Raises TraceError when the library refuses it."""
    name = path.parent.name if path.stem == "tokenizer" and path.parent.name else path.stem
    try:
        return HuggingFaceTokenizer(name, content.decode())
    except Exception as error:  # noqa: BLE001 - the library raises bare Exception
        raise TraceError(
            str(path), None, f"not a usable tokenizer.json: {error}", "name a Hugging Face tokenizer.json"
        ) from None
