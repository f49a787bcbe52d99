"""Text of recordings made safe for a terminal; see traces.safetext."""

from __future__ import annotations

from traces.safetext import safe, safe_line

__all__ = ["safe", "safe_line"]
