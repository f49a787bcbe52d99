"""Tokenizers of the target model: one interface, one module a kind of vocabulary file."""

from __future__ import annotations

from pathlib import Path

import orjson

from tokenclass.tokenizers.base import Encoded, Tokenizer
from tokenclass.tokenizers.qwen import QWEN_FILES, load_qwen
from traces.choice import hint
from traces.errors import SimtoolError, TraceError

__all__ = ["DEFAULT_TOKENIZER", "Encoded", "Tokenizer", "load_tokenizer"]

DEFAULT_TOKENIZER = "qwen3"
"""The embedded vocabulary that is taken when none is named."""


def load_tokenizer(spec: str = DEFAULT_TOKENIZER) -> Tokenizer:
    """The tokenizer that *spec* names.

    ``qwen3`` and ``qwen3.5`` are embedded. A file is a Hugging Face ``tokenizer.json``, a Mistral
    ``tekken.json``, a tiktoken rank file with its encoding (``FILE.tiktoken:o200k_harmony``), or a JSON file
    that declares ``ranks``, ``pattern`` and ``special_tokens``. A folder is searched for the first two.
    Nothing is downloaded. Raises SimtoolError or TraceError when nothing usable is named.
    """
    if spec in QWEN_FILES:
        return load_qwen(spec)
    ranks, _, encoding_name = spec.rpartition(":")
    if ranks.endswith(".tiktoken") or spec.endswith(".tiktoken"):
        from tokenclass.tokenizers.tiktoken_file import load_ranks

        return load_ranks(_existing(ranks or spec), encoding_name if ranks else "")
    return _load_json(_vocabulary_file(_existing(spec)))


def _existing(name: str) -> Path:
    path = Path(name)
    if path.exists():
        return path
    raise SimtoolError(
        f"--tokenizer {name!r} is neither an embedded vocabulary nor a file{hint(name, QWEN_FILES)} "
        f"(embedded: {', '.join(QWEN_FILES)}; else name a tokenizer.json, tekken.json or .tiktoken file)"
    )


def _vocabulary_file(path: Path) -> Path:
    if not path.is_dir():
        return path
    for name in ("tokenizer.json", "tekken.json"):
        if (path / name).is_file():
            return path / name
    raise TraceError(str(path), None, "the folder holds no tokenizer.json and no tekken.json")


def _load_json(path: Path) -> Tokenizer:
    content = path.read_bytes()
    try:
        declared = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise TraceError(str(path), error.lineno, f"not JSON: {error.msg}", "name a tokenizer file") from None
    keys = declared.keys() if isinstance(declared, dict) else set()
    if "model" in keys:
        from tokenclass.tokenizers.huggingface import load_huggingface

        return load_huggingface(path, content)
    if {"config", "vocab"} <= keys:
        from tokenclass.tokenizers.tekken import load_tekken

        return load_tekken(path)
    from tokenclass.tokenizers.tiktoken_file import load_declared

    return load_declared(path, content)
