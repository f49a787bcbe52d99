"""Results of the arms, simulated or measured: counts of rounds and times per output token."""

from __future__ import annotations

from pathlib import Path

import msgspec

from traces.errors import TraceError


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """What one run came to."""

    num_drafts: float
    accepted_per_pos: tuple[float, ...]
    """Rounds that accepted their draft number 1, 2, ..."""
    tpot_s: float | None = None
    tpot_error_s: float | None = None
    """Standard error of the mean over requests; None: the source does not tell."""
    plain_tpot_s: float | None = None
    """The same arm without speculation."""
    plain_tpot_error_s: float | None = None


class Files(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a measured run's figures are; paths are relative to the manifest."""

    bench: str | None = None
    """Result file of vLLM's serving benchmark."""
    metrics: str | None = None
    """Dump of the metrics endpoint after the run."""
    metrics_before: str | None = None
    log: str | None = None
    recording: str | None = None
    """Canonical trace with accepted_per_round."""
    plain_bench: str | None = None
    plain_metrics: str | None = None
    plain_metrics_before: str | None = None


class Run(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One arm at one depth and batch size: either figures, or files to read them from."""

    arm: str
    gamma: int
    batch: int
    w_S: float | None = None
    figures: Figures | None = None
    files: Files | None = None


class CompositionFigures(msgspec.Struct, frozen=True, kw_only=True):
    """C_total by the formula and as it came out, in one unit; several values are repetitions."""

    formula: list[float]
    joint: list[float]


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """Outputs of the same prompts at temperature 0 without and with speculation."""

    plain: str
    speculative: str


class Results(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All runs of one experiment."""

    origin: str
    """measured, or simulated."""
    preregistration_sha256: str | None = None
    simulated_from_law: bool = False
    """Whether acceptance was drawn from the law that is to be tested."""
    runs: list[Run] = []
    composition: CompositionFigures | None = None
    pairs: list[Pair] = []


def read_results(path: Path) -> Results:
    """The results or manifest at *path*. Raises TraceError for another file."""
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Results)
    except OSError as error:
        raise TraceError(str(path), None, f"cannot be read: {error.strerror}", "give a results file") from error
    except msgspec.DecodeError as error:
        raise TraceError(str(path), None, f"not a results file: {error}", "see docs/protocol.md") from error
    if found.origin not in ("measured", "simulated"):
        raise TraceError(str(path), None, f"origin {found.origin!r} is neither measured nor simulated", "name one")
    for number, run in enumerate(found.runs):
        if (run.figures is None) == (run.files is None):
            raise TraceError(str(path), None, f"run {number} needs either figures or files", "give one of them")
    return found
