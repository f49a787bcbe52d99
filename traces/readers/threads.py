"""Calls with their whole prompts as sessions: by the session they are logged with, or by prompts that grow."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from traces.conversation import told_by_usage
from traces.lengths import unique
from traces.model import (
    Attempt,
    Block,
    Message,
    Prompt,
    Session,
    Times,
    TokenLogprob,
    ToolCallBlock,
    ToolSpec,
    ToolWait,
    Turn,
    Usage,
    Verdict,
)
from traces.pool import MessagePool
from traces.readlog import ReadLog

_OPEN_THREADS = 1024
"""Sessions found by growing prompts that are kept open; the longest untouched is closed first."""


@dataclass(frozen=True, slots=True)
class Call:
    """One model call. *prompt* replaces *messages* where only the length is known."""

    messages: Sequence[Message]
    output: tuple[Block, ...]
    usage: Usage | None = None
    times: Times | None = None
    model: str | None = None
    max_tokens: int | None = None
    finish_reason: str | None = None
    verdict: Verdict = Verdict.ACCEPTED
    tools: tuple[ToolSpec, ...] = ()
    prompt: Prompt | None = None
    logprobs: tuple[TokenLogprob, ...] = ()


@dataclass(slots=True)
class _Thread:
    name: str
    place: int
    pool: MessagePool = field(default_factory=MessagePool)
    turns: list[Turn] = field(default_factory=list)
    tools: tuple[ToolSpec, ...] = ()
    digest: int = 0


class Threads:
    """Sessions under construction. Calls come in the order of the log."""

    def __init__(self, log: ReadLog) -> None:
        self._log = log
        self._taken: set[str] = set()
        self._keyed: dict[str, _Thread] = {}
        self._open: OrderedDict[int, _Thread] = OrderedDict()
        self._places = 0

    def add(self, call: Call, key: str | None, fallback_id: str) -> Iterator[Session]:
        """Place *call*, in session *key* if it has one; yields sessions that nothing will be added to any more."""
        digests = _digests(call.messages)
        if key is not None:
            thread = self._keyed.get(key)
            if thread is None:
                thread = self._keyed[key] = self._new(key)
            self._extend(thread, call, digests[-1])
            return
        thread = self._continued(call, digests) or self._new(fallback_id)
        self._extend(thread, call, digests[-1])
        replaced = self._open.pop(thread.digest, None)
        if replaced is not None:
            yield _session(replaced)
        self._open[thread.digest] = thread
        if len(self._open) > _OPEN_THREADS:
            yield _session(self._open.popitem(last=False)[1])

    def close(self) -> Iterator[Session]:
        """Yield the sessions that are still open in the order of their first calls."""
        threads = sorted([*self._keyed.values(), *self._open.values()], key=lambda thread: thread.place)
        self._keyed, self._open = {}, OrderedDict()
        yield from (_session(thread) for thread in threads)

    def _new(self, name: str) -> _Thread:
        self._places += 1
        return _Thread(unique(name, self._taken), self._places)

    def _continued(self, call: Call, digests: list[int]) -> _Thread | None:
        """The open thread whose last prompt *call* repeats and then goes on from, or tries again."""
        last = self._open.get(digests[-1])
        if last is not None and call.messages and last.turns[-1].final.verdict is Verdict.REJECTED:
            return self._open.pop(digests[-1])
        for size in range(len(call.messages) - 1, 0, -1):
            if call.messages[size].role == "assistant" and digests[size] in self._open:
                return self._open.pop(digests[size])
        return None

    def _extend(self, thread: _Thread, call: Call, digest: int) -> None:
        output = told_by_usage(call.output, call.usage)
        attempt = Attempt(
            output=output,
            usage=call.usage,
            times=call.times,
            verdict=call.verdict,
            finish_reason=call.finish_reason,
            logprobs=call.logprobs,
        )
        self._note_tools(thread, call)
        previous = thread.turns[-1] if thread.turns else None
        if previous is not None and previous.final.verdict is Verdict.REJECTED and digest == thread.digest:
            attempts = (*previous.attempts, attempt)
            thread.turns[-1] = replace(previous, attempts=attempts, tool_waits=_waits(output, None))
            return
        if previous is not None:
            thread.turns[-1] = self._waiting(previous, call)
        thread.digest = digest
        thread.turns.append(
            Turn(
                id=f"t{len(thread.turns) + 1}",
                prompt=call.prompt or thread.pool.prompt(call.messages),
                attempts=(attempt,),
                parent=previous.id if previous is not None else None,
                tool_waits=_waits(output, None),
                model=call.model,
                max_tokens=call.max_tokens,
            )
        )

    def _note_tools(self, thread: _Thread, call: Call) -> None:
        if not thread.tools:
            thread.tools = call.tools
        elif call.tools and call.tools != thread.tools:
            self._log.assume("tools differ between the calls of a session: those of its first call count")

    def _waiting(self, turn: Turn, after: Call) -> Turn:
        """*turn* with the time until the call after it, which its tools took or else the caller."""
        ended, sent = turn.final.times, after.times
        if ended is None or sent is None or ended.end_s is None or sent.sent_s is None:
            return turn
        gap_s = sent.sent_s - ended.end_s
        if gap_s < 0:
            self._log.assume("call sent before the one it follows had ended: the wait counts as not recorded")
            return turn
        if turn.tool_waits:
            self._log.assume("time between a reply with calls and the next request counted as its tools' time")
            return replace(turn, tool_waits=_waits(turn.final.output, gap_s))
        return replace(turn, user_wait_s=gap_s)


def _waits(output: tuple[Block, ...], duration_s: float | None) -> tuple[ToolWait, ...]:
    calls = [block for block in output if isinstance(block, ToolCallBlock)]
    return tuple(ToolWait(name=call.name, duration_s=duration_s, call_id=call.call_id) for call in calls)


def _digests(messages: Sequence[Message]) -> list[int]:
    """A hash of each leading part of *messages*, the empty one first."""
    digests = [0]
    for message in messages:
        digests.append(hash((digests[-1], message)))
    return digests


def _session(thread: _Thread) -> Session:
    times = thread.turns[0].attempts[0].times
    return Session(
        id=thread.name,
        turns=tuple(thread.turns),
        messages=thread.pool.messages,
        tools=thread.tools,
        start_s=times.sent_s if times is not None else None,
    )
