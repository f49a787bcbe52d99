"""What every tokenizer offers: token ids of a text with the byte at which each token ends."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import xxhash
from numpy.typing import NDArray

from tokenclass.tokenizers.normalization import NfcText, is_nfc

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_TALL_RUN = 200_000
"""White space beyond this many characters in a row is cut: pattern engines overflow their stack on it."""
_TALL_WHITE_SPACE = re.compile(rf"\s{{{_TALL_RUN}}}")


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """The tokens of one text."""

    ids: NDArray[np.int32]
    """Token ids; shape (tokens,)."""
    ends: NDArray[np.int64]
    """Byte offset in the text's UTF-8 form at which each token ends, never falling; shape (tokens,). A lone
    surrogate counts three bytes."""

    def __len__(self) -> int:
        return int(self.ids.size)

    @property
    def starts(self) -> NDArray[np.int64]:
        """Byte offset at which each token begins; shape (tokens,)."""
        return np.concatenate(([0], self.ends[:-1])) if self.ends.size else self.ends


def clean(text: str) -> str:
    """*text* with each lone surrogate, which no UTF-8 form can hold, replaced by U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return _LONE_SURROGATE.sub("\ufffd", text)
    return text


def without_tall_runs(text: str) -> list[str]:
    """*text* in pieces, cut inside white space longer than a pattern engine bears; one piece as a rule."""
    pieces = []
    while len(text) > _TALL_RUN and (match := _TALL_WHITE_SPACE.search(text)):
        pieces.append(text[: match.end()])
        text = text[match.end() :]
    return [*pieces, text]


def special_pattern(tokens: Iterable[str]) -> re.Pattern[str]:
    """A pattern that finds any of *tokens*, the longest first; it never matches when there is none."""
    buckets: dict[str, list[str]] = {}
    for token in sorted(filter(None, tokens), key=lambda text: (-len(text), text)):
        buckets.setdefault(token[:2], []).append(re.escape(token[2:]))
    if not buckets:
        return re.compile(r"(?!)")
    return re.compile("|".join(f"{re.escape(head)}(?:{'|'.join(tails)})" for head, tails in buckets.items()))


class Tokenizer(ABC):
    """A vocabulary and the way that it cuts text.

    *load* gives the bytes of each token id, special tokens included. It is called when a text is first cut: many
    recordings have none.
    """

    def __init__(self, name: str, load: Callable[[], Mapping[int, bytes]], special_tokens: Mapping[str, int]) -> None:
        self.name = name
        self._load = load
        self.special_tokens = special_tokens
        """Id of each special token by its text."""
        self._special = special_pattern(special_tokens)

    @cached_property
    def vocabulary(self) -> Mapping[int, bytes]:
        """Bytes of each token id, special tokens included."""
        return self._load()

    @cached_property
    def _byte_lengths(self) -> NDArray[np.int64]:
        lengths = np.zeros(self.vocab_size, np.int64)
        lengths[list(self.vocabulary)] = [len(piece) for piece in self.vocabulary.values()]
        return lengths

    @cached_property
    def vocab_size(self) -> int:
        """One more than the highest token id; a model's embedding may be padded beyond it."""
        return max(self.vocabulary) + 1

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the ids and bytes of the vocabulary: equal ones give equal token ids the same text."""
        digest = xxhash.xxh64()
        for token_id, piece in sorted(self.vocabulary.items()):
            digest.update(token_id.to_bytes(4, "little") + len(piece).to_bytes(4, "little") + piece)
        return digest.hexdigest()

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes that a token stands for. Raises KeyError for an id without a token."""
        return self.vocabulary[token_id]

    def find_special(self, text: str) -> re.Match[str] | None:
        """The first special token written out in *text*."""
        return self._special.search(text)

    @abstractmethod
    def encode(self, text: str) -> Encoded:
        """Tokens of *text*; the text of a special token becomes that token."""

    @abstractmethod
    def encode_ordinary(self, text: str) -> Encoded:
        """Tokens of *text*; the text of a special token is cut like any other text."""

    def encode_marked(self, parts: Iterable[tuple[str, bool]]) -> Encoded:
        """Tokens of the joined parts; special tokens are recognised in those marked True only."""
        ids: list[NDArray[np.int32]] = []
        ends: list[NDArray[np.int64]] = []
        offset = 0
        for text, marked in _runs(parts, self._special):
            encoded = self.encode(text) if marked else self.encode_ordinary(text)
            ids.append(encoded.ids)
            ends.append(encoded.ends + offset)
            offset += len(text.encode("utf-8", "surrogatepass"))
        if not ids:
            return Encoded(np.empty(0, np.int32), np.empty(0, np.int64))
        return Encoded(np.concatenate(ids), np.concatenate(ends))


class ByteTokenizer(Tokenizer):
    """A tokenizer whose tokens are exactly the bytes of the (normalized) text, one after the other."""

    def __init__(
        self,
        name: str,
        load: Callable[[], Mapping[int, bytes]],
        special_tokens: Mapping[str, int],
        *,
        nfc: bool = False,
    ) -> None:
        super().__init__(name, load, special_tokens)
        self._nfc = nfc

    @abstractmethod
    def ordinary_ids(self, text: str) -> list[int]:
        """Token ids of a text that holds no special token and no lone surrogate."""

    def encode(self, text: str) -> Encoded:
        """Tokens of *text*; the text of a special token becomes that token."""
        return self._encode(text, self._split(clean(text)))

    def encode_ordinary(self, text: str) -> Encoded:
        """Tokens of *text*; the text of a special token is cut like any other text."""
        return self._encode(text, [clean(text)])

    def _split(self, text: str) -> list[str | int]:
        parts: list[str | int] = []
        at = 0
        for match in self._special.finditer(text):
            parts += [text[at : match.start()], self.special_tokens[match.group()]]
            at = match.end()
        return [*parts, text[at:]]

    def _encode(self, text: str, parts: Iterable[str | int]) -> Encoded:
        changed = self._nfc and not is_nfc(text)
        ids: list[int] = []
        mapping = NfcText()
        for part in parts:
            if isinstance(part, int):
                ids.append(part)
                mapping.keep(int(self._byte_lengths[part]))
                continue
            for piece in without_tall_runs(mapping.add(part) if changed else part):
                ids += self.ordinary_ids(piece)
        array = np.array(ids, np.int32)
        ends = np.cumsum(self._byte_lengths[array])
        return Encoded(array, mapping.original(ends) if changed else ends)


def _runs(parts: Iterable[tuple[str, bool]], special: re.Pattern[str]) -> list[tuple[str, bool]]:
    """The parts regrouped, so that a border stands only where a real special token stands."""
    runs: list[tuple[str, bool]] = []
    plain = ""
    for text, marked in parts:
        at = 0
        for match in special.finditer(text) if marked else ():
            runs += [(plain + text[at : match.start()], False), (match.group(), True)]
            plain = ""
            at = match.end()
        plain += text[at:]
    return [(text, marked) for text, marked in [*runs, (plain, False)] if text]
