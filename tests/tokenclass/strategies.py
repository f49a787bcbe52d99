"""Texts that are hard on offsets: joined emoji, CJK, combining marks, special tokens, runs of white space."""

from __future__ import annotations

from hypothesis import strategies as st

HARD_PIECES = (
    "👩‍👩‍👧‍👦",
    "🏳️‍🌈",
    "é",
    "e\u0301",
    "한국어",
    "\u1112\u1161\u11ab",
    "漢字かな",
    "שלום",
    "हिन्दी",
    "｜tool▁calls｜",
    "<tool_call>",
    "</think>",
    "<|im_end|>",
    '{"a": [1, null]}',
    "\n\n  \t",
    "\r\n",
    "don't",
    "\u2126",
    "\x00",
)
texts = st.lists(st.one_of(st.sampled_from(HARD_PIECES), st.text(max_size=12)), max_size=12).map("".join)
