"""Entry point. It imports next to nothing at first, so that Ctrl-C says so from the start."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn

EXIT_INTERRUPTED = 130
EXIT_TERMINATED = 143


def interrupted() -> NoReturn:
    """Say that Ctrl-C ended the command, and exit."""
    print("simtool: interrupted", file=sys.stderr)  # noqa: T201
    raise SystemExit(EXIT_INTERRUPTED) from None


def _terminated(*_: object) -> NoReturn:
    """End the command as Ctrl-C does, with its worker processes and temporary files, when it is told to end."""
    print("simtool: terminated", file=sys.stderr)  # noqa: T201
    raise SystemExit(EXIT_TERMINATED)


def main() -> None:
    """Run the command line."""
    signal.signal(signal.SIGTERM, _terminated)
    try:
        from simtool.app import run

        run()
    except KeyboardInterrupt:
        interrupted()
