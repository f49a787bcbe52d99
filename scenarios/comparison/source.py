"""Where a side of a comparison comes from."""

from __future__ import annotations

from scenarios.report.subjects import Run, Runs, read_subject
from traces.errors import SimtoolError


def read_run(path: str) -> Run:
    """The run in the folder or result file at *path*; ``-`` reads a result from standard input.

    Raises SimtoolError for what is no result of a replay.
    """
    subject = read_subject([path])
    if not isinstance(subject, Runs):
        raise SimtoolError(f"{path}: a check of the law cannot be compared (give results of simtool replay)")
    return subject.main
