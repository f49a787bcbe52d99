"""The check as a document: rulings, what arm A calibrates, and what the data can and cannot say."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from scenarios.agents.quality import QualityBudget
from scenarios.protocol.calibration import Calibrated, calibrated
from scenarios.protocol.check import LAW_NOTE, Outcome, Ruling, check, combined
from scenarios.protocol.measured import resolved
from scenarios.protocol.pairs import PairComparison, compare_pair
from scenarios.protocol.prereg import (
    LAWS_THRESHOLDS,
    REGISTRATION,
    Content,
    PreRegistration,
    arm_file,
    read_registration,
)
from scenarios.protocol.results import Results, read_results
from traces.errors import TraceError

PREDICATES = ("P1", "R1", "R2", "R3", "R4")


class ProtocolAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """All rulings of one experiment."""

    origin: str
    preregistration_sha256: str | None
    outcomes: dict[str, Outcome]
    """P1 and R1 to R4, each over all its settings."""
    rulings: list[Ruling]
    calibration: list[Calibrated]
    pairs: list[PairComparison]
    quality: QualityBudget | None
    """As declared; None without a declaration that states it."""
    notes: list[str]


def check_protocol(path: Path, registration: Path | None = None) -> ProtocolAnswer:
    """Check the results or manifest at *path* against the declaration beside it, or at *registration*.

    Raises TraceError for files that cannot be used, where results name another declaration, and where the declaration's
    thresholds are not the law's or the arms beside it are not those declared.
    """
    results = resolved(read_results(path), path.parent)
    beside = path.parent / REGISTRATION
    place = registration or (beside if beside.exists() else None)
    declared = read_registration(place) if place is not None else None
    notes = _notes(results, declared)
    if declared is not None and place is not None:
        _keep_to(declared.content, place)
    if declared is not None and results.preregistration_sha256 not in (None, declared.sha256):
        raise TraceError(
            str(path), None, f"was run under another declaration than {place}", "give the one that it names"
        )
    comparisons = [compare_pair(pair, path.parent) for pair in results.pairs]
    rulings = check(results, comparisons)
    outcomes = {name: combined(rulings, name) for name in PREDICATES}
    if outcomes["R4"] is Outcome.REJECTED:
        notes.append(
            "R4 is rejected: outputs with speculation differ, so its place in the quality budget is no guarantee here"
        )
    return ProtocolAnswer(
        origin=results.origin,
        preregistration_sha256=declared.sha256 if declared is not None else None,
        outcomes=outcomes,
        rulings=rulings,
        calibration=calibrated(results, declared.content if declared is not None else None),
        pairs=comparisons,
        quality=declared.content.quality if declared is not None else None,
        notes=notes,
    )


def _keep_to(content: Content, place: Path) -> None:
    """Hold what a check relies on against the declaration. Raises TraceError where they differ."""
    ours = {name: getattr(content, name) for name in LAWS_THRESHOLDS}
    if ours != LAWS_THRESHOLDS:
        changed = ", ".join(
            f"{name} {ours[name]:g}, not {law:g}" for name, law in LAWS_THRESHOLDS.items() if ours[name] != law
        )
        raise TraceError(str(place), None, f"declares other thresholds than the law's: {changed}", "declare the law's")
    for name, plan in content.arms.items():
        traffic = place.parent / arm_file(name)
        if traffic.exists() and hashlib.sha256(traffic.read_bytes()).hexdigest() != plan.trace_sha256:
            raise TraceError(
                str(traffic), None, f"is not the traffic declared for arm {name}: its sha256 differs", "restore it"
            )


def _notes(results: Results, declared: PreRegistration | None) -> list[str]:
    notes = []
    if results.simulated_from_law:
        notes.append(LAW_NOTE)
    if results.origin == "simulated":
        notes.append("R4 needs paired outputs of a real server: a replay emits the recorded tokens by construction")
    if declared is None:
        notes.append("no pre-registration: thresholds are the law's, but nothing shows that they came first")
        return notes
    if results.preregistration_sha256 is None:
        notes.append(
            "the results name no declaration (preregistration_sha256): nothing shows that it came before the runs"
        )
    content = declared.content
    notes += [
        f"not declared: arm {run.arm} at gamma {run.gamma}, b {run.batch}"
        for run in results.runs
        if run.arm not in content.arms or run.gamma not in content.gammas or run.batch not in content.batches
    ]
    done = {(run.arm, run.gamma, run.batch) for run in results.runs}
    missing = [
        f"{arm} at gamma {gamma}, b {batch}"
        for arm in content.arms
        for gamma in content.gammas
        for batch in content.batches
        if (arm, gamma, batch) not in done
    ]
    if missing:
        notes.append(f"declared but not run: {'; '.join(missing)}")
    return notes
