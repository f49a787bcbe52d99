"""Settings for all tests: property tests repeat the same examples on every run, and explore with EXPLORE=1."""

from __future__ import annotations

import os

from hypothesis import Phase, settings

_SEARCH = (Phase.explicit, Phase.generate, Phase.target)

settings.register_profile("repeatable", derandomize=True, database=None, deadline=None, phases=_SEARCH)
settings.register_profile("explore", deadline=None)
settings.load_profile("explore" if os.environ.get("EXPLORE") else "repeatable")
