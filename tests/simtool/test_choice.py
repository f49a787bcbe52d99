"""Words that are none of those known, and the nearest of them."""

from __future__ import annotations

import pytest

from traces.choice import not_one_of


def test_the_nearest_word_is_offered_and_none_where_none_is_near() -> None:
    known = ["round-robin", "least-loaded"]
    assert not_one_of("roundrobin", known) == (
        "'roundrobin' is not one of round-robin, least-loaded; did you mean 'round-robin'?"
    )
    assert not_one_of("x", known) == "'x' is not one of round-robin, least-loaded"


@pytest.mark.parametrize(
    ("option", "value", "near"),
    [
        ("--router", "roundrobin", "round-robin"),
        ("--speculative-method", "ngrm", "ngram"),
        ("--tool-waits", "record", "recorded"),
        ("--goodput", "tft:500", "ttft"),
    ],
)
def test_options_of_fixed_words_offer_it(cli, option: str, value: str, near: str) -> None:
    ran = cli("replay", "sample", option, value)
    assert ran.code != 0
    assert f"did you mean {near!r}?" in " ".join(ran.err.replace("│", " ").split())
