"""Block identities against prompts written out token by token."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator import blockkeys, keyrecords
from simulator.prefix import BlockPaths, PrefixIndex
from tests.simulator.cases import Tokens
from tokenclass.tagged import BlockPrompt, SegmentPrompt, SegmentTable

PIECES: tuple[Tokens, ...] = (
    (1, 2, 3, 4, 5),
    (1, 2, 3),
    (4, 5),
    (-7, -7, -7),
    (-7,) * 10,
    (-9,) * 5,
    (-9,),
    (1,),
    (),
    tuple(range(100, 140)),
    (2, 3, 4, 5),
)


def _table(order: list[int]) -> SegmentTable:
    """A session's table that holds PIECES in some order of its own; keys are the same in every session."""
    ids = tuple(np.array(PIECES[piece], np.int32) for piece in order)
    return SegmentTable(
        keys=np.array([1000 + piece for piece in order], np.uint64),
        tokens=np.array([piece.size for piece in ids], np.int32),
        ids=ids,
    )


def _expected(texts: list[Tokens], prompts: list[int], block_size: int, *, twice: bool) -> list[list[Tokens]]:
    """Leading full blocks of each text, as the tokens up to their end, while used more than once."""
    chains = [[text[:end] for end in range(block_size, len(text) + 1, block_size)] for text in texts]
    uses: dict[Tokens, int] = {}
    for chain, prompt in zip(chains, prompts, strict=True):
        for block in chain:
            uses[block] = uses.get(block, 0) + 1 + (twice and len(block) <= prompt)
    return [[block for block in chain if uses[block] > 1] for chain in chains]


def _assert_equal(found: BlockPaths, expected: list[list[Tokens]]) -> None:
    """Equal lengths, and identities that are the same exactly where the tokens are; numbered from 0 without gaps."""
    names: dict[int, Tokens] = {}
    for path, blocks in zip(found.paths, expected, strict=True):
        assert len(path) == len(blocks)
        for number, block in zip(path.tolist(), blocks, strict=True):
            assert names.setdefault(number, block) == block
    assert len(set(names.values())) == len(names) == found.num_identities
    assert set(names) == set(range(found.num_identities))


pieces = st.lists(st.integers(0, len(PIECES) - 1), max_size=6)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(pieces, st.none() | pieces), min_size=1, max_size=9),
    st.sampled_from([1, 2, 3, 4, 16]),
    st.booleans(),
)
def test_segments_share_what_their_tokens_share(
    attempts: list[tuple[list[int], list[int] | None]], block_size: int, twice: bool
) -> None:
    index = PrefixIndex(block_size)
    texts, prompts = [], []
    orders = [[*range(first, len(PIECES)), *range(first)] for first in range(3)]
    tables = [_table(order) for order in orders]
    for number, (prompt, output) in enumerate(attempts):
        order, table = orders[number // 4], tables[number // 4]
        tokens = [token for piece in prompt for token in PIECES[piece]]
        segments = np.array([order.index(piece) for piece in prompt], np.int32)
        answer = None if output is None else tuple(order.index(piece) for piece in output)
        index.add_prompt(SegmentPrompt(segments, len(tokens)), table, answer)
        prompts.append(len(tokens))
        texts.append((*tokens, *(token for piece in output or () for token in PIECES[piece])))
    _assert_equal(index.build(every_prompt_twice=twice), _expected(texts, prompts, block_size, twice=twice))


def _block_tokens(keys: list[int], tokens: int, width: int) -> Tokens:
    """Tokens that a prompt of block keys stands for: each has a key, its place, and the keys before it."""
    text = [(tuple(keys[: place // width + 1]), place) for place in range(min(tokens, len(keys) * width))]
    return tuple(hash(item) for item in text)


def _add(index: PrefixIndex, keys: list[int], tokens: int, width: int, said: int) -> int:
    """Add a request of *keys*, up to *said* of which are its output's; the tokens of its prompt."""
    first = len(keys) - min(said, len(keys) - 1)
    prompt = tokens if first == len(keys) else first * width
    output = np.array(keys[first:], np.uint64) if first < len(keys) else None
    index.add_keys(BlockPrompt(prompt, width, np.array(keys[:first], np.uint64)), output, tokens - prompt)
    return prompt


@settings(max_examples=400, deadline=None)
@given(
    st.lists(
        st.tuples(st.lists(st.integers(0, 2), min_size=1, max_size=4), st.integers(0, 600), st.integers(0, 2)),
        min_size=1,
        max_size=5,
    ),
    st.sampled_from([(512, 16), (512, 512), (512, 48), (512, 100), (512, 1024), (8, 3), (8, 5), (8, 8), (8, 2)]),
    st.booleans(),
    st.sampled_from([1, 4, 1 << 20]),
    st.sampled_from([1, 1 << 20]),
)
def test_block_keys_share_the_blocks_whose_last_token_they_know(
    requests: list[tuple[list[int], int, int]], sizes: tuple[int, int], twice: bool, chunk: int, in_memory: int
) -> None:
    width, block_size = sizes
    with mock.patch.object(blockkeys, "_CHUNK", chunk), mock.patch.object(keyrecords, "_IN_MEMORY", in_memory):
        index = PrefixIndex(block_size)
        texts, lengths = [], []
        for keys, short, said in requests:
            tokens = max(1, len(keys) * width - short)
            used = keys[: -(-tokens // width)]
            lengths.append(_add(index, used, tokens, width, said))
            texts.append(_block_tokens(used, tokens, width))
        _assert_equal(index.build(every_prompt_twice=twice), _expected(texts, lengths, block_size, twice=twice))


def test_a_prompt_longer_than_its_keys_shares_no_more_than_the_keys_say() -> None:
    index = PrefixIndex(16)
    for tokens in (2000, 1024):
        index.add_keys(BlockPrompt(tokens, 512, np.array([5, 6], np.uint64)))
    assert [path.size for path in index.build().paths] == [64, 64]


@pytest.mark.parametrize("prompt", [BlockPrompt(100, None, np.empty(0, np.uint64)), BlockPrompt(0, 16, np.empty(0))])
def test_prompts_about_which_nothing_is_known_share_nothing(prompt: BlockPrompt) -> None:
    index = PrefixIndex(16)
    for _ in range(2):
        index.add_keys(prompt)
    built = index.build(every_prompt_twice=True)
    assert built.num_identities == 0
    assert [path.size for path in built.paths] == [0, 0]


def test_blocks_are_numbered_as_they_are_met() -> None:
    index = PrefixIndex(16)
    for keys in ([1, 2], [9], [1, 2, 3], [9, 4], [1, 2, 3, 5]):
        index.add_keys(BlockPrompt(32 * len(keys), 32, np.array(keys, np.uint64)))
    paths = index.build().paths
    assert [path.tolist() for path in paths] == [
        [0, 1, 2, 3],
        [4, 5],
        [0, 1, 2, 3, 6, 7],
        [4, 5],
        [0, 1, 2, 3, 6, 7],
    ]
    assert [path.tolist() for path in paths[1:3]] == [[4, 5], [0, 1, 2, 3, 6, 7]]
    assert paths[-1].tolist() == paths[4].tolist()


@settings(max_examples=400, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 8), st.lists(st.integers(0, 2), max_size=3), st.integers(0, 7), st.integers(0, 3)),
        min_size=2,
        max_size=10,
    ),
    st.sampled_from([(8, 3), (8, 5), (8, 8), (8, 2), (8, 16)]),
    st.booleans(),
    st.sampled_from([1, 7, 1 << 20]),
)
def test_requests_that_go_on_from_each_other_share_as_others_do(
    requests: list[tuple[int, list[int], int, int]], sizes: tuple[int, int], twice: bool, chunk: int
) -> None:
    """Each has the first few keys of the one before it, and more of its own."""
    width, block_size = sizes
    with mock.patch.object(blockkeys, "_CHUNK", chunk):
        index = PrefixIndex(block_size)
        texts, lengths, keys = [], [], [0]
        for kept, new, short, said in requests:
            keys = [*keys[:kept], *new] or [0]
            tokens = max(1, len(keys) * width - short)
            lengths.append(_add(index, keys, tokens, width, said))
            texts.append(_block_tokens(keys, tokens, width))
        _assert_equal(index.build(every_prompt_twice=twice), _expected(texts, lengths, block_size, twice=twice))


def test_a_conversation_costs_its_last_prompt() -> None:
    column = blockkeys.KeyColumn(16)
    keys = np.arange(1000, dtype=np.uint64)
    with mock.patch.object(blockkeys.KeyRecords, "append", autospec=True) as append:
        for turn in range(1, 101):
            column.add(BlockPrompt(turn * 160 - 5, 16, keys[: turn * 10]))
        column._end_chunk()
    written = sum(call.args[1].size for call in append.call_args_list)
    assert 1000 <= written <= 1000 + 100
