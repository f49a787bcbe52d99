"""Results of the arms, simulated or measured: counts of rounds and times per output token."""

from __future__ import annotations

from pathlib import Path

import msgspec

from simulator import law
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
    rounds_by_session: tuple[float, ...] = ()
    """num_drafts of each session (or request), where the source has them: rounds of one session are alike."""
    accepted_by_session: tuple[float, ...] = ()
    """Drafts accepted in them."""


class Files(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a measured run's figures are; paths are relative to the manifest."""

    bench: str | None = None
    """Result file of vLLM's serving benchmark."""
    metrics: str | None = None
    """Dump of the metrics endpoint after the run."""
    metrics_before: str | None = None
    log: str | None = None
    requests: str | None = None
    """Responses of a server run with --per-request-spec-decode-metrics."""
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


class MeasuredTotal(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One repetition: each term from a run with its lever alone, and C_total of the run with all of them.

    Costs are in one unit, seconds or dollars; c_net and c_1 in another of their own.
    """

    nu: float | None = None
    """Draws per accepted turn."""
    h: float | None = None
    c_hit: float | None = None
    C_pre: float | None = None
    """Prefill of a draw without any lever."""
    C_dec: float | None = None
    """Decode of a draw without any lever."""
    c_net: float | None = None
    """Per token with speculation alone."""
    c_1: float | None = None
    """Per token without."""
    C_gate: float = 0.0
    """The gate's own cost of a draw."""
    C_total: float | None = None
    """Of an accepted turn, all levers on."""

    def total(self, number: int) -> tuple[float, float]:
        """C_total by the formula and as measured. Raises ValueError for terms that are missing or out of range."""
        missing = [name for name in self.__struct_fields__ if getattr(self, name) is None]
        if missing:
            raise ValueError(f"repetition {number} of C_total lacks {', '.join(missing)}")
        nu, h, c_hit, C_pre, C_dec, c_net, c_1, C_gate, joint = (
            float(getattr(self, name)) for name in self.__struct_fields__
        )
        if not (c_1 > 0 and joint > 0):
            raise ValueError(f"repetition {number} of C_total: c_1 and C_total must be above 0")
        return law.C_total(nu, h, c_hit, C_pre, C_dec, c_net / c_1) + nu * C_gate, joint


class CompositionFigures(msgspec.Struct, frozen=True, kw_only=True):
    """C_total by the formula and as it came out, in one unit; several values are repetitions.

    Either *formula* and *joint*, or the terms that they are made of.
    """

    formula: list[float] = []
    joint: list[float] = []
    measured: list[MeasuredTotal] = []

    @property
    def totals(self) -> tuple[list[float], list[float]]:
        """C_total by the formula and as it came out. Raises ValueError, with what is missing, for incomplete data."""
        if not self.measured:
            if len(self.formula) != len(self.joint):
                raise ValueError(
                    f"{len(self.formula)} values of the formula against {len(self.joint)} of the joint run"
                )
            return self.formula, self.joint
        if self.formula or self.joint:
            raise ValueError("give formula and joint, or measured terms, not both")
        pairs = [one.total(number) for number, one in enumerate(self.measured, start=1)]
        return [formula for formula, _ in pairs], [joint for _, joint in pairs]


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
    if found.composition is not None:
        _checked(found.composition, path)
    for number, run in enumerate(found.runs):
        if (run.figures is None) == (run.files is None):
            raise TraceError(str(path), None, f"run {number} needs either figures or files", "give one of them")
        if run.figures is not None and len(run.figures.rounds_by_session) != len(run.figures.accepted_by_session):
            raise TraceError(str(path), None, f"run {number}: sessions of rounds and of drafts differ", "correct it")
    return found


def _checked(composition: CompositionFigures, path: Path) -> None:
    """Missing terms are for the ruling to tell; those out of range are errors."""
    for number, one in enumerate(composition.measured, start=1):
        if any(getattr(one, name) is None for name in one.__struct_fields__):
            continue
        try:
            one.total(number)
        except ValueError as error:
            raise TraceError(str(path), None, str(error), "correct it, see docs/protocol.md") from error
