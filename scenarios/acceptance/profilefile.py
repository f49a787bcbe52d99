"""Acceptance profiles as files: JSON or TOML, the fields those of `AcceptanceProfile`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from scenarios.jsonbytes import json_bytes
from simulator.profile import AcceptanceProfile
from traces.atomic import whole_file
from traces.errors import TraceError


def read_profile(path: Path) -> AcceptanceProfile:
    """The profile at *path*, TOML if its name ends so and JSON otherwise. Raises TraceError if it cannot be used."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise TraceError(str(path), None, error.strerror or str(error), "give the path of a profile") from error
    try:
        if path.suffix == ".toml":
            return msgspec.toml.decode(data, type=AcceptanceProfile)
        return msgspec.json.decode(data, type=AcceptanceProfile)
    except msgspec.DecodeError as error:
        raise TraceError(
            str(path), None, f"not an acceptance profile ({error})", "see `simtool schema profile`"
        ) from error


def write_profile(profile: AcceptanceProfile, path: Path) -> None:
    """Write *profile* to *path* as JSON, whole or not at all."""
    with whole_file(path) as partial:
        partial.write_bytes(json_bytes(profile))


def schema() -> dict[str, Any]:
    """JSON Schema of a profile."""
    return msgspec.json.schema(AcceptanceProfile)
