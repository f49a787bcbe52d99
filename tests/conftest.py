"""Settings for all tests. Property tests repeat the same examples on every run, and explore with EXPLORE=1."""

from __future__ import annotations

import os
import signal

from hypothesis import Phase, settings

_SEARCH = (Phase.explicit, Phase.generate, Phase.target)

settings.register_profile("repeatable", derandomize=True, database=None, deadline=None, phases=_SEARCH)
settings.register_profile("explore", deadline=None)
settings.load_profile("explore" if os.environ.get("EXPLORE") else "repeatable")

signal.signal(signal.SIGINT, signal.default_int_handler)
"""A job in the background ignores Ctrl-C, and so would the commands that it starts and interrupts."""
