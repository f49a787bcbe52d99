"""Which tokens of a recording's outputs are forced, collected while the outputs are read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from scenarios.options.read import ReadOptions
from tokenclass.classes import CLASS_OF_SUBCLASS, PositionClass
from tokenclass.forced import forced_tokens
from tokenclass.formats.family import Family
from tokenclass.formats.registry import get_family
from tokenclass.formats.schema import Tools
from tokenclass.outputs import Observe, OutputRun
from traces.model import RawBlock, Session, Turn

Bools = npt.NDArray[np.bool_]
_SCHEMA = np.array([owner is PositionClass.S for owner in CLASS_OF_SUBCLASS])


def tools_of(session: Session) -> Tools:
    """The tools that *session* declares."""
    return Tools([{"name": tool.name, "parameters": tool.parameters} for tool in session.tools])


def known_forced(
    turn: Turn, number: int, runs: Sequence[OutputRun], tools: Tools, form: Family, raw_forms: Sequence[Family]
) -> Bools | None:
    """Whether each token of attempt *number* of *turn* is forced; None where that is not known.

    Completion text is read in the first of *raw_forms* that agrees with the recording, other outputs in *form*.
    """
    raw = any(isinstance(block, RawBlock) for block in turn.attempts[number].output)
    masks = (forced_tokens(runs, family, tools) for family in (raw_forms if raw else (form,)))
    return next((mask for mask in masks if mask is not None), None)


class ForcedMasks:
    """Collects the forced tokens of each attempt, in the order of a workload."""

    def __init__(self) -> None:
        self._masks: list[Bools] = []
        self.call_tokens = 0
        """Tokens in calls."""
        self.unknown_tokens = 0
        """Those of them whose tools or text the recording does not tell: taken as free."""

    def watch(self, session: Session, options: ReadOptions, raw_forms: Sequence[Family]) -> Observe:
        """What is to be shown the outputs of *session*, read as *options* say."""
        tools, form = tools_of(session), get_family(options.tool_call_format)

        def observe(turn: Turn, number: int, runs: Sequence[OutputRun]) -> None:
            labels = np.concatenate([np.empty(0, np.uint8), *(run.labels.expand() for run in runs)])
            in_calls = int(_SCHEMA[labels].sum())
            mask = known_forced(turn, number, runs, tools, form, raw_forms) if in_calls else None
            self.call_tokens += in_calls
            self.unknown_tokens += in_calls if mask is None else 0
            none = np.zeros(max(1, labels.size), np.bool_)  # an output without tokens is replayed as one
            self._masks.append(none if mask is None else mask)

        return observe

    def joined(self) -> Bools:
        """One value a token of all outputs, end to end."""
        return np.concatenate([np.empty(0, np.bool_), *self._masks])
