"""Builds a session from a log of messages, replies and tool results in the order they happened."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from traces.model import (
    Attempt,
    Block,
    HiddenHead,
    Message,
    OpaqueBlock,
    Prompt,
    RawBlock,
    ReasoningBlock,
    Session,
    SpawnLink,
    TextBlock,
    Times,
    ToolCallBlock,
    ToolResultBlock,
    ToolSpec,
    ToolWait,
    Turn,
    Usage,
)
from traces.plausible import plausible_times, plausible_usage
from traces.pool import MessagePool
from traces.readlog import ReadLog


@dataclass(slots=True)
class _Call:
    name: str
    call_id: str | None
    started_s: float | None
    duration_s: float | None = None
    done: bool = False


@dataclass(slots=True)
class _Draft:
    turn: Turn
    end_s: float | None
    calls: list[_Call] = field(default_factory=list)
    user_wait_s: float | None = None


class Conversation:
    """A session under construction: what was said so far is the prompt of the next reply."""

    def __init__(self, session_id: str, log: ReadLog) -> None:
        self.id = session_id
        self.history: list[Message] = []
        self._log = log
        self._pool = MessagePool()
        self._drafts: list[_Draft] = []
        self._ids: set[str] = set()
        self._start_s: float | None = None
        self.reward: float | None = None
        """What the recording's own evaluation gave it."""

    @property
    def turns(self) -> int:
        """Replies so far."""
        return len(self._drafts)

    @property
    def last_id(self) -> str | None:
        """Id of the last reply's turn."""
        return self._drafts[-1].turn.id if self._drafts else None

    def seen_at(self, at_s: float | None) -> None:
        """Note a time of the recording; the earliest before the first reply is the session's start."""
        if at_s is not None and not self._drafts and (self._start_s is None or at_s < self._start_s):
            self._start_s = at_s

    def say(self, role: str, blocks: Iterable[Block], at_s: float | None = None) -> None:
        """Add a prompt message, if it has blocks; the wait for a user ends with the last one before a reply."""
        content = tuple(blocks)
        if not content:
            return
        self.seen_at(at_s)
        self.history.append(Message(role=role, blocks=content))
        if role == "user" and self._drafts:
            draft = self._drafts[-1]
            if not draft.calls:
                draft.user_wait_s = self._span(draft.end_s, at_s, "user message")

    def call_started(self, call_id: str | None, at_s: float | None) -> None:
        """Note when a tool run of an earlier reply began, where that differs from the reply's end."""
        call = self._open_call(call_id, None)
        if call is not None and at_s is not None:
            call.started_s = at_s

    def result(
        self,
        text: str,
        call_id: str | None = None,
        *,
        name: str | None = None,
        is_error: bool = False,
        at_s: float | None = None,
        duration_s: float | None = None,
        media: Iterable[Block] = (),
    ) -> None:
        """Add a tool's result; its wait is *duration_s*, or *at_s* less the time of its call."""
        block = ToolResultBlock(text=text, call_id=call_id, is_error=is_error)
        self.history.append(Message(role="tool", blocks=(block, *media), name=name))
        self.finish_call(call_id, name=name, at_s=at_s, duration_s=duration_s)

    def finish_call(
        self,
        call_id: str | None,
        *,
        name: str | None = None,
        at_s: float | None = None,
        duration_s: float | None = None,
    ) -> None:
        """Close the wait of a tool run without adding a message."""
        call = self._open_call(call_id, name)
        if call is None:
            return
        call.done = True
        if duration_s is not None and duration_s >= 0:
            call.duration_s = duration_s
        else:
            call.duration_s = self._span(call.started_s, at_s, "tool result")

    def waits(self, name: str, duration_s: float | None) -> None:
        """Make the last reply wait for a tool run that no tool call block names (text-form actions)."""
        if self._drafts:
            known_s = duration_s if duration_s is not None and duration_s >= 0 else None
            self._drafts[-1].calls.append(_Call(name, None, None, known_s, done=True))

    def reply(
        self,
        output: Sequence[Block],
        *,
        turn_id: str | None = None,
        usage: Usage | None = None,
        times: Times | None = None,
        model: str | None = None,
        max_tokens: int | None = None,
        finish_reason: str | None = None,
        earlier: Sequence[Attempt] = (),
        prompt: Prompt | None = None,
        remember: bool = True,
        without_reasoning: bool = False,
    ) -> None:
        """Add a model call with *output*; *earlier* are its rejected attempts.

        *prompt* overrides the prompt made of the history; with *remember* the output joins the history,
        less its reasoning with *without_reasoning* (agents that do not send reasoning again).
        """
        usage = plausible_usage(usage, tuple(output), self._log)
        blocks = told_by_usage(tuple(output), usage)
        times = plausible_times(times, self._log)
        attempt = Attempt(output=blocks, usage=usage, times=times, finish_reason=finish_reason)
        turn = Turn(
            id=self._unique(turn_id),
            prompt=prompt or self._pool.prompt(self.history),
            attempts=(*earlier, attempt),
            parent=self.last_id,
            model=model,
            max_tokens=max_tokens,
        )
        if times is not None:
            self.seen_at(times.sent_s if times.sent_s is not None else times.end_s)
        end_s = times.end_s if times is not None else None
        calls = [_Call(b.name, b.call_id, end_s) for b in blocks if isinstance(b, ToolCallBlock)]
        self._drafts.append(_Draft(turn, end_s, calls))
        kept = tuple(b for b in blocks if not (without_reasoning and isinstance(b, ReasoningBlock)))
        if remember and kept:
            self.history.append(Message(role="assistant", blocks=kept))

    def amend_usage(self, usage: Usage) -> None:
        """Give the last reply the usage that was recorded after it."""
        if not self._drafts:
            return
        draft = self._drafts[-1]
        final = draft.turn.final
        checked = plausible_usage(usage, final.output, self._log)
        attempt = replace(final, output=told_by_usage(final.output, checked), usage=checked)
        draft.turn = replace(draft.turn, attempts=(*draft.turn.attempts[:-1], attempt))

    def prompt_of(self, messages: Iterable[Message]) -> Prompt:
        """A prompt of *messages* in this session, for a reply whose prompt is recorded by itself."""
        return self._pool.prompt(messages)

    def session(
        self,
        *,
        tools: Sequence[ToolSpec] = (),
        head: HiddenHead | None = None,
        parent: SpawnLink | None = None,
        agent: str | None = None,
    ) -> Session | None:
        """The finished session; None without a reply."""
        if not self._drafts:
            return None
        return Session(
            id=self.id,
            turns=tuple(_finished(draft) for draft in self._drafts),
            messages=self._pool.messages,
            tools=tuple(tools),
            head=head,
            parent=parent,
            agent=agent,
            start_s=self._start_s,
            reward=self.reward,
        )

    def _open_call(self, call_id: str | None, name: str | None) -> _Call | None:
        for draft in reversed(self._drafts):
            calls = [call for call in draft.calls if not call.done]
            if call_id is not None:
                match = next((call for call in calls if call.call_id == call_id), None)
            else:
                match = next((call for call in calls if name is None or call.name == name), None)
            if match is not None:
                return match
        return None

    def _unique(self, turn_id: str | None) -> str:
        wanted = turn_id or f"t{len(self._drafts) + 1}"
        name, number = wanted, 2
        while name in self._ids:
            name, number = f"{wanted}#{number}", number + 1
        self._ids.add(name)
        return name

    def _span(self, start_s: float | None, end_s: float | None, what: str) -> float | None:
        if start_s is None or end_s is None:
            return None
        if end_s < start_s:
            self._log.assume(f"{what} dated before its cause: the wait counts as not recorded")
            return None
        return end_s - start_s


def told_by_usage(output: tuple[Block, ...], usage: Usage | None) -> tuple[Block, ...]:
    """*output* with the reasoning that only the usage tells of, or with the count of its one hidden block."""
    tokens = usage.reasoning_tokens if usage is not None else None
    if not tokens:
        return output
    if any(isinstance(block, (RawBlock, OpaqueBlock)) for block in output):
        return output
    places = [index for index, block in enumerate(output) if isinstance(block, ReasoningBlock)]
    if not places:
        return (ReasoningBlock(tokens=tokens), *output)
    first = output[places[0]]
    if len(places) == 1 and first == ReasoningBlock():
        return tuple(ReasoningBlock(tokens=tokens) if block is first else block for block in output)
    return output


def text_blocks(*texts: str | None) -> tuple[TextBlock, ...]:
    """A text block of each non-empty text."""
    return tuple(TextBlock(text=text) for text in texts if text)


def _finished(draft: _Draft) -> Turn:
    waits = tuple(ToolWait(name=call.name, duration_s=call.duration_s, call_id=call.call_id) for call in draft.calls)
    return replace(draft.turn, tool_waits=waits, user_wait_s=draft.user_wait_s)
