"""Where a number comes from."""

from __future__ import annotations

from enum import StrEnum


class Origin(StrEnum):
    """Where a parameter's value comes from."""

    DECLARED = "declared"
    """Given by the user, or taken as a default from published figures."""
    DERIVED = "derived"
    """Computed from other parameters."""
    MEASURED = "measured"
    """Fitted to, or read from, a measurement or the recording itself."""
