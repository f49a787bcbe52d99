"""What a caller gives in Python: recordings, a scenario, and options as keywords."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from scenarios.options.option import Declared
from scenarios.options.replay import OptionError
from scenarios.options.settings import Settings, all_options, read_keys, settings, unknown_key
from scenarios.scenariofile.load import Scenario, load_scenario
from scenarios.scenariofile.values import BadValueError, checked

Traces = str | Path | Sequence[str | Path]
"""A recording, or several: files and folders."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Recordings and options, those of a scenario under those of keywords."""

    traces: list[str]
    values: dict[str, Any]
    """Options by key; those left out have their defaults."""
    scenario: Scenario | None

    @property
    def settings(self) -> Settings:
        """The settings that *values* make. Raises OptionError."""
        return settings(self.values)


def resolve(
    traces: Traces | None,
    scenario: str | Path | None,
    options: Mapping[str, Any],
    *,
    only_reading: bool = False,
) -> Given:
    """What is asked: *options* go before the scenario's own, *traces* before its files.

    With *only_reading* options are those of reading and tagging, and a scenario's others are left out. Raises
    OptionError for unknown keys and values, and without recordings; TraceError or SimtoolError for a bad scenario.
    """
    known = read_keys() if only_reading else tuple(all_options())
    found = None if scenario is None else load_scenario(str(scenario))
    values = {} if found is None else {key: value for key, value in found.values.items() if key in known}
    values.update(checked_options(options, known))
    paths = paths_of(traces)
    if not paths and found is not None:
        paths = list(found.traces)
    if not paths:
        raise OptionError("no recording: give traces, or a scenario whose [trace] names files")
    return Given(traces=paths, values=values, scenario=found)


def checked_options(options: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    """*options* by key in lower case (``rho_S`` is ``rho_s``), each a value that it takes. Raises OptionError."""
    found = {}
    for name, value in options.items():
        key = name.lower()
        if key not in known:
            raise OptionError(unknown_key(name, known))
        found[key] = _checked(all_options()[key], value)
    return found


def _checked(one: Declared, value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None and one.default is None:
        return None
    try:
        return checked(one, value)
    except BadValueError as error:
        raise OptionError(str(error)) from error


def paths_of(traces: Traces | None) -> list[str]:
    """*traces* as the command line has them."""
    if traces is None:
        return []
    return [str(traces)] if isinstance(traces, (str, Path)) else [str(one) for one in traces]
