"""What renting a GPU costs: listed prices stand with each GPU (gpus.py), to be overridden by the user's own."""

from __future__ import annotations

from dataclasses import dataclass

PRICES_DATE = "2026-05"
"""Month of the newest listed price."""


@dataclass(frozen=True, slots=True)
class Price:
    """USD per GPU-hour, and who asked for it when."""

    usd_per_hour: float
    source: str
