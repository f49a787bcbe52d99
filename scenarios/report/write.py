"""Writes a page to a file, and never over one that nobody asked to replace."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from scenarios.options.replay import OptionError
from scenarios.report.page import render
from scenarios.report.subjects import Subject
from traces.atomic import whole_file
from traces.errors import SimtoolError


@dataclass(frozen=True, slots=True)
class Written:
    """A page that was written."""

    size_bytes: int
    drawn: list[str]
    """Names of its plots."""
    left_out: dict[str, str]
    """Title of a plot that could not be drawn -> why."""


def check_page(path: Path, *, force: bool) -> None:
    """Raise OptionError if *path* is there and *force* is not set, or if it is a folder."""
    if path.is_dir():
        raise OptionError(f"--output {path} is a folder: name a file in it")
    if path.exists() and not force:
        raise OptionError(f"--output {path} is there already: add --force to overwrite it")


def write_page(subject: Subject, path: Path, *, excerpt: bool = True) -> Written:
    """Write the page of *subject* to *path*, whole or not at all. Raises SimtoolError if it cannot be written."""
    page = render(subject, excerpt=excerpt)
    content = page.html.encode("utf-8")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SimtoolError(f"cannot make {path.parent}: {error.strerror or error}") from error
    with whole_file(path) as partial:
        partial.write_bytes(content)
    return Written(size_bytes=len(content), drawn=page.drawn, left_out=page.left_out)
