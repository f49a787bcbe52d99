"""Rental prices per GPU-hour by GPU name: a dated table, to be overridden by the user's own."""

from __future__ import annotations

from dataclasses import dataclass

PRICES_DATE = "2026-05"
"""Month of the newest price in the table."""


@dataclass(frozen=True, slots=True)
class Price:
    """USD per GPU-hour, and who asked for it when."""

    usd_per_hour: float
    source: str


_RUNPOD = "RunPod on demand, 2026-03-21"

PRICES: dict[str, Price] = {
    "H200": Price(3.50, "specialist clouds 3.50-4.50, 2026-05; RunPod 3.59, 2026-03-21"),
    "H100-SXM": Price(2.70, "specialist clouds 2.50-3.50, 2026-05; RunPod 2.69, 2026-03-21"),
    "H100-NVL": Price(2.60, "between PCIe and SXM; unsure"),
    "H100-PCIe": Price(1.99, _RUNPOD),
    "H20": Price(1.50, "hardly rented outside China; unsure"),
    "A100-80GB": Price(1.39, f"{_RUNPOD}; specialist clouds 1.10-1.50, 2026-05"),
    "A100-40GB": Price(1.10, "lower end of the 80 GB board's range; unsure"),
    "L40S": Price(0.86, "specialist clouds; unsure"),
    "RTX-4090": Price(0.34, _RUNPOD),
    "RTX-PRO-6000": Price(1.80, "specialist clouds; unsure"),
    "B200": Price(5.98, _RUNPOD),
    "MI300X": Price(2.50, "specialist clouds; unsure"),
}
