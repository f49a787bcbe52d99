"""Figures of one run of a server, whatever source they were read from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Drafting(StrEnum):
    """What a run tells of the cost of drafting."""

    MODEL = "model"
    """A drafter whose passes cost time, or no speculation."""
    FREE = "free"
    """A drafter without passes, such as n-gram: only verification costs."""
    ALONE = "alone"
    """The draft model served by itself: a token is one of its passes."""


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
    tpot_error_s: float | None = None
    """Standard error of that mean, requests taken as independent."""
    num_requests: int | None = None
    """Requests behind the mean."""
    num_output_tokens: float | None = None
    """Tokens generated, first ones included."""
    drafting: Drafting = Drafting.MODEL
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
    def rounds_per_token(self) -> float:
        """Target passes per output token after the first: those that drafted, and the others where tokens are counted.

        Each pass emits one token and the drafts that it accepts.
        """
        if not self.num_drafts:
            return 1.0
        tokens = self._timed_tokens
        return 1 / self.acceptance_length if tokens is None else 1 - self.num_accepted_tokens / tokens

    @property
    def drafting_per_token(self) -> float:
        """Rounds that drafted, per output token after the first."""
        tokens = self._timed_tokens
        if not self.num_drafts or tokens is None:
            return self.rounds_per_token if self.num_drafts else 0.0
        return self.num_drafts / tokens

    @property
    def drafts_per_token(self) -> float:
        """Drafted tokens per output token after the first."""
        if not self.num_drafts:
            return 0.0
        return self.drafting_per_token * (self.num_draft_tokens or self.gamma * self.num_drafts) / self.num_drafts

    @property
    def _timed_tokens(self) -> float | None:
        """Tokens after each request's first; None where unknown or fewer than the rounds that drafted account for."""
        if self.num_output_tokens is None or self.num_requests is None:
            return None
        tokens = self.num_output_tokens - self.num_requests
        return tokens if tokens >= self.num_drafts + self.num_accepted_tokens else None

    @property
    def survival(self) -> tuple[float, ...]:
        """Share of drafting rounds that accept their draft number 1, 2, ..."""
        return tuple(count / self.num_drafts for count in self.accepted_per_pos)
