"""Figures of one run of a server, whatever source they were read from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RequestCounts:
    """Rounds of one request, its accepted drafts, and rounds that accepted draft number 1, 2, ..."""

    num_drafts: float
    num_accepted_tokens: float
    accepted_per_pos: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRun:
    """Counts and times of a run; None where the source does not say."""

    source: str
    num_drafts: float = 0.0
    """Rounds that drafted."""
    num_draft_tokens: float = 0.0
    num_accepted_tokens: float = 0.0
    accepted_per_pos: tuple[float, ...] = ()
    """Rounds that accepted their draft number 1, 2, ..."""
    tpot_s: float | None = None
    """Mean time per output token after the first, over requests."""
    prefix_queries_tokens: float | None = None
    prefix_hits_tokens: float | None = None
    requests: tuple[RequestCounts, ...] = ()
    """The same by request, where the source has it."""

    @property
    def gamma(self) -> int:
        """Draft depth: positions reported; 0 without speculation."""
        return len(self.accepted_per_pos) if self.num_drafts else 0

    @property
    def acceptance_length(self) -> float:
        """Tokens a drafting round emits, 1 without speculation."""
        return 1 + self.num_accepted_tokens / self.num_drafts if self.num_drafts else 1.0

    @property
    def survival(self) -> tuple[float, ...]:
        """Share of drafting rounds that accept their draft number 1, 2, ..."""
        return tuple(count / self.num_drafts for count in self.accepted_per_pos)


def pooled(runs: Sequence[ServerRun]) -> ServerRun:
    """The counts of *runs* of one draft depth added up. Raises ValueError for none, or for depths that differ."""
    speculating = [run for run in runs if run.num_drafts]
    if len({run.gamma for run in speculating}) != 1:
        raise ValueError("pooling acceptance needs runs of one draft depth: give them one at a time")
    return ServerRun(
        source=", ".join(run.source for run in speculating),
        num_drafts=sum(run.num_drafts for run in speculating),
        num_draft_tokens=sum(run.num_draft_tokens for run in speculating),
        num_accepted_tokens=sum(run.num_accepted_tokens for run in speculating),
        accepted_per_pos=tuple(sum(each) for each in zip(*(run.accepted_per_pos for run in speculating), strict=True)),
    )
