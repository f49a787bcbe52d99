"""What a trace holds, in numbers: counts, recorded tokens, coverage of usage and times, reuse, what is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from traces.model import (
    SOLVED,
    Attempt,
    OpaqueBlock,
    RawBlock,
    ReasoningBlock,
    Session,
    TextBlock,
    Times,
    ToolCallBlock,
    Turn,
    Usage,
    Verdict,
)
from traces.outputkinds import OutputKinds, OutputTally
from traces.prefixes import PrefixReuse
from traces.readlog import ReadLog

_COUNTS = ("input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens")
_TIMES = ("sent_s", "first_token_s", "end_s")

UNKNOWN_MODEL = "not recorded"
"""Stands for the model of turns whose recording names none."""


class _Numbers(msgspec.Struct, frozen=True, kw_only=True):
    """Base of the summary's records."""


class TokenCoverage(_Numbers, frozen=True):
    """Share of turns whose last attempt has the count; None without turns."""

    input_tokens: float | None
    cached_tokens: float | None
    cache_write_tokens: float | None
    output_tokens: float | None
    reasoning_tokens: float | None


class TokenTotals(_Numbers, frozen=True):
    """Sums of the recorded counts over all attempts, in the recording's own tokens."""

    input_tokens: int
    cached_tokens: int
    cache_write_tokens: int
    output_tokens: int
    reasoning_tokens: int


class TimeCoverage(_Numbers, frozen=True):
    """Share of turns (of tool waits, for the last) with the time; None where there are none of them."""

    sent_s: float | None
    first_token_s: float | None
    end_s: float | None
    tool_waits: float | None


class PromptGrowth(_Numbers, frozen=True):
    """Recorded prompt tokens of sessions with two or more turns that have them; None without such sessions."""

    sessions: int
    mean_first_tokens: float | None
    mean_last_tokens: float | None
    mean_added_tokens_per_turn: float | None


class PrefixShare(_Numbers, frozen=True):
    """Share of the prompts that repeats an earlier prefix of the trace; None where no prompt is of that kind."""

    of_characters: float | None
    """Of prompts recorded as messages, by characters."""
    of_tokens: float | None
    """Of prompts known by length, by tokens of whole blocks."""
    of_sessions: int
    """Sessions from the first on that the estimate rests on: all, or as many as fit into its memory."""


class TraceSummary(_Numbers, frozen=True):
    """Numbers of one trace. Shares are fractions of one; times are seconds."""

    formats: dict[str, int]
    """Files read as each format."""
    sessions: int
    sub_agents: int
    turns: int
    attempts: int
    rejected_attempts: int
    tasks_with_outcome: int
    """Sessions that the recording's own evaluation gave a reward."""
    tasks_solved: int
    """Those among them with the reward of 1."""
    tool_calls: int
    tool_calls_by_name: dict[str, int]
    turns_by_model: dict[str, int]
    turns_with_text: int
    turns_with_lengths_only: int
    turns_without_output: int
    hidden_reasoning_turns: int
    output: OutputKinds
    usage_coverage: TokenCoverage
    recorded_tokens: TokenTotals
    time_coverage: TimeCoverage
    first_s: float | None
    last_s: float | None
    span_s: float | None
    prompt_growth: PromptGrowth
    prefix_reuse: PrefixShare
    missing: dict[str, int]
    """What the trace does not record and a replay must assume, with the number of turns or waits."""
    omitted: dict[str, int]
    duplicates: dict[str, int]
    assumptions: dict[str, int]


def summarise(sessions: Iterable[Session], log: ReadLog) -> TraceSummary:
    """Summarise *sessions* in one pass, holding one of them at a time; *log* is what their reading noted."""
    tally = _Tally()
    for session in sessions:
        tally.add(session)
    return tally.summary(log)


@dataclass(slots=True)
class _Tally:
    counts: Counter[str] = field(default_factory=Counter)
    tools: Counter[str] = field(default_factory=Counter)
    models: Counter[str] = field(default_factory=Counter)
    with_count: Counter[str] = field(default_factory=Counter)
    totals: Counter[str] = field(default_factory=Counter)
    with_time: Counter[str] = field(default_factory=Counter)
    first_s: float | None = None
    last_s: float | None = None
    grown: int = 0
    first_tokens: int = 0
    last_tokens: int = 0
    added_turns: int = 0
    reuse: PrefixReuse = field(default_factory=PrefixReuse)
    kinds: OutputTally = field(default_factory=OutputTally)

    def add(self, session: Session) -> None:
        self.counts["sessions"] += 1
        self.counts["sub_agents"] += session.parent is not None
        self.counts["outcomes"] += session.reward is not None
        self.counts["solved"] += session.reward is not None and session.reward >= SOLVED
        self._span(session.start_s)
        for turn in session.turns:
            self._turn(turn)
        self._growth([turn.final.usage.input_tokens for turn in session.turns if turn.final.usage is not None])
        self.reuse.add(session)

    def _turn(self, turn: Turn) -> None:
        self.counts["turns"] += 1
        self.models[turn.model or UNKNOWN_MODEL] += 1
        for attempt in turn.attempts:
            self._attempt(attempt)
        final = turn.final
        self._output(final)
        self.kinds.add(final)
        self.counts["waits"] += len(turn.tool_waits)
        self.counts["timed_waits"] += sum(wait.duration_s is not None for wait in turn.tool_waits)
        usage, times = final.usage or Usage(), final.times or Times()
        for name in _COUNTS:
            self.with_count[name] += getattr(usage, name) is not None
        for name in _TIMES:
            self.with_time[name] += getattr(times, name) is not None

    def _attempt(self, attempt: Attempt) -> None:
        self.counts["attempts"] += 1
        self.counts["rejected"] += attempt.verdict is Verdict.REJECTED
        for name in _COUNTS if attempt.usage is not None else ():
            self.totals[name] += getattr(attempt.usage, name) or 0
        for block in attempt.output:
            if isinstance(block, ToolCallBlock):
                self.tools[block.name] += 1
        for name in _TIMES if attempt.times is not None else ():
            self._span(getattr(attempt.times, name))

    def _output(self, final: Attempt) -> None:
        spoken = any(
            isinstance(block, (TextBlock, ToolCallBlock, RawBlock))
            or (isinstance(block, ReasoningBlock) and block.text is not None)
            for block in final.output
        )
        hidden = any(isinstance(block, ReasoningBlock) and block.text is None for block in final.output)
        opaque = any(isinstance(block, OpaqueBlock) for block in final.output)
        self.counts["hidden"] += hidden
        self.counts["spoken" if spoken else "lengths" if opaque or hidden else "empty"] += 1

    def _span(self, at_s: float | None) -> None:
        if at_s is not None:
            self.first_s = at_s if self.first_s is None else min(self.first_s, at_s)
            self.last_s = at_s if self.last_s is None else max(self.last_s, at_s)

    def _growth(self, inputs: list[int | None]) -> None:
        known = [tokens for tokens in inputs if tokens is not None]
        if len(known) > 1:
            self.grown += 1
            self.first_tokens += known[0]
            self.last_tokens += known[-1]
            self.added_turns += len(known) - 1

    def summary(self, log: ReadLog) -> TraceSummary:
        counts, turns = self.counts, self.counts["turns"]
        span_s = self.last_s - self.first_s if self.last_s is not None and self.first_s is not None else None
        return TraceSummary(
            formats=dict(log.formats),
            sessions=counts["sessions"],
            sub_agents=counts["sub_agents"],
            turns=turns,
            attempts=counts["attempts"],
            rejected_attempts=counts["rejected"],
            tasks_with_outcome=counts["outcomes"],
            tasks_solved=counts["solved"],
            tool_calls=self.tools.total(),
            tool_calls_by_name=_ranked(self.tools),
            turns_by_model=_ranked(self.models),
            turns_with_text=counts["spoken"],
            turns_with_lengths_only=counts["lengths"],
            turns_without_output=counts["empty"],
            hidden_reasoning_turns=counts["hidden"],
            output=self.kinds.kinds(),
            usage_coverage=TokenCoverage(**{name: _share(self.with_count[name], turns) for name in _COUNTS}),
            recorded_tokens=TokenTotals(**{name: self.totals[name] for name in _COUNTS}),
            time_coverage=TimeCoverage(
                **{name: _share(self.with_time[name], turns) for name in _TIMES},
                tool_waits=_share(counts["timed_waits"], counts["waits"]),
            ),
            first_s=self.first_s,
            last_s=self.last_s,
            span_s=span_s,
            prompt_growth=PromptGrowth(
                sessions=self.grown,
                mean_first_tokens=_share(self.first_tokens, self.grown),
                mean_last_tokens=_share(self.last_tokens, self.grown),
                mean_added_tokens_per_turn=_share(self.last_tokens - self.first_tokens, self.added_turns),
            ),
            prefix_reuse=PrefixShare(
                of_characters=_share(self.reuse.reused_characters, self.reuse.characters),
                of_tokens=_share(self.reuse.reused_tokens, self.reuse.tokens),
                of_sessions=self.reuse.sessions,
            ),
            missing=self._missing(),
            omitted=dict(log.omitted),
            duplicates=dict(log.duplicates),
            assumptions=dict(log.assumptions),
        )

    def _missing(self) -> dict[str, int]:
        turns = self.counts["turns"]
        found = {
            "turns without recorded input tokens": turns - self.with_count["input_tokens"],
            "turns without recorded output tokens": turns - self.with_count["output_tokens"],
            "turns without a time of sending": turns - self.with_time["sent_s"],
            "turns without a time of the first token": turns - self.with_time["first_token_s"],
            "turns without a time of their end": turns - self.with_time["end_s"],
            "tool waits without a duration": self.counts["waits"] - self.counts["timed_waits"],
            "turns whose reasoning text is hidden": self.counts["hidden"],
        }
        return {what: count for what, count in found.items() if count}


def _share(part: float, whole: int) -> float | None:
    return part / whole if whole else None


def _ranked(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
