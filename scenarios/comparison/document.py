"""The document of a comparison: what ``simtool compare --json`` writes."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from scenarios.options.parameters import Value

SCHEMA_VERSION = 1


class Better(StrEnum):
    """Which way a metric should go."""

    LOWER = "lower"
    HIGHER = "higher"


class Verdict(StrEnum):
    """What the interval of a difference says."""

    BETTER = "better"
    WORSE = "worse"
    NONE = "no difference shown"
    """The interval holds 0."""
    NOT_JUDGED = "not judged"
    """There is no interval: the difference may be chance."""


class Pairing(StrEnum):
    """How the two results go together."""

    PAIRED = "paired"
    """One trace: both runs keep the same sessions in each resample."""
    UNPAIRED = "unpaired"
    """Different traces: sessions are resampled in each run by itself."""
    TOTALS = "totals"
    """No table of attempts on one side: figures of the summaries, without intervals."""


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two results."""

    label: str
    trace_sha256: str
    sessions: int
    turns: int
    attempts: int
    seed: int
    version: str
    modelled_engine: str
    has_table: bool
    """Whether the attempts are known one by one."""


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of both results. None where a result does not have it."""

    key: str
    label: str
    unit: str
    better: Better
    a: float | None
    b: float | None
    difference: float | None
    """b - a."""
    relative: float | None
    """b / a - 1; None if a is 0."""
    low: float | None
    """Interval of the difference; None where sessions could not be resampled."""
    high: float | None
    verdict: Verdict


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a total in both results."""

    name: str
    meaning: str
    a: float | None
    """None of what changes the total without being a part of it, such as the price."""
    b: float | None
    difference: float
    """The differences of all parts add up to that of the total."""
    low: float | None
    high: float | None


class Breakdown(msgspec.Struct, frozen=True, kw_only=True):
    """Where the difference of a total comes from."""

    key: str
    title: str
    unit: str
    total: Part
    parts: list[Part]
    notes: list[str]


class ConfigDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A parameter whose value differs; an origin of None: the result does not have it."""

    name: str
    a: Value
    b: Value
    origin_a: str | None
    origin_b: str | None
    source_a: str | None
    source_b: str | None


class Requests(msgspec.Struct, frozen=True, kw_only=True):
    """Requests by session, turn and attempt; of those in both, how E2EL moved."""

    common: int
    only_in_a: int
    only_in_b: int
    faster: int
    slower: int
    equal: int


class Objective(msgspec.Struct, frozen=True, kw_only=True):
    """A latency objective in both results; ``all``: every limit at once."""

    metric: str
    limit_ms: float | None
    wanted_attainment: float
    attainment_a: float | None
    attainment_b: float
    value_ms_b: float | None
    """What the wanted share of B's requests stays within."""
    met: bool
    """Whether B meets it."""


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """A limit on how much worse B may be."""

    metric: str
    label: str
    limit_percent: float
    worse_percent: float | None
    """Positive: worse than A. None: not a share of A, which is 0 or unknown."""
    met: bool


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """All that is said of B against A; nothing in it depends on the clock, the machine or a path."""

    schema_version: int
    tool: str
    version: str
    a: Side
    b: Side
    pairing: Pairing
    pairing_reason: str
    confidence_level: float
    resamples: int
    """Of sessions; 0 without intervals."""
    seed: int
    """Of the resampling."""
    config_differences: list[ConfigDifference]
    metrics: list[Metric]
    breakdowns: list[Breakdown]
    requests: Requests | None
    objectives: list[Objective]
    gates: list[Gate]
    warnings: list[str]


def schema() -> dict[str, Any]:
    """JSON Schema of the document."""
    return msgspec.json.schema(Comparison)
