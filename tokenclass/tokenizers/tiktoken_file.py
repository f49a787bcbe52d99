"""Byte-pair vocabularies in tiktoken's rank files, with the pattern and special tokens declared beside them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import msgspec
import tiktoken

from tokenclass.tokenizers.base import ByteTokenizer
from tokenclass.tokenizers.patterns import PRESETS
from traces.errors import SimtoolError, TraceError


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoding:
    """How a rank file is applied to a text."""

    pattern: str
    """Regular expression that cuts a text before byte pairs are merged."""
    special_tokens: Mapping[str, int] = field(default_factory=dict)
    nfc: bool = False
    """Whether the text is put into NFC first."""


class _Declaration(msgspec.Struct, forbid_unknown_fields=True):
    ranks: str
    pattern: str
    special_tokens: dict[str, int] = {}
    nfc: bool = False


class TiktokenTokenizer(ByteTokenizer):
    """A rank file applied by tiktoken; *ranks* reads it."""

    def __init__(self, name: str, ranks: Callable[[], dict[bytes, int]], encoding: Encoding) -> None:
        super().__init__(name, lambda: self._loaded[0], dict(encoding.special_tokens), nfc=encoding.nfc)
        self._ranks = ranks
        self._pattern = encoding.pattern

    @cached_property
    def _loaded(self) -> tuple[dict[int, bytes], tiktoken.Encoding]:
        ranks, special = self._ranks(), dict(self.special_tokens)
        vocabulary = {rank: piece for piece, rank in ranks.items()}
        vocabulary |= {token_id: text.encode() for text, token_id in special.items()}
        bpe = tiktoken.Encoding(self.name, pat_str=self._pattern, mergeable_ranks=ranks, special_tokens=special)
        return vocabulary, bpe

    def ordinary_ids(self, text: str) -> list[int]:
        """Token ids of a text that holds no special token and no lone surrogate."""
        return self._loaded[1].encode_ordinary(text)


def read_ranks(path: Path) -> dict[bytes, int]:
    """Token bytes and ranks of a ``.tiktoken`` file. Raises TraceError naming the bad line."""
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        if not line:
            continue
        try:
            piece, rank = line.split()
            ranks[base64.b64decode(piece, validate=True)] = int(rank)
        except (ValueError, binascii.Error):
            raise TraceError(
                str(path), number, "not a token in base64 and its rank", "name a .tiktoken rank file"
            ) from None
    if not ranks:
        raise TraceError(str(path), None, "the file holds no token", "name a .tiktoken rank file")
    return ranks


def load_ranks(path: Path, encoding_name: str) -> TiktokenTokenizer:
    """A rank file with one of the known encodings. Raises SimtoolError on an unknown name."""
    if encoding_name not in PRESETS:
        raise SimtoolError(
            f"{path}: {encoding_name!r} is not a known encoding (known: {', '.join(PRESETS)}); "
            f"write FILE.tiktoken:ENCODING, or declare ranks, pattern and special_tokens in a JSON file"
        )
    pattern, special, nfc = PRESETS[encoding_name]
    encoding = Encoding(pattern=pattern, special_tokens=special, nfc=nfc)
    ranks = read_ranks(path)
    return TiktokenTokenizer(f"{path.stem}:{encoding_name}", lambda: ranks, encoding)


def load_declared(path: Path, content: bytes) -> TiktokenTokenizer:
    """A JSON file of ``ranks`` (file beside it), ``pattern``, ``special_tokens`` and ``nfc``.

    Raises TraceError when a field is missing, unknown or of the wrong type.
    """
    try:
        declared = msgspec.json.decode(content, type=_Declaration)
    except msgspec.MsgspecError as error:
        raise TraceError(str(path), None, str(error), "declare ranks, pattern, special_tokens and nfc") from None
    encoding = Encoding(pattern=declared.pattern, special_tokens=declared.special_tokens, nfc=declared.nfc)
    ranks = read_ranks(path.parent / declared.ranks)
    return TiktokenTokenizer(path.stem, lambda: ranks, encoding)
