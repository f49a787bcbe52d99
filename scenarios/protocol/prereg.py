"""The pre-registration: platform, arms, predictions and thresholds, fixed by a hash before anything runs."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from scenarios.agents.quality import QualityBudget
from scenarios.jsonbytes import json_bytes
from simulator.predictions import P1_RATIO, R2_SCHEMA_SHARE, R3_RESIDUAL
from traces.atomic import whole_file
from traces.errors import TraceError

VERSION = 1
REGISTRATION = "preregistration.json"
LAWS_THRESHOLDS = {
    "p1_ratio": P1_RATIO,
    "r2_schema_share": R2_SCHEMA_SHARE,
    "r3_residual": R3_RESIDUAL,
    "r4_mismatches": 0,
    "confidence": 0.95,
}
"""What a check goes by; fields of Content."""
GAMMAS = (4, 8, 16)
BATCHES = (1, 8)
Value = float | int | str | bool | None


class ArmPlan(msgspec.Struct, frozen=True, kw_only=True):
    """One arm as it will be run."""

    purpose: str
    sessions: int
    outputs: int
    output_tokens: int
    w_S: float
    w_R: float
    w_F: float
    trace_sha256: str
    """Of the arm's canonical trace, prompts and reference outputs."""


class Prediction(msgspec.Struct, frozen=True, kw_only=True):
    """What the law says of one depth before anything is measured."""

    gamma: int
    tau_S: float
    tau_R: float
    tau_F: float
    saving: dict[str, float]
    """Decode saving of each arm at batch 1."""


class Content(msgspec.Struct, frozen=True, kw_only=True):
    """What is declared; everything that a check may rely on."""

    version: int
    modelled_engine: str
    platform: dict[str, Value]
    acceptance: dict[str, Value]
    temperature: float
    gammas: tuple[int, ...]
    batches: tuple[int, ...]
    arms: dict[str, ArmPlan]
    predictions: list[Prediction]
    p1_ratio: float = P1_RATIO
    r2_schema_share: float = R2_SCHEMA_SHARE
    r3_residual: float = R3_RESIDUAL
    r4_mismatches: int = 0
    confidence: float = 0.95
    seed: int = 0
    quality: QualityBudget | None = None
    """What the levers of the platform may cost in quality; None in declarations made before it was stated."""


class PreRegistration(msgspec.Struct, frozen=True, kw_only=True):
    """A declaration and the hash of its canonical form: sorted keys, no white space."""

    sha256: str
    content: Content


def arm_file(name: str) -> str:
    """File of an arm's traffic, beside the declaration."""
    return f"arm-{name}.jsonl"


def registered(content: Content) -> PreRegistration:
    """*content* with its hash."""
    return PreRegistration(sha256=hash_of(content), content=content)


def hash_of(content: Content) -> str:
    """SHA-256 of the canonical JSON of *content*, without a quality budget that is not stated."""
    stated = msgspec.to_builtins(content)
    if content.quality is None:
        del stated["quality"]
    return hashlib.sha256(msgspec.json.encode(stated, order="sorted")).hexdigest()


def write_registration(registration: PreRegistration, path: Path, *, force: bool = False) -> None:
    """Write *registration*; the same one may stand there already. Raises TraceError where another one does."""
    if path.exists() and not force:
        standing = read_registration(path)
        if standing.sha256 == registration.sha256:
            return
        raise TraceError(
            str(path), None, f"declares another experiment ({standing.sha256[:16]})", "choose a new folder, or --force"
        )
    with whole_file(path) as partial:
        partial.write_bytes(json_bytes(registration))


def read_registration(path: Path) -> PreRegistration:
    """The pre-registration at *path*. Raises TraceError if it is none, or was changed after it was hashed."""
    try:
        found = msgspec.json.decode(path.read_bytes(), type=PreRegistration)
    except OSError as error:
        raise TraceError(str(path), None, f"cannot be read: {error.strerror}", "run simtool protocol run") from error
    except msgspec.DecodeError as error:
        raise TraceError(str(path), None, f"no pre-registration: {error}", "give preregistration.json") from error
    if hash_of(found.content) != found.sha256:
        raise TraceError(
            str(path), None, "its content does not match its sha256: it was changed after declaration", "restore it"
        )
    return found
