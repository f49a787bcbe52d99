"""Makes traces/agent_loop.jsonl from the stories in traces/samples/agent_loop.

Run from the repository root: python -m benchmarks.make_agent_loop [target]
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec.structs import replace

from benchmarks.recorded_engine import RecordedEngine
from traces.model import (
    Attempt,
    Block,
    Message,
    ReasoningBlock,
    Session,
    SpawnLink,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    ToolSpec,
    ToolWait,
    Turn,
    Verdict,
)
from traces.pool import MessagePool
from traces.readlog import ReadLog
from traces.store import write_trace

ROOT = Path(__file__).resolve().parents[1]
STORIES = ROOT / "traces" / "samples" / "agent_loop"
TARGET = ROOT / "traces" / "agent_loop.jsonl"
MODEL = "Qwen/Qwen3-32B"
MAX_TOKENS = 8192
OVERHEAD_S = 0.015
"""Seconds the loop itself needs between a tool's result and the next call of the model."""


class _Data(msgspec.Struct, forbid_unknown_fields=True):
    """Base of what a story file holds."""


class CallStory(_Data, kw_only=True):
    """A tool call and what came of it."""

    tool: str
    args: dict[str, object] = {}
    arguments_text: str | None = None
    """The arguments as text, where they are no JSON."""
    wait_s: float = 0.0
    result: str = ""
    error: bool = False
    spawn: str | None = None
    """Id of the session whose last words are the result."""


class DrawStory(_Data, kw_only=True):
    """One draw of the model."""

    think: str = ""
    say: str = ""
    call: list[CallStory] = []


class RejectedStory(DrawStory, kw_only=True):
    """A draw that the loop's check refused."""

    verify_s: float


class TurnStory(DrawStory, kw_only=True):
    """A turn: the draw that counts, and the refused ones before it."""

    rejected: list[RejectedStory] = []


class Story(_Data, kw_only=True):
    """A session as written down; a delegated one has a parent in place of a start and a task."""

    id: str
    agent: str
    turn: list[TurnStory]
    start: datetime | None = None
    task: str = ""
    parent: str | None = None


class Recorder:
    """Turns stories into sessions on one clock."""

    def __init__(self, folder: Path) -> None:
        files = sorted(folder.glob("*.toml"))
        self._stories = {s.id: s for s in (msgspec.toml.decode(f.read_bytes(), type=Story) for f in files)}
        self._tools = msgspec.json.decode((folder / "tools.json").read_bytes(), type=tuple[ToolSpec, ...])
        self._system = (folder / "system.md").read_text(encoding="utf-8").strip()
        self._engine = RecordedEngine()

    def sessions(self) -> Iterator[Session]:
        """All sessions in the order they were started."""
        recorded: list[Session] = []
        for story in self._stories.values():
            if story.start is not None:
                recorded += self._session(story, story.task, story.start.timestamp(), None)
        yield from sorted(recorded, key=lambda session: session.start_s or 0.0)

    def _session(self, story: Story, task: str, start_s: float, parent: SpawnLink | None) -> list[Session]:
        """The story's session, then those it spawned."""
        pool = MessagePool()
        history = [_message("system", self._system), _message("user", task)]
        turns: list[Turn] = []
        spawned: list[Session] = []
        sent_s = start_s
        for number, told in enumerate(story.turn, start=1):
            turn = Turn(
                id=f"t{number:02d}",
                prompt=pool.prompt(history),
                attempts=self._attempts(story.id, f"t{number:02d}", told, history, sent_s),
                parent=turns[-1].id if turns else None,
                model=MODEL,
                max_tokens=MAX_TOKENS,
            )
            history.append(Message(role="assistant", blocks=turn.final.output))
            waits = []
            for call, block in zip(told.call, _calls(turn.final), strict=True):
                if call.spawn is not None:
                    spawned += self._delegated(call, SpawnLink(session_id=story.id, turn_id=turn.id), turn)
                    call = _answered(call, spawned[-1], turn)
                waits.append(ToolWait(name=block.name, duration_s=call.wait_s, call_id=block.call_id))
                history.append(_result(block, call))
            turns.append(replace(turn, tool_waits=tuple(waits)))
            sent_s = _end_s(turn.final) + max((call.duration_s or 0.0 for call in waits), default=0.0) + OVERHEAD_S
        session = Session(
            id=story.id,
            turns=tuple(turns),
            messages=pool.messages,
            tools=self._tools,
            parent=parent,
            agent=story.agent,
            start_s=round(start_s, 3),
        )
        return [session, *spawned]

    def _delegated(self, call: CallStory, parent: SpawnLink, turn: Turn) -> list[Session]:
        child = self._stories[call.spawn or ""]
        context = call.args["context"]
        lines = context if isinstance(context, list) else [context]
        task = "\n".join([str(call.args["goal"]), "", "Context:", *(f"- {line}" for line in lines)])
        return self._session(child, task, _end_s(turn.final) + OVERHEAD_S, parent)

    def _attempts(
        self, session: str, turn_id: str, told: TurnStory, history: list[Message], sent_s: float
    ) -> tuple[Attempt, ...]:
        attempts: list[Attempt] = []
        for index, draw in enumerate([*told.rejected, told]):
            output = _output(draw, f"{session}/{turn_id}/{index}")
            usage, times = self._engine.draw((session, turn_id, index), history, self._tools, output, sent_s)
            attempts.append(
                Attempt(
                    output=output,
                    usage=usage,
                    times=times,
                    verdict=Verdict.REJECTED if isinstance(draw, RejectedStory) else Verdict.ACCEPTED,
                    finish_reason="tool_calls" if draw.call else "stop",
                )
            )
            if isinstance(draw, RejectedStory):
                sent_s = _end_s(attempts[-1]) + draw.verify_s + OVERHEAD_S
            else:
                self._engine.keep(session, usage)
        return tuple(attempts)


def _message(role: str, text: str) -> Message:
    return Message(role=role, blocks=(TextBlock(text=text.strip("\n")),))


def _result(block: ToolCallBlock, call: CallStory) -> Message:
    result = ToolResultBlock(text=call.result.strip("\n"), call_id=block.call_id, is_error=call.error)
    return Message(role="tool", blocks=(result,), name=block.name)


def _output(draw: DrawStory, key: str) -> tuple[Block, ...]:
    blocks: list[Block] = []
    if draw.think:
        blocks.append(ReasoningBlock(text=draw.think.strip("\n")))
    if draw.say:
        blocks.append(TextBlock(text=draw.say.strip("\n")))
    for index, call in enumerate(draw.call):
        arguments = call.arguments_text or json.dumps(call.args, ensure_ascii=False)
        digest = hashlib.sha256(f"{key}/{index}".encode()).hexdigest()
        blocks.append(ToolCallBlock(name=call.tool, arguments=arguments, call_id=f"call_{digest[:12]}"))
    return tuple(blocks)


def _calls(attempt: Attempt) -> list[ToolCallBlock]:
    return [block for block in attempt.output if isinstance(block, ToolCallBlock)]


def _answered(call: CallStory, child: Session, turn: Turn) -> CallStory:
    """*call* with the child's last words as its result and the child's run as its wait."""
    last = child.turns[-1].final
    words = "\n".join(block.text for block in last.output if isinstance(block, TextBlock))
    return replace(call, result=words, wait_s=round(_end_s(last) - _end_s(turn.final) + OVERHEAD_S, 3))


def _end_s(attempt: Attempt) -> float:
    if attempt.times is None or attempt.times.end_s is None:
        raise ValueError("a recorded attempt has an end")
    return attempt.times.end_s


def make(target: Path = TARGET) -> int:
    """Write the sample to *target*; returns the number of sessions."""
    return write_trace(Recorder(STORIES).sessions(), target, ReadLog())


if __name__ == "__main__":
    destination = Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET
    print(f"{make(destination)} sessions in {destination}")
