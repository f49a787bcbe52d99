"""What a user can set about when to draft; how a drafter without a model searches is in its own module."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scenarios.options.option import Section, option

if TYPE_CHECKING:
    from simulator.policies import GammaByBatchSize, GammaByLabel

_S = Section.SPECULATION


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
