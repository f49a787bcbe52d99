"""How known byte-pair vocabularies cut a text and which special tokens they add."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

_CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_QWEN2 = _CONTRACTION + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_QWEN35 = _QWEN2.replace(r"\p{L}+", r"[\p{L}\p{M}]+").replace(r"[^\s\p{L}\p{N}]+", r"[^\s\p{L}\p{M}\p{N}]+")
_LLAMA3 = _QWEN2.replace(r"|\p{N}|", r"|\p{N}{1,3}|")
_CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_O200K = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_CONTRACTION}?"
    rf"|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_CONTRACTION}?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def _numbered(first: int, *tokens: str) -> dict[str, int]:
    return {token: first + index for index, token in enumerate(tokens)}


_QWEN_MARKS = (
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|object_ref_start|>", "<|object_ref_end|>",
    "<|box_start|>", "<|box_end|>", "<|quad_start|>", "<|quad_end|>", "<|vision_start|>", "<|vision_end|>",
    "<|vision_pad|>", "<|image_pad|>", "<|video_pad|>", "<tool_call>", "</tool_call>", "<|fim_prefix|>",
    "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>", "<tool_response>",
    "</tool_response>", "<think>", "</think>",
)  # fmt: skip
_QWEN35_MARKS = (
    *_QWEN_MARKS, "<|audio_start|>", "<|audio_end|>", "<tts_pad>", "<tts_text_bos>", "<tts_text_eod>",
    "<tts_text_bos_single>", "<|audio_pad|>",
)  # fmt: skip
_HARMONY_MARKS = {
    **{f"<|reserved_{token_id}|>": token_id for token_id in (200000, 200001, 200004, 200009, 200010, 200011)},
    **{f"<|reserved_{token_id}|>": token_id for token_id in range(200013, 201088)},
    "<|startoftext|>": 199998, "<|endoftext|>": 199999, "<|return|>": 200002, "<|constrain|>": 200003,
    "<|channel|>": 200005, "<|start|>": 200006, "<|end|>": 200007, "<|message|>": 200008, "<|call|>": 200012,
    "<|endofprompt|>": 200018,
}  # fmt: skip
_LLAMA3_MARKS = {
    "<|begin_of_text|>": 128000, "<|end_of_text|>": 128001, "<|finetune_right_pad_id|>": 128004,
    "<|start_header_id|>": 128006, "<|end_header_id|>": 128007, "<|eom_id|>": 128008, "<|eot_id|>": 128009,
    "<|python_tag|>": 128010,
}  # fmt: skip
_CL100K_MARKS = {
    "<|endoftext|>": 100257, "<|fim_prefix|>": 100258, "<|fim_middle|>": 100259, "<|fim_suffix|>": 100260,
    "<|endofprompt|>": 100276,
}  # fmt: skip


class Preset(NamedTuple):
    """Pattern, special tokens, and whether the text is put into NFC first."""

    pattern: str
    special_tokens: Mapping[str, int]
    nfc: bool = False


PRESETS: Mapping[str, Preset] = {
    "cl100k": Preset(_CL100K, _CL100K_MARKS),
    "llama3": Preset(_LLAMA3, _LLAMA3_MARKS),
    "o200k": Preset(_O200K, {"<|endoftext|>": 199999, "<|endofprompt|>": 200018}),
    "o200k_harmony": Preset(_O200K, _HARMONY_MARKS),
    "qwen3": Preset(_QWEN2, _numbered(151643, *_QWEN_MARKS), nfc=True),
    "qwen3.5": Preset(_QWEN35, _numbered(248044, *_QWEN35_MARKS), nfc=True),
}
"""Encodings that a .tiktoken rank file can be named with."""
