"""Where the keys of a scenario's section stand, for errors that are found when the section is used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from scenarios.options.replay import OptionError
from scenarios.scenariofile.document import KeyPath
from traces.errors import TraceError


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """File and line of each key of a section, which may be of several files that extend each other."""

    name: str = "sweep"
    """What to say where no file is known."""
    known: Mapping[KeyPath, tuple[str, int]] = field(default_factory=dict)

    def error(self, keys: KeyPath, reason: str, mend: str = "") -> TraceError | OptionError:
        """An error at the line of *keys*, or of the nearest key around them."""
        while keys and keys not in self.known:
            keys = keys[:-1]
        if keys in self.known:
            path, line = self.known[keys]
            return TraceError(path, line, reason, mend)
        return OptionError(f"{self.name}: {reason}" + (f"; {mend}" if mend else ""))
