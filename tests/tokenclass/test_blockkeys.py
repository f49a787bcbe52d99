"""Keys of block ids, however the ids are given."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tokenclass.blockkeys import PromptKeys, block_keys, block_prompts
from tokenclass.identity import identity64, salted
from tokenclass.layout import Layout
from tokenclass.mix import ClassMix
from tokenclass.tagger import TagOptions, tag_session
from tokenclass.tokenizers import load_tokenizer
from traces.idrun import IdRun
from traces.model import Attempt, Block, LengthPrompt, Message, MessagePrompt, OpaqueBlock, Session, Turn
from traces.opaque import by_id

runs = st.builds(
    IdRun, st.sampled_from([-3, -1, 0, 5, 1 << 40, (1 << 63) - 2, (1 << 64) - 3, 1 << 64]), st.integers(0, 6)
)


@given(st.lists(runs, min_size=1, max_size=6), st.sampled_from([None, 16, 512]))
def test_a_run_has_the_keys_of_its_ids(asked: list[IdRun], width: int | None) -> None:
    known = PromptKeys()
    for run in asked:
        expected = block_keys(tuple(run), width)
        assert block_keys(run, width).tolist() == expected.tolist() == known.of(run, width).tolist()
        assert known.of(tuple(run), width).tolist() == expected.tolist()


_IDS = st.one_of(
    runs,
    st.lists(st.integers(0, 5) | st.integers((1 << 63) - 1, (1 << 64) - 1), max_size=5).map(tuple),
    st.lists(st.sampled_from([1, -1, 1 << 64, "a"]), max_size=3).map(tuple),
)


@given(st.lists(st.builds(LengthPrompt, st.just(700), st.sampled_from([None, 16, 512]), _IDS), max_size=8))
def test_many_prompts_have_the_keys_that_each_has(prompts: list[LengthPrompt]) -> None:
    found = block_prompts(prompts)
    assert [(one.tokens, one.block_tokens) for one in found] == [(one.tokens, one.block_tokens) for one in prompts]
    for one, prompt in zip(found, prompts, strict=True):
        assert one.block_keys.tolist() == block_keys(prompt.block_ids, prompt.block_tokens).tolist()


@given(st.lists(st.integers(-2, 1 << 64) | st.sampled_from(["5", "-1", ""]), max_size=6))
def test_numbers_and_texts_are_told_apart(ids: list[int | str]) -> None:
    keys = block_keys(tuple(ids), 16).tolist()
    assert len(set(keys)) == len(set(ids))
    for value, key in zip(ids, keys, strict=True):
        alone = type(value) is int and 0 <= value < 1 << 64
        word = value if alone else identity64(type(value).__name__, str(value))
        salt = np.uint64(16) if alone else ~np.uint64(16)
        assert key == salted(np.array([word], np.uint64), np.array([salt]))[0]


def test_opaque_blocks_with_ids_are_tagged_as_one_block_an_id() -> None:
    block = OpaqueBlock(tokens=40, block_tokens=16, block_ids=(1, 2, 3))
    found, expected = (_tagged(blocks) for blocks in ((block,), by_id((block,))))
    assert found == expected


def _tagged(blocks: tuple[Block, ...]) -> tuple[object, ...]:
    turn = Turn(id="t", prompt=MessagePrompt(ranges=((0, 1),)), attempts=(Attempt(output=blocks),))
    session = Session(id="s", turns=(turn,), messages=(Message(role="user", blocks=blocks),))
    options = TagOptions(class_mix=ClassMix.parse("S=0.5,R=0.3,F=0.2"))
    (tagged,) = (found := tag_session(session, load_tokenizer("qwen3"), Layout.named(), options)).turns
    keys, tokens = found.prompt_keys(tagged)
    labels = tagged.final.labels.expand().tolist()
    return keys.tolist(), tokens.tolist(), labels, tagged.final.segments, tagged.final.opaque_tokens
