"""Prompt lookup (n-gram)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scenarios.drafters.base import Drafter
from scenarios.options.option import Section, option

if TYPE_CHECKING:
    from simulator.acceptance.base import Potential
    from simulator.tokenstore import TokenStore


@dataclass(frozen=True, slots=True, kw_only=True)
class NgramOptions:
    """Options of prompt lookup, with vLLM's names and defaults.

    Raises ValueError, with option, value and range, for values out of range.
    """

    prompt_lookup_min: int = option(5, "ngram: shortest match, in tokens.", Section.SPECULATION)
    prompt_lookup_max: int = option(5, "ngram: longest match, in tokens.", Section.SPECULATION)
    prompt_lookup_match: str = option(
        "earliest",
        "ngram: copy from the earliest occurrence, as vLLM does, or the latest.",
        Section.SPECULATION,
        choices=("earliest", "latest"),
    )

    def __post_init__(self) -> None:
        low, high = self.prompt_lookup_min, self.prompt_lookup_max
        if low < 1:
            raise ValueError(f"--prompt-lookup-min is {low}; it must be at least 1")
        if high < low:
            raise ValueError(f"--prompt-lookup-max is {high}; it must be at least --prompt-lookup-min, {low}")


def _run(store: TokenStore, options: NgramOptions, gammas: Sequence[int]) -> dict[int, Potential]:
    from simulator.acceptance.ngram import Occurrence, ngram_potential
    from simulator.acceptance.tokens import end_to_end

    gamma = max(gammas)
    parts = [
        ngram_potential(
            tokens,
            gamma,
            prompt_lookup_min=options.prompt_lookup_min,
            prompt_lookup_max=options.prompt_lookup_max,
            occurrence=Occurrence(options.prompt_lookup_match),
        )
        for tokens in store
    ]
    return {gamma: end_to_end(parts)}


DRAFTER = Drafter(name="ngram", options=NgramOptions, run=_run, cuts=True)
