"""Documents as the JSON text that every result file and every --json has."""

from __future__ import annotations

from typing import Any

import msgspec


def json_bytes(document: Any) -> bytes:
    """*document* as indented JSON with a newline at its end; equal documents give equal bytes."""
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"
