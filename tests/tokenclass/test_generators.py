"""Many generators at once: against numpy's own seeding."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tokenclass.generators import generators, seed_words
from tokenclass.identity import generator

SEEDS = st.one_of(st.integers(0, 2**64 - 1), st.sampled_from([0, 1, 2**32 - 1, 2**32, 2**64 - 1]))


@given(st.lists(SEEDS, max_size=20))
def test_the_words_are_those_of_numpys_seed_sequence(seeds: list[int]) -> None:
    expected = [np.random.SeedSequence(seed).generate_state(4, np.uint64).tolist() for seed in seeds]
    assert seed_words(np.array(seeds, np.uint64)).tolist() == expected


@given(st.integers(0, 2**64 - 1), st.lists(st.text(max_size=8), max_size=5))
def test_each_draws_as_the_generator_of_its_identity(seed: int, identities: list[str]) -> None:
    many, singly = generators(seed, identities), [generator(seed, one) for one in identities]
    assert [rng.random(9).tolist() for rng in many] == [rng.random(9).tolist() for rng in singly]
    assert [int(rng.integers(10**6)) for rng in many] == [int(rng.integers(10**6)) for rng in singly]
