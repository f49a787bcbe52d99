"""Entry point. It imports nothing at first, so that Ctrl-C says so from the start."""

from __future__ import annotations

import sys
from typing import NoReturn

EXIT_INTERRUPTED = 130


def interrupted() -> NoReturn:
    """Say that Ctrl-C ended the command, and exit."""
    print("simtool: interrupted", file=sys.stderr)  # noqa: T201
    raise SystemExit(EXIT_INTERRUPTED) from None


def main() -> None:
    """Run the command line."""
    try:
        from simtool.app import run

        run()
    except KeyboardInterrupt:
        interrupted()
