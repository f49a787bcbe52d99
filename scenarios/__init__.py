"""What people ask: replays with a verdict, sweeps, capacity, calibration, reports.

`scenarios.api` is for Python; what it has under names that are no modules here is found in this package too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scenarios.api import Run, Tags, law_check, replay, tag

__all__ = ["Run", "Tags", "law_check", "replay", "tag"]


def __getattr__(name: str) -> Any:
    """Import the API when it is first asked for, so that the command line starts without it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from scenarios import api

    return getattr(api, name)
