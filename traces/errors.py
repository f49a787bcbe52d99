"""Errors of reading: each names the place, the reason and the mend."""

from __future__ import annotations

import tempfile


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


def no_room(error: OSError) -> SimtoolError:
    """What to say where a temporary file cannot be written."""
    return SimtoolError(
        f"{tempfile.gettempdir()}: {error.strerror or error}: a large trace needs room for temporary files there; set "
        "TMPDIR to a folder that has it"
    )
