"""Options of agent sessions that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from simtool import options as o


class SubAgents(StrEnum):
    """What a turn after one that started sub-agents waits for."""

    JOIN = "join"
    DETACHED = "detached"


class ToolWaitsOption(StrEnum):
    """Where tool durations come from."""

    RECORDED = "recorded"
    SCALED = "scaled"
    DRAWN = "drawn"


ToolWaits = Annotated[
    ToolWaitsOption,
    typer.Option(
        "--tool-waits",
        help="recorded, scaled (by --tool-speedup), or drawn anew from those recorded of the same tool.",
        rich_help_panel=o.LOAD,
    ),
]
SubAgentsOption = Annotated[
    SubAgents,
    typer.Option(
        "--sub-agents",
        help="join: the parent's next turn waits for their ends, in place of as many of its longest tools.",
        rich_help_panel=o.LOAD,
    ),
]
ArrivalProfile = Annotated[
    Path | None,
    typer.Option(
        "--arrival-profile",
        metavar="FILE",
        help="Open loop: requests/s of each hour, a JSON list or one a line, repeated after its end.",
        rich_help_panel=o.LOAD,
    ),
]
Gate = Annotated[
    str | None,
    typer.Option(
        "--gate",
        metavar="call=P,answer=P,...",
        help="Draws judged by a gate, instead of --nu: pass probabilities by turn kind; draws=N at most, or best-of=N "
        "at once; prompt=same|error with error-tokens=N; give-up=last|fail; ms=, gpu-ms= of a verdict.",
        rich_help_panel=o.LOAD,
    ),
]
