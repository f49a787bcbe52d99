"""Streams: equal to the whole text on random mixtures, certain runs never taken back, work bounded."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokenclass.classes import PositionClass, SubClass
from tokenclass.formats.registry import FAMILIES
from tokenclass.parse import parse_output
from tokenclass.streaming import LabelRun, StreamTagger

_TOOLS = [{"name": "k", "parameters": {"type": "object", "properties": {"a": {}, "b": {"type": "string"}}}}]
_RAW = sorted(name for name, family in FAMILIES.items() if family.api is None)
_PLAIN = [
    "word ",
    "\n",
    " ",
    "```\n",
    "`",
    '"',
    "{",
    "}",
    "[",
    "]",
    "\\",
    "<|im_end|>",
    "k",
    ("x" * 40 + " ") * 5,
    " " * 150,
]
_BODIES = ['{"name": "k", "arguments": {"b": "x"}}', '[{"name": "k", "arguments": {}}]', "k(b='x')", '{b:<|"|>x<|"|>}']
_MARKUP = [
    "\n<function=k>\n<parameter=b>\nx\n</parameter>\n</function>\n",
    "<arg_key>b</arg_key><arg_value>x</arg_value>",
]


def _characters(runs: list[LabelRun]) -> list[tuple[PositionClass, SubClass]]:
    labels: list[tuple[PositionClass, SubClass]] = []
    for run in runs:
        assert run.start == len(labels), "runs must follow each other without gap"
        labels += [(run.label, run.sub)] * (run.end - run.start)
    return labels


def _whole(text: str, family: str, prompt_tail: str) -> tuple[list[tuple[PositionClass, SubClass]], list]:
    parsed = parse_output(text, family, _TOOLS, prompt_tail)
    labels = []
    subs = {at: sub.label for sub in parsed.sub for at in range(sub.start, sub.end)}
    for start, end, label in parsed.spans:
        other = SubClass.R if label is PositionClass.R else SubClass.F
        labels += [(label, subs[at] if label is PositionClass.S else other) for at in range(start, end)]
    return labels, parsed.calls


@st.composite
def _mixtures(draw) -> tuple[str, str, str]:
    family = draw(st.sampled_from(_RAW))
    rules = FAMILIES[family]
    tags = [*rules.calls.openers(), *rules.calls.closers()] if rules.calls else []
    if rules.channels:
        tags += [*rules.channels.ends, rules.channels.start, rules.channels.channel, " to=k", rules.channels.message]
    if rules.reasoning:
        tags += [*rules.reasoning.openers, *rules.reasoning.closers]
    pieces = draw(st.lists(st.sampled_from([*tags, *tags, *_PLAIN, *_BODIES, *_MARKUP]), max_size=14))
    return family, draw(st.sampled_from(["", "x", "<think>\n"])), "".join(pieces)


@settings(max_examples=250, deadline=None)
@given(_mixtures(), st.lists(st.integers(1, 90), min_size=1, max_size=4))
def test_a_stream_labels_like_the_whole_text(mixture, sizes):
    family, prompt_tail, text = mixture
    labels, calls = _whole(text, family, prompt_tail)
    assert len(labels) == len(text)
    tagger = StreamTagger(family, _TOOLS, prompt_tail)
    runs: list[LabelRun] = []
    at = 0
    while at < len(text):
        size = sizes[at % len(sizes)]
        runs += tagger.feed(text[at : at + size])
        at += size
    runs += tagger.close()
    assert _characters(runs) == labels
    assert tagger.calls == calls


@pytest.mark.parametrize(
    ("family", "unit"),
    [
        ("hermes", '<tool_call>\n{"name": "k", "arguments": {"b": "x"}}\n</tool_call>\n'),
        ("qwen3", "word " * 20),
        ("qwen3_coder", "<tool_call>\n"),
        ("openai_harmony", "<|start|>assistant<|channel|>final<|message|>word<|end|>"),
        ("xlam", '[{"name": "k", "arguments": '),
    ],
)
@pytest.mark.parametrize("prompt_tail", ["", "x"])
def test_work_is_a_constant_multiple_of_the_text(family, unit, prompt_tail):
    work = []
    for repeats in (40, 80):
        text = unit * repeats
        tagger = StreamTagger(family, _TOOLS, prompt_tail)
        for at in range(0, len(text), 7):
            tagger.feed(text[at : at + 7])
        tagger.close()
        work.append(tagger.work / len(text))
    assert work[1] <= 1.3 * work[0] + 2
    assert work[1] < 24


def test_prose_is_certain_at_once_when_the_prompt_is_known():
    tagger = StreamTagger("hermes", _TOOLS, "x")
    runs = tagger.feed("Some prose that goes on for a while, and then a tag <tool_ca")
    assert runs == [LabelRun(0, 52, PositionClass.F, SubClass.F)]
    assert tagger.close() == [LabelRun(52, 60, PositionClass.S, SubClass.D)]
