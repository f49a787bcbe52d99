"""Sessions from model calls that are recorded one by one, each with its whole prompt."""

from __future__ import annotations

import dataclasses
from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from traces.conversation import told_by_usage
from traces.model import (
    Attempt,
    Block,
    LengthPrompt,
    Message,
    MessagePrompt,
    OpaqueBlock,
    Prompt,
    ReasoningBlock,
    Session,
    SpawnLink,
    Times,
    ToolCallBlock,
    ToolResultBlock,
    ToolSpec,
    ToolWait,
    Turn,
    Usage,
)
from traces.plausible import plausible_times
from traces.pool import MessagePool
from traces.readlog import ReadLog


@dataclass(slots=True)
class ModelCall:
    """One call of a model. *prompt* None: the recording leaves its text out."""

    prompt: Sequence[Message] | None
    output: tuple[Block, ...] | None
    """None: the recording leaves the text out; its length comes from the usage."""
    usage: Usage | None = None
    times: Times = field(default_factory=Times)
    id: str | None = None
    model: str | None = None
    max_tokens: int | None = None
    finish_reason: str | None = None
    tools: tuple[ToolSpec, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolRun:
    """One run of a tool, by the recording's clock."""

    name: str
    start_s: float | None
    end_s: float | None
    call_id: str | None = None


def call_session(
    session_id: str,
    calls: Sequence[ModelCall],
    log: ReadLog,
    *,
    runs: Sequence[ToolRun] = (),
    parent: SpawnLink | None = None,
    agent: str | None = None,
) -> Session | None:
    """The session of *calls*, in order of their times where all have one; None when no call is usable.

    A call waits for the last one that had ended when it was sent; without times for the one before it.
    """
    checked = [dataclasses.replace(call, times=plausible_times(call.times, log) or Times()) for call in calls]
    ordered = _by_time(checked, log)
    pool = MessagePool()
    ended = _Ended()
    turns: list[Turn] = []
    kept: list[ModelCall] = []
    ids: set[str] = set()
    tools: dict[str, ToolSpec] = {}
    for call in ordered:
        before = ended.before(call.times.sent_s)
        if before is not None:
            call = _continued(call, kept[before], log)
        turn = _turn(call, pool, len(turns) + 1, ids, log)
        if turn is None:
            continue
        kept.append(call)
        turns.append(replace(turn, parent=turns[before].id if before is not None else None))
        ended.add(len(turns) - 1, _end(turn))
        for tool in call.tools:
            tools.setdefault(tool.name, tool)
    if not turns:
        return None
    children: dict[str, float] = {}
    for turn in turns:
        sent_s = _sent(turn)
        if turn.parent is not None and sent_s is not None:
            children[turn.parent] = min(sent_s, children.get(turn.parent, sent_s))
    starts = [start for turn in turns if (start := _sent(turn)) is not None]
    return Session(
        id=session_id,
        turns=tuple(_with_waits(turn, children.get(turn.id), runs, log) for turn in turns),
        messages=pool.messages,
        tools=tuple(tools.values()),
        parent=parent,
        agent=agent,
        start_s=min(starts, default=None),
    )


def _continued(call: ModelCall, before: ModelCall, log: ReadLog) -> ModelCall:
    """*call* with the history that its recorded prompt leaves out.

    A prompt that starts with the result of a call that *before* made goes on from there.
    """
    first = call.prompt[0].blocks if call.prompt else ()
    asked = {block.call_id for block in before.output or () if isinstance(block, ToolCallBlock)}
    results = [block.call_id for block in first if isinstance(block, ToolResultBlock)]
    if not results or results[0] not in asked or before.prompt is None:
        return call
    log.assume("prompt that starts with a tool's result: taken to continue the call before it")
    said = Message(role="assistant", blocks=before.output or ())
    return dataclasses.replace(call, prompt=[*before.prompt, said, *(call.prompt or ())])


def _by_time(calls: Sequence[ModelCall], log: ReadLog) -> list[ModelCall]:
    times = [call.times.sent_s for call in calls]
    known = [time for time in times if time is not None]
    if len(known) < len(times):
        return list(calls)
    if known != sorted(known):
        log.assume("model calls out of time order: sorted by time")
    return sorted(calls, key=lambda call: call.times.sent_s or 0.0)


def _turn(call: ModelCall, pool: MessagePool, number: int, ids: set[str], log: ReadLog) -> Turn | None:
    prompt = _prompt(call, pool)
    output = _output(call)
    if prompt is None or output is None:
        log.omit("model call of unknown prompt length" if prompt is None else "model call of unknown output length")
        return None
    usage = call.usage
    if usage is not None and output and not usage.input_tokens and not usage.output_tokens:
        if usage.output_tokens is not None:
            log.assume("usage of zero tokens for a call with output: counts as not recorded")
        usage = None
    wanted = call.id or f"t{number}"
    name = wanted if wanted not in ids else f"{wanted}#{number}"
    ids.add(name)
    attempt = Attempt(
        output=told_by_usage(output, usage),
        usage=usage,
        times=call.times if call.times != Times() else None,
        finish_reason=call.finish_reason,
    )
    return Turn(id=name, prompt=prompt, attempts=(attempt,), model=call.model, max_tokens=call.max_tokens)


def _prompt(call: ModelCall, pool: MessagePool) -> Prompt | None:
    if call.prompt:
        return pool.prompt(call.prompt)
    tokens = call.usage.input_tokens if call.usage is not None else None
    if tokens:
        return LengthPrompt(tokens=tokens)
    return MessagePrompt(ranges=()) if call.output else None


def _output(call: ModelCall) -> tuple[Block, ...] | None:
    if call.output is not None:
        return call.output
    usage = call.usage or Usage()
    if usage.output_tokens is None:
        return None
    hidden = min(usage.reasoning_tokens or 0, usage.output_tokens)
    reasoning = (ReasoningBlock(tokens=hidden),) if hidden else ()
    rest = usage.output_tokens - hidden
    return (*reasoning, *((OpaqueBlock(tokens=rest),) if rest else ()))


class _Ended:
    """The calls so far by their ends."""

    def __init__(self) -> None:
        self._ends: list[tuple[float, int]] = []
        self._unknown: int | None = None
        self._last: int | None = None

    def add(self, index: int, end_s: float | None) -> None:
        self._last = index
        if end_s is None:
            self._unknown = index
        else:
            insort(self._ends, (end_s, index))

    def before(self, sent_s: float | None) -> int | None:
        """Index of the call that one sent at *sent_s* waits for; None: for none of them."""
        if sent_s is None:
            return self._last
        place = bisect_right(self._ends, (sent_s, len(self._ends) + (self._last or 0)))
        if place:
            return self._ends[place - 1][1]
        return self._unknown


def _sent(turn: Turn) -> float | None:
    times = turn.final.times
    return times.sent_s if times is not None else None


def _end(turn: Turn) -> float | None:
    times = turn.final.times
    return times.end_s if times is not None else None


def _with_waits(turn: Turn, next_s: float | None, runs: Sequence[ToolRun], log: ReadLog) -> Turn:
    """*turn* with the tools and the gap between it and the first call that waits for it, sent at *next_s*."""
    end_s = _end(turn)
    gap_s = max(0.0, next_s - end_s) if end_s is not None and next_s is not None else None
    called = [block for block in turn.final.output if isinstance(block, ToolCallBlock)]
    ran = _runs_after(turn, gap_s, runs)
    if not called and not ran:
        return replace(turn, user_wait_s=gap_s)
    waits: list[ToolWait] = []
    for block in called:
        run = _taken(ran, block)
        duration_s = _span(end_s, run.end_s, log) if run is not None else gap_s if not runs else None
        waits.append(ToolWait(name=block.name, duration_s=duration_s, call_id=block.call_id))
    if not called:
        waits += [ToolWait(name=run.name, duration_s=_span(end_s, run.end_s, log)) for run in ran]
    return replace(turn, tool_waits=tuple(waits))


def _runs_after(turn: Turn, gap_s: float | None, runs: Sequence[ToolRun]) -> list[ToolRun]:
    end_s = _end(turn)
    if end_s is None:
        return list(runs)
    last = end_s + gap_s if gap_s is not None else None
    return [run for run in runs if run.end_s is None or (run.end_s >= end_s and (last is None or run.end_s <= last))]


def _taken(runs: list[ToolRun], block: ToolCallBlock) -> ToolRun | None:
    """The run of *block*'s call, removed from *runs*: by call id, else by name."""
    same = next((run for run in runs if run.call_id is not None and run.call_id == block.call_id), None)
    match = same or next((run for run in runs if run.name == block.name and run.call_id is None), None)
    if match is not None:
        runs.remove(match)
    return match


def _span(start_s: float | None, end_s: float | None, log: ReadLog) -> float | None:
    if start_s is None or end_s is None:
        return None
    if end_s < start_s:
        log.assume("tool result dated before its call: the wait counts as not recorded")
        return None
    return end_s - start_s
