"""What a user can set about drafting beside its method: how a drafter without a model searches, and when to draft."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.acceptance.base import MAX_GAMMA
from simulator.acceptance.ngram import Occurrence
from simulator.acceptance.suffix import SuffixDecoding
from simulator.policies import GammaByBatchSize, GammaByLabel
from simulator.profile import LABELS_OF
from tokenclass.classes import PositionClass, SubClass


@dataclass(frozen=True, slots=True, kw_only=True)
class DrafterOptions:
    """Options of prompt lookup and suffix decoding, with vLLM's names and defaults.

    Raises ValueError, with option, value and range, for values out of range.
    """

    prompt_lookup_min: int = 5
    prompt_lookup_max: int = 5
    prompt_lookup_match: Occurrence = Occurrence.EARLIEST
    """Which of several earlier occurrences is copied from; vLLM takes the earliest."""
    suffix_decoding_max_tree_depth: int = 24
    suffix_decoding_max_cached_requests: int = 10_000
    suffix_decoding_max_spec_factor: float = 1.0
    suffix_decoding_min_token_prob: float = 0.1

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

    def suffix(self) -> SuffixDecoding:
        """The suffix drafter of these options."""
        return SuffixDecoding(
            max_tree_depth=self.suffix_decoding_max_tree_depth,
            max_cached_requests=self.suffix_decoding_max_cached_requests,
            max_spec_factor=self.suffix_decoding_max_spec_factor,
            min_token_prob=self.suffix_decoding_min_token_prob,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyOptions:
    """Rules that draft less than the engine's depth; without any, each round drafts that depth."""

    gamma_by_class: GammaByLabel | None = None
    gamma_by_batch_size: GammaByBatchSize | None = None
    confidence_threshold: float | None = None
    """Drafting stops before a token whose chance of being reached and accepted is lower."""

    def __post_init__(self) -> None:
        threshold = self.confidence_threshold
        if threshold is not None and not 0 <= threshold <= 1:
            raise ValueError(f"--confidence-threshold is {threshold}; it must be within 0 and 1")


def parse_gamma(text: str) -> tuple[int, GammaByLabel | None]:
    """The engine's draft depth, and the depth by class: ``8``, or ``S=16,R=4,F=0`` with sub-classes for more detail.

    A class of its own name covers all its sub-classes; a sub-class overrides it. Raises ValueError.
    """
    if "=" not in text:
        return _depth(text, "--gamma", text), None
    given: dict[str, int] = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        name = name.strip().upper()
        if name not in LABELS_OF:
            raise ValueError(f"--gamma {text!r}: {name!r} is no class (S, R, F) or sub-class (D, N, K, V, T, P)")
        given[name] = _depth(value, "--gamma", text)
    missing = [one.name for one in PositionClass if one.name not in given]
    if missing:
        raise ValueError(f"--gamma {text!r}: no depth for {', '.join(missing)}; give S, R and F")
    coarse_first = sorted(given, key=lambda name: -len(LABELS_OF[name]))
    by_label = {label: given[name] for name in coarse_first for label in LABELS_OF[name]}
    return max(by_label.values()), GammaByLabel(tuple(by_label[label] for label in SubClass))


def parse_batch_sizes(text: str) -> GammaByBatchSize:
    """Read ``1-8:8,9-32:4,33-:0``: draft depth by the number of running requests. Raises ValueError."""
    rows = []
    for part in text.split(","):
        sizes, colon, depth = part.strip().partition(":")
        low, dash, high = sizes.partition("-")
        if not colon or not low.strip().isdigit() or (high.strip() and not high.strip().isdigit()):
            raise ValueError(f"--gamma-by-batch-size {text!r}: {part.strip()!r} is not LOW-HIGH:DEPTH, as in 1-8:8")
        last = int(high) if high.strip() else (NO_LIMIT if dash else int(low))
        rows.append((int(low), last, _depth(depth, "--gamma-by-batch-size", text)))
    try:
        return GammaByBatchSize(tuple(rows))
    except ValueError as error:
        raise ValueError(f"--gamma-by-batch-size {text!r}: {error}") from error


NO_LIMIT = 2**31 - 1
"""Batch size that an open row ends at."""


def _depth(value: str, option: str, text: str) -> int:
    if not value.strip().isdigit() or int(value) > MAX_GAMMA:
        raise ValueError(f"{option} {text!r}: {value.strip()!r} is no draft depth; give 0..{MAX_GAMMA}")
    return int(value)
