"""Mistral's tekken vocabularies, read by mistral-common (optional)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tokenclass.tokenizers.base import ByteTokenizer
from traces.errors import SimtoolError, TraceError


class TekkenTokenizer(ByteTokenizer):
    """A ``tekken.json`` applied by mistral-common."""

    def __init__(self, name: str, tekken: Any) -> None:
        self._tekken = tekken
        special = {str(tekken.id_to_piece(token_id)): token_id for token_id in tekken.special_ids}
        vocabulary = {token_id: text.encode() for text, token_id in special.items()}
        for token_id in range(tekken.n_words):
            if token_id not in vocabulary:
                vocabulary[token_id] = tekken.id_to_byte_piece(token_id)
        super().__init__(name, lambda: vocabulary, special)

    def ordinary_ids(self, text: str) -> list[int]:
        """Token ids of a text that holds no special token and no lone surrogate."""
        ids: list[int] = self._tekken.encode(text, bos=False, eos=False)
        return ids


def load_tekken(path: Path) -> TekkenTokenizer:
    """The vocabulary in a ``tekken.json``.

    Raises SimtoolError when mistral-common is not installed, TraceError when the file cannot be used.
    """
    try:
        from mistral_common.tokens.tokenizers.tekken import Tekkenizer
    except ImportError:
        raise SimtoolError(
            f"{path}: a tekken vocabulary needs mistral-common: pip install 'simtool[mistral]'"
        ) from None
    try:
        tekken = Tekkenizer.from_file(path)
    except (ValueError, KeyError, AssertionError) as error:
        raise TraceError(str(path), None, f"not a usable tekken vocabulary: {error}") from None
    return TekkenTokenizer(path.stem, tekken)
