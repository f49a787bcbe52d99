"""Byte offsets in a text from byte offsets in its NFC form, which some vocabularies are applied to."""

from __future__ import annotations

import re
import unicodedata

import numpy as np
from numpy.typing import NDArray

_STABLE = "\x00-\x7f\u2000-\u206f\u3040-\u3098\u4e00-\u9fff\uac00-\ud7a3"
"""Characters that never compose with the one before them."""
_CHUNK = re.compile(f"[{_STABLE}]+(?=[{_STABLE}]|\\Z)|[{_STABLE}]?[^{_STABLE}]+")
"""Stretches whose normal forms, joined, are the normal form of the whole."""


def is_nfc(text: str) -> bool:
    """Whether NFC leaves *text* as it is."""
    return text.isascii() or unicodedata.is_normalized("NFC", text)


class NfcText:
    """Normalizes a text part by part and remembers where each byte came from."""

    def __init__(self) -> None:
        self._normal = [0]
        self._original = [0]

    def keep(self, n_bytes: int) -> None:
        """Pass *n_bytes* through unchanged."""
        self._mark(n_bytes, n_bytes)

    def add(self, text: str) -> str:
        """The NFC form of *text*, which must be free of lone surrogates."""
        parts = []
        for match in _CHUNK.finditer(text):
            chunk = match.group()
            normal = unicodedata.normalize("NFC", chunk)
            self._mark(len(normal.encode()), len(chunk.encode()))
            parts.append(normal)
        return "".join(parts)

    def original(self, ends: NDArray[np.int64]) -> NDArray[np.int64]:
        """Offsets in the text as given; inside a changed stretch they are spread over it."""
        return np.interp(ends, self._normal, self._original).astype(np.int64)

    def _mark(self, normal_bytes: int, original_bytes: int) -> None:
        self._normal.append(self._normal[-1] + normal_bytes)
        self._original.append(self._original[-1] + original_bytes)
