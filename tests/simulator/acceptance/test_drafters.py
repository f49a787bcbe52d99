"""Drafters measured on recorded tokens, against searches written out token by token."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.acceptance.base import Outputs
from simulator.acceptance.ngram import Occurrence, ngram_potential
from simulator.acceptance.recorded import Attempts, ObservedAcceptance
from simulator.acceptance.rounds import chain_rounds
from simulator.acceptance.suffix import SuffixDecoding
from simulator.acceptance.tally import spec_decode_counts
from simulator.acceptance.tokens import RecordedTokens

Text = list[int]
TEXTS = st.lists(st.tuples(*[st.lists(st.integers(0, 2), max_size=20)] * 2), min_size=1, max_size=4)
HIDDEN = -7


def recorded(texts: list[tuple[Text, Text]]) -> RecordedTokens:
    contexts, outputs = zip(*texts, strict=True)
    return RecordedTokens.of(
        [np.array(one, np.int32) for one in contexts], [np.array(one, np.int32) for one in outputs]
    )


def agreeing(draft: Text, following: Text) -> int:
    taken = 0
    while taken < min(len(draft), len(following) - 1) and draft[taken] == following[taken]:
        taken += 1
    return taken


def lookup(text: Text, low: int, high: int, gamma: int, occurrence: Occurrence) -> Text:
    for n in range(high, low - 1, -1):
        places = [i for i in range(len(text) - n) if text[i : i + n] == text[-n:]]
        if len(text) > n and places:
            place = places[0] if occurrence is Occurrence.EARLIEST else places[-1]
            return text[place + n : place + n + gamma]
    return []


@given(TEXTS, st.integers(1, 3), st.integers(0, 2), st.integers(0, 5), st.sampled_from(Occurrence))
@settings(max_examples=150, deadline=None)
def test_prompt_lookup_is_the_plain_search(
    texts: list[tuple[Text, Text]], low: int, more: int, gamma: int, occurrence: Occurrence
) -> None:
    found = ngram_potential(
        recorded(texts), gamma, prompt_lookup_min=low, prompt_lookup_max=low + more, occurrence=occurrence
    )
    expected = []
    for context, output in texts:
        for at in range(len(output)):
            draft = lookup(context + output[:at], low, low + more, gamma, occurrence)
            expected.append((agreeing(draft, output[at:]), len(draft)))
    assert list(zip(found.accepted.tolist(), found.drafted.tolist(), strict=True)) == expected


class PlainSuffixTrie:
    """Counts of all strings of up to *depth* tokens, and the child of each that the suffix drafter follows first."""

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.count: dict[tuple[int, ...], int] = {}
        self.first: dict[tuple[int, ...], tuple[int, ...]] = {}

    def append(self, sequence: Text) -> None:
        for length in range(1, min(self.depth, len(sequence)) + 1):
            string = tuple(sequence[-length:])
            if min(string) < 0:
                break
            count = self.count[string] = self.count.get(string, 0) + 1
            ahead = self.count[self.first[string[:-1]]] if string[:-1] in self.first else 0
            if count > ahead or count == ahead > 1:
                self.first[string[:-1]] = string

    def remove(self, sequence: Text) -> None:
        strings = [
            tuple(sequence[at : at + length])
            for at in range(len(sequence))
            for length in range(1, min(self.depth, len(sequence) - at) + 1)
        ]
        strings = [string for string in strings if min(string) >= 0]
        for string in strings:
            self.count[string] -= 1
        for parent in {string[:-1] for string in strings}:
            children = sorted(child for child, n in self.count.items() if n and child[:-1] == parent)
            top = max((self.count[child] for child in children), default=0)
            if not top:
                del self.first[parent]
            elif self.count[self.first[parent]] < top:
                self.first[parent] = next(child for child in children if self.count[child] == top)

    def draft(self, context: Text, gamma: int, options: SuffixDecoding) -> tuple[Text, float]:
        best: tuple[Text, float] = ([], 0.0)
        context = context[-self.depth :]
        for matched in range(1, len(context)):
            string = tuple(context[-matched:])
            if not self.count.get(string):
                break
            tokens, score, chance = [], 0.0, 1.0
            while len(tokens) < min(gamma, int(matched * options.max_spec_factor + 1e-6)) and string in self.first:
                following = self.first[string]
                chance = chance * self.count[following] / self.count[string]
                if chance < options.min_token_prob:
                    break
                string = following
                tokens.append(following[-1])
                score += chance
            if score >= best[1]:
                best = (tokens, score)
        return best


@given(
    TEXTS,
    st.integers(0, 5),
    st.builds(
        SuffixDecoding,
        max_tree_depth=st.integers(2, 8),
        max_cached_requests=st.sampled_from([0, 1, 2, 3, 100]),
        max_spec_factor=st.sampled_from([0.5, 1.0, 2.0]),
        min_token_prob=st.sampled_from([0.0, 0.1, 0.3]),
    ),
)
@settings(max_examples=200, deadline=None)
def test_suffix_decoding_is_the_plain_trie(texts: list[tuple[Text, Text]], gamma: int, options: SuffixDecoding) -> None:
    found = options.potential(recorded(texts), gamma)
    expected = []
    outputs = PlainSuffixTrie(options.max_tree_depth)
    for number, (context, output) in enumerate(texts):
        if options.max_cached_requests and number >= options.max_cached_requests:
            outputs.remove(texts[number - options.max_cached_requests][1])
        request = PlainSuffixTrie(options.max_tree_depth)
        for at in range(1, len(context) + 1):
            request.append(context[:at])
        for at in range(len(output)):
            text = context + output[:at]
            own = request.draft(text, gamma, options)
            shared = outputs.draft(text, gamma, options) if options.max_cached_requests else ([], 0.0)
            draft = own[0] if own[1] >= shared[1] else shared[0]
            expected.append((agreeing(draft, output[at:]), len(draft)))
            request.append(text + output[at : at + 1])
            outputs.append(output[: at + 1])
    assert list(zip(found.accepted.tolist(), found.drafted.tolist(), strict=True)) == expected


def one_text(turns: list[tuple[Text, Text]]) -> RecordedTokens:
    """Turns whose prompts continue each other as one text, each context holding only what is new."""
    ids = np.array([token for new, output in turns for token in new + output], np.int32)
    ends = np.cumsum([len(new) + len(output) for new, output in turns])
    starts = ends - np.array([len(output) for _, output in turns])
    return RecordedTokens(ids, np.array([0, len(ids)]), starts, ends)


def apart(turns: list[tuple[Text, Text]]) -> RecordedTokens:
    """The same turns, each with its whole context."""
    texts, before = [], []
    for new, output in turns:
        texts.append((before + new, output))
        before = [*before, *new, *output]
    return recorded(texts)


@given(TEXTS, st.sampled_from(Occurrence))
@settings(max_examples=60, deadline=None)
def test_turns_that_share_a_text_are_measured_as_if_apart(
    turns: list[tuple[Text, Text]], occurrence: Occurrence
) -> None:
    shared, alone = (
        ngram_potential(texts, 4, prompt_lookup_min=1, prompt_lookup_max=3, occurrence=occurrence)
        for texts in (one_text(turns), apart(turns))
    )
    assert np.array_equal(shared.accepted, alone.accepted)
    assert np.array_equal(shared.drafted, alone.drafted)
    for cached in (0, 100):
        drafter = SuffixDecoding(max_tree_depth=6, max_cached_requests=cached)
        shared, alone = (drafter.potential(texts, 4) for texts in (one_text(turns), apart(turns)))
        assert np.array_equal(shared.accepted, alone.accepted)
        assert np.array_equal(shared.drafted, alone.drafted)


@given(TEXTS)
@settings(max_examples=40, deadline=None)
def test_depths_measured_together_are_those_measured_alone(texts: list[tuple[Text, Text]]) -> None:
    drafter = SuffixDecoding(max_tree_depth=8)
    together = drafter.potentials([recorded(texts)], [1, 2, 3, 5])
    for gamma, found in together.items():
        alone = drafter.potential(recorded(texts), gamma)
        assert np.array_equal(found.accepted, alone.accepted)
        assert np.array_equal(found.drafted, alone.drafted)


@given(TEXTS, st.integers(1, 3))
@settings(max_examples=40, deadline=None)
def test_hidden_tokens_are_never_drafted_right(texts: list[tuple[Text, Text]], n: int) -> None:
    """Token 0 hidden everywhere: no accepted draft covers one, and what is left is found as without them."""
    hidden = [tuple([HIDDEN if token == 0 else token for token in part] for part in text) for text in texts]
    outputs = [token for _, output in hidden for token in output]
    for found in (
        ngram_potential(recorded(hidden), 4, prompt_lookup_min=n, prompt_lookup_max=n),
        SuffixDecoding(max_tree_depth=6).potential(recorded(hidden), 4),
    ):
        for at, accepted in enumerate(found.accepted.tolist()):
            assert HIDDEN not in outputs[at : at + accepted]
    everything = [tuple([HIDDEN] * len(part) for part in text) for text in texts]
    found = SuffixDecoding().potential(recorded(everything), 4)
    assert found.drafted.max(initial=0) == 0


def test_earlier_outputs_are_drafted_from_until_they_are_dropped() -> None:
    output = [5, 6, 7, 8, 9, 10, 11, 12]
    other = [20, 21, 22, 23, 24, 25, 26, 27]
    texts = recorded([([1], output), ([2], other), ([3], output)])
    kept = SuffixDecoding(max_cached_requests=3).potential(texts, 4)
    dropped = SuffixDecoding(max_cached_requests=2).potential(texts, 4)
    assert kept.accepted[16:].tolist() == [0, 1, 2, 3, 3, 2, 1, 0]
    assert dropped.drafted[16:].max() == 0
    assert np.array_equal(kept.accepted[:16], dropped.accepted[:16])


def test_texts_longer_than_what_is_read_at_once() -> None:
    """The room for strings grows while a text is read: against turns apart, whose room grows at other places."""
    rng = np.random.default_rng(0)
    turns = [(rng.integers(0, 3, 700).tolist(), rng.integers(0, 3, 150).tolist()) for _ in range(3)]
    drafter = SuffixDecoding()
    shared, alone = (drafter.potential(texts, 6) for texts in (one_text(turns), apart(turns)))
    assert np.array_equal(shared.accepted, alone.accepted)
    assert shared.accepted.sum() > 100


def test_a_round_without_a_match_is_no_draft() -> None:
    texts = recorded([([1, 2, 3, 4], [1, 2, 3, 9, 8, 7])])
    rounds = chain_rounds(ngram_potential(texts, 3, prompt_lookup_min=2, prompt_lookup_max=3), texts.output_offsets)
    counts = spec_decode_counts(rounds, 3)
    assert rounds.start.tolist() == [1, 2, 4, 5]
    assert rounds.drafted.tolist() == [0, 3, 0, 0]
    assert (counts.num_drafts, counts.num_draft_tokens, counts.num_accepted_tokens) == (1, 3, 1)


def test_measured_outcomes_replay_as_a_model() -> None:
    texts = recorded([([1, 2, 3] * 4, [1, 2, 3] * 4), ([7, 8], [9, 9, 9, 9])])
    keys = np.array([11, 22], np.uint64)
    known = ngram_potential(texts, 6, prompt_lookup_min=2, prompt_lookup_max=4)
    model = ObservedAcceptance(Attempts(keys, texts.output_offsets), {6: known})
    second = Outputs(np.zeros(4, np.uint8), np.array([0, 4]), keys[1:])
    assert np.array_equal(model.potential(second, 6).accepted, known.accepted[12:])


@pytest.mark.parametrize(
    "call",
    [
        lambda: ngram_potential(recorded([([1], [2])]), 3, prompt_lookup_min=0),
        lambda: ngram_potential(recorded([([1], [2])]), 3, prompt_lookup_min=6),
        lambda: SuffixDecoding(max_tree_depth=1),
        lambda: SuffixDecoding(min_token_prob=1.5),
    ],
)
def test_unusable_options_are_refused(call) -> None:
    with pytest.raises(ValueError):
        call()
