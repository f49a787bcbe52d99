"""What moving a traffic's schema share from one value to another saves, on its own spans."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.metadata import version

import msgspec
import numpy as np

from scenarios.answer import Interval
from scenarios.ask import Asked, Question, answer
from scenarios.law.stretch import schema_share, stretched
from scenarios.options.replay import OptionError
from scenarios.recordings.loaded import Loaded
from scenarios.runs.inturn import InTurn
from scenarios.verdict import net_interval
from simulator.acceptance.base import Outputs
from simulator.config import MODELLED_ENGINE
from simulator.replay import Watch, attempt_keys
from simulator.workload import Workload
from tokenclass.classes import SubClass

SCHEMA_VERSION = 1


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """The traffic at one schema share."""

    w_S: float
    stretch: float
    """Times the recorded length that its schema spans have."""
    output_tokens_per_turn: float
    C_pre_s: float
    C_dec_s: float
    C_total_s: float
    """GPU seconds per accepted turn."""
    usd_per_1000_sessions: float
    usd_per_million_output_tokens: float
    e2el_p50_s: float | None
    session_p50_s: float | None
    speculation: Interval | None
    """Net saving of C_total against the same traffic without speculation; None at gamma 0."""


class WhatIf(msgspec.Struct, frozen=True, kw_only=True):
    """Two shares side by side."""

    schema_version: int
    tool: str
    version: str
    modelled_engine: str
    seed: int
    trace_sha256: str
    gamma: int
    recorded_w_S: float
    before: Side
    after: Side
    saved: Interval
    """Share of C_total that the move saves, paired by session."""
    saved_per_output_token: float
    """The same per output token: what does not come from outputs that are shorter or longer."""
    notes: list[str]
    assumptions: dict[str, int]


@dataclass(frozen=True, slots=True)
class _Moved:
    asked: Asked
    side: Side


def what_if(asked: Question, loaded: Loaded, w_from: float, w_to: float, watch: Watch | None = None) -> WhatIf:
    """Replay the workload with its schema share at *w_from* and at *w_to*, all else alike.

    *watch* is told how far the replays are.

    Raises OptionError for shares that the recording cannot have, and for acceptance measured on recorded tokens,
    which says nothing of spans of other lengths.
    """
    if asked.reading.keep_ids or asked.reading.keep_forced:
        raise OptionError(
            "whatif-w-s needs acceptance that is declared: what was measured on the recorded tokens says nothing of "
            "spans of other lengths; give --acceptance-length, --eps or --profile"
        )
    sides = InTurn(watch, 2)
    before, after = (
        _side(asked, loaded, sides.next(), *with_share(loaded.workload, share, flag, asked.options.seed))
        for share, flag in ((w_from, "--w-s-from"), (w_to, "--w-s-to"))
    )
    workload, seed = after.asked.workload, asked.options.seed
    one, other = before.side, after.side
    return WhatIf(
        schema_version=SCHEMA_VERSION,
        tool="simtool",
        version=version("simtool"),
        modelled_engine=MODELLED_ENGINE,
        seed=seed,
        trace_sha256=loaded.recording.sha256,
        gamma=asked.platform.engine.num_speculative_tokens,
        recorded_w_S=schema_share(loaded.workload.labels),
        before=one,
        after=other,
        saved=net_interval(workload, after.asked.replay, before.asked.replay, seed, 1.0),
        saved_per_output_token=1 - other.usd_per_million_output_tokens / one.usd_per_million_output_tokens,
        notes=[
            "schema spans are stretched alike, all others kept: the move changes how many tokens are written",
            "prompts stay as recorded: that longer or shorter outputs come back in later prompts is left out",
        ],
        assumptions=loaded.recording.notes(),
    )


def with_share(workload: Workload, share: float, flag: str, seed: int) -> tuple[Workload, float]:
    """*workload* with its schema spans stretched until their share of all tokens is *share*, and the factor.

    Outputs that would be left empty keep one token, the one that ends the turn. Raises OptionError, naming *flag*.
    """
    if not 0 <= share < 1:
        raise OptionError(f"{flag} is {share:g}; it must be at least 0 and below 1")
    own = schema_share(workload.labels)
    if not 0 < own < 1:
        raise OptionError(
            f"{flag} {share:g}: all or none of the recorded output is schema (w_S {own:g}), so no stretching of its "
            "spans gives another share"
        )
    factor = share / (1 - share) * (1 - own) / own
    outputs = Outputs(workload.labels, workload.offsets, attempt_keys(workload, seed))
    moved = stretched(outputs, factor)
    empty = np.flatnonzero(np.diff(moved.offsets) == 0)
    labels = np.insert(moved.labels, moved.offsets[empty], np.uint8(SubClass.F))
    offsets = moved.offsets + np.concatenate([[0], np.cumsum(np.diff(moved.offsets) == 0)])
    return replace(workload, labels=labels, offsets=offsets), factor


def _side(asked: Question, loaded: Loaded, watch: Watch | None, workload: Workload, factor: float) -> _Moved:
    found = answer(asked, replace(loaded, workload=workload), watch)
    summary = found.answer.replay
    cost = summary.cost
    verdict = found.answer.verdict
    side = Side(
        w_S=schema_share(workload.labels),
        stretch=factor,
        output_tokens_per_turn=workload.labels.size / workload.n_turns,
        C_pre_s=cost.C_pre_s,
        C_dec_s=cost.C_dec_s,
        C_total_s=cost.C_total_s,
        usd_per_1000_sessions=cost.session_usd * 1e3,
        usd_per_million_output_tokens=cost.attributed_usd / max(1, summary.total_output_tokens) * 1e6,
        e2el_p50_s=_middle(found.replay.finish_s - found.replay.arrival_s),
        session_p50_s=_middle(found.replay.session_end_s - found.replay.session_start_s),
        speculation=None if verdict is None else verdict.net_saving,
    )
    return _Moved(found, side)


def _middle(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float | None:
    known = values[~np.isnan(values)]
    return float(np.median(known)) if known.size else None
