"""Options of speculation that several commands share: what drafts, how deep, and how it searches."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from simtool.options import SPECULATION as _S


class Match(StrEnum):
    """Which of several earlier occurrences prompt lookup copies from."""

    EARLIEST = "earliest"
    LATEST = "latest"


Gamma = Annotated[
    str,
    typer.Option(
        "--gamma",
        "--num-speculative-tokens",
        metavar="N|S=..,R=..,F=..",
        help="Draft depth (vLLM: num_speculative_tokens), or one by class (sub-classes D N K V T P too) of the token "
        "before the round; 0 replays without speculation.",
        rich_help_panel=_S,
    ),
]
GammaByBatchSize = Annotated[
    str | None,
    typer.Option(
        "--gamma-by-batch-size",
        metavar="1-8:8,9-32:4,33-:0",
        help="Draft depth by running requests (vLLM: num_speculative_tokens_per_batch_size); at most --gamma.",
        rich_help_panel=_S,
    ),
]
ConfidenceThreshold = Annotated[
    float | None,
    typer.Option(
        "--confidence-threshold",
        help="Stop drafting where the chance of acceptance falls below this; the drafter judges without error.",
        rich_help_panel=_S,
    ),
]
Profile = Annotated[
    str | None,
    typer.Option(
        "--profile",
        metavar="FILE",
        help="Acceptance profile (JSON, TOML) in place of the declared one; made by simtool calibrate.",
        rich_help_panel=_S,
    ),
]
PromptLookupMin = Annotated[
    int,
    typer.Option("--prompt-lookup-min", help="ngram: shortest match, in tokens.", rich_help_panel=_S),
]
PromptLookupMax = Annotated[
    int,
    typer.Option("--prompt-lookup-max", help="ngram: longest match, in tokens.", rich_help_panel=_S),
]
PromptLookupMatch = Annotated[
    Match,
    typer.Option(
        "--prompt-lookup-match",
        help="ngram: copy from the earliest occurrence, as vLLM does, or the latest.",
        rich_help_panel=_S,
    ),
]
SuffixMaxTreeDepth = Annotated[
    int,
    typer.Option(
        "--suffix-decoding-max-tree-depth", help="suffix: match and draft together, in tokens.", rich_help_panel=_S
    ),
]
SuffixMaxCachedRequests = Annotated[
    int,
    typer.Option(
        "--suffix-decoding-max-cached-requests", help="suffix: outputs kept for later requests.", rich_help_panel=_S
    ),
]
SuffixMaxSpecFactor = Annotated[
    float,
    typer.Option("--suffix-decoding-max-spec-factor", help="suffix: draft over match length.", rich_help_panel=_S),
]
SuffixMinTokenProb = Annotated[
    float,
    typer.Option(
        "--suffix-decoding-min-token-prob", help="suffix: least estimated probability of a draft.", rich_help_panel=_S
    ),
]
