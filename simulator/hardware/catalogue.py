"""Look-up by name, with the nearest spellings in the error: what begins so goes before what only looks alike."""

from __future__ import annotations

import difflib
from typing import TypeVar

from simulator.hardware.gpus import GPUS, Gpu
from simulator.hardware.models import MODELS
from simulator.hardware.shape import ModelShape

T = TypeVar("T")


def gpu_named(name: str) -> Gpu:
    """The GPU called *name*, in any case. Raises ValueError with the nearest spelling."""
    return _named(name, GPUS, "--gpu")


def model_named(name: str, option: str = "model") -> ModelShape:
    """The model called *name*, in any case and with or without its owner. Raises ValueError with the nearest one."""
    return _named(name.rsplit("/", 1)[-1], MODELS, option)


def _named(name: str, known: dict[str, T], what: str) -> T:
    by_lower = {key.lower(): value for key, value in known.items()}
    if name.lower() in by_lower:
        return by_lower[name.lower()]
    near = [key for key in known if name and key.lower().startswith(name.lower())]
    if not near:
        alike = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.3)
        near = [key for key in known if key.lower() in alike]
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    raise ValueError(f"{what} {name!r} is not in the catalogue{hint} (known: {', '.join(known)})")
