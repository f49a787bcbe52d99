"""Rows of result documents as pandas tables."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import pandas as pd


def frame(rows: Iterable[msgspec.Struct], kind: type[msgspec.Struct]) -> pd.DataFrame:
    """A row each, the fields of *kind* as columns; also without rows."""
    return pd.DataFrame([msgspec.structs.asdict(row) for row in rows], columns=list(kind.__struct_fields__))
