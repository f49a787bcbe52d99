"""Prices per GPU-hour: the user's own table over the listed one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from simulator.hardware import GPUS, Gpu, Price, gpu_named
from traces.errors import TraceError


class PriceTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A TOML or JSON file: ``date = "2026-12"`` and ``[usd_per_gpu_hour]`` with a price per GPU name."""

    usd_per_gpu_hour: dict[str, float]
    date: str = "undated"


def price_for(gpu: Gpu, table: Path | None) -> Price:
    """The price of *gpu* in the user's *table*, else the listed one.

    Raises TraceError for a file that is no price table.
    """
    if table is None:
        return gpu.price
    given = read_prices(table).get(gpu.name)
    if given is not None:
        return given
    listed = gpu.price
    return Price(listed.usd_per_hour, f"not in {table.name}; {listed.source}")


def read_prices(path: Path) -> dict[str, Price]:
    """Prices of the file at *path*, by catalogue name."""
    try:
        content: Any = path.read_bytes()
        decode = msgspec.json.decode if path.suffix == ".json" else msgspec.toml.decode
        table = decode(content, type=PriceTable)
    except OSError as error:
        raise TraceError(str(path), None, f"cannot be read: {error.strerror}", "give a TOML or JSON file") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        mend = 'write date = "2026-12" and [usd_per_gpu_hour] with one line a GPU, as H200 = 3.50'
        raise TraceError(str(path), None, f"is no price table: {error}", mend) from error
    found = {}
    for name, usd in table.usd_per_gpu_hour.items():
        try:
            gpu = gpu_named(name)
        except ValueError as error:
            raise TraceError(str(path), None, str(error), f"use one of {', '.join(GPUS)}") from error
        if not 0 <= usd < float("inf"):
            raise TraceError(str(path), None, f"{name} costs {usd}", "give USD per GPU-hour, 0 or more")
        found[gpu.name] = Price(usd, f"{path.name}, {table.date}")
    return found
