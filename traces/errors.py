"""Errors of reading: each names the place, the reason and the mend."""

from __future__ import annotations


class SimtoolError(Exception):
    """Base of every error that a user can mend; the command line exits with code 3."""


class TraceError(SimtoolError):
    """Input that cannot be used: prints as ``path:line: reason (what to do)``."""

    def __init__(self, path: str, line: int | None, reason: str, mend: str = "") -> None:
        self.path = path
        self.line = line
        self.reason = reason
        self.mend = mend
        place = path if line is None else f"{path}:{line}"
        super().__init__(f"{place}: {reason}" + (f" ({mend})" if mend else ""))
