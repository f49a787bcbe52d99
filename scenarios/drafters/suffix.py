"""Suffix decoding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scenarios.drafters.base import Drafter
from scenarios.options.option import Section, option

if TYPE_CHECKING:
    from simulator.acceptance.base import Potential
    from simulator.tokenstore import TokenStore

_S = Section.SPECULATION


@dataclass(frozen=True, slots=True, kw_only=True)
class SuffixOptions:
    """Options of suffix decoding, with vLLM's names and defaults.

    Raises ValueError, with option, value and range, for values out of range.
    """

    suffix_decoding_max_tree_depth: int = option(24, "suffix: match and draft together, in tokens.", _S)
    suffix_decoding_max_cached_requests: int = option(10_000, "suffix: outputs kept for later requests.", _S)
    suffix_decoding_max_spec_factor: float = option(1.0, "suffix: draft over match length.", _S)
    suffix_decoding_min_token_prob: float = option(0.1, "suffix: least estimated probability of a draft.", _S)

    def __post_init__(self) -> None:
        for name, least, most in (
            ("max_tree_depth", 2, None),
            ("max_cached_requests", 0, None),
            ("max_spec_factor", 0, None),
            ("min_token_prob", 0, 1),
        ):
            value = getattr(self, f"suffix_decoding_{name}")
            if value < least or (most is not None and value > most):
                rule = f"at least {least}" if most is None else f"within {least} and {most}"
                raise ValueError(f"--suffix-decoding-{name.replace('_', '-')} is {value}; it must be {rule}")


def _run(store: TokenStore, options: SuffixOptions, gammas: Sequence[int]) -> dict[int, Potential]:
    from simulator.acceptance.suffix import SuffixDecoding

    decoding = SuffixDecoding(
        max_tree_depth=options.suffix_decoding_max_tree_depth,
        max_cached_requests=options.suffix_decoding_max_cached_requests,
        max_spec_factor=options.suffix_decoding_max_spec_factor,
        min_token_prob=options.suffix_decoding_min_token_prob,
    )
    return decoding.potentials(store, gammas)


DRAFTER = Drafter(name="suffix", options=SuffixOptions, run=_run, cuts=False)
