"""What a user can set about drafting beside its method: how a drafter without a model searches, and when to draft."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scenarios.options.option import Section, option

if TYPE_CHECKING:
    from simulator.policies import GammaByBatchSize, GammaByLabel

_S = Section.SPECULATION


@dataclass(frozen=True, slots=True, kw_only=True)
class DrafterOptions:
    """Options of prompt lookup and suffix decoding, with vLLM's names and defaults.

    Raises ValueError, with option, value and range, for values out of range.
    """

    prompt_lookup_min: int = option(5, "ngram: shortest match, in tokens.", _S)
    prompt_lookup_max: int = option(5, "ngram: longest match, in tokens.", _S)
    prompt_lookup_match: str = option(
        "earliest",
        "ngram: copy from the earliest occurrence, as vLLM does, or the latest.",
        _S,
        choices=("earliest", "latest"),
    )
    suffix_decoding_max_tree_depth: int = option(24, "suffix: match and draft together, in tokens.", _S)
    suffix_decoding_max_cached_requests: int = option(10_000, "suffix: outputs kept for later requests.", _S)
    suffix_decoding_max_spec_factor: float = option(1.0, "suffix: draft over match length.", _S)
    suffix_decoding_min_token_prob: float = option(0.1, "suffix: least estimated probability of a draft.", _S)

    def __post_init__(self) -> None:
        low, high = self.prompt_lookup_min, self.prompt_lookup_max
        if low < 1:
            raise ValueError(f"--prompt-lookup-min is {low}; it must be at least 1")
        if high < low:
            raise ValueError(f"--prompt-lookup-max is {high}; it must be at least --prompt-lookup-min, {low}")
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyOptions:
    """Rules that draft less than the engine's depth; without any, each round drafts that depth."""

    gamma_by_class: GammaByLabel | None = None
    gamma_by_tool: tuple[tuple[str, int], ...] = ()
    """Both are set by the option gamma (scenarios/options/settings.py)."""
    gamma_by_batch_size: GammaByBatchSize | None = option(
        None,
        "Draft depth by running requests (vLLM: num_speculative_tokens_per_batch_size); at most --gamma.",
        _S,
        metavar="1-8:8,9-32:4,33-:0",
        parse="scenarios.options.depths:parse_batch_sizes",
    )
    confidence_threshold: float | None = option(
        None,
        "Stop drafting where the chance of acceptance falls below this; the drafter judges without error.",
        _S,
    )
    """Drafting stops before a token whose chance of being reached and accepted is lower."""
    grammar: str = option(
        "none",
        "Constrained decoding: tokens that schema and grammar force are always accepted, or jumped over without a "
        "pass; or no draft within calls, at full verification width.",
        _S,
        choices=("none", "accept", "jump", "no-draft"),
    )
    """What the engine does under a grammar (simulator.acceptance.grammar)."""

    def __post_init__(self) -> None:
        threshold = self.confidence_threshold
        if threshold is not None and not 0 <= threshold <= 1:
            raise ValueError(f"--confidence-threshold is {threshold}; it must be within 0 and 1")
