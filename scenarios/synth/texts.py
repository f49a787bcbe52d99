"""Plans to sessions with text, which the tagger labels as it does recordings."""

from __future__ import annotations

import json
from collections.abc import Iterator

from scenarios.synth.empirical import Source
from scenarios.synth.model import CALL, OPAQUE, Head, SynthModel
from scenarios.synth.plan import PlannedBlock, PlannedSession, PlannedTurn
from scenarios.synth.values import call
from scenarios.synth.words import Vocabulary
from traces.model import (
    Attempt,
    Block,
    HiddenHead,
    Message,
    OpaqueBlock,
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


class TextWriter:
    """Writes sessions of *model*; text depends on the seed and on its place alone."""

    def __init__(self, model: SynthModel, vocabulary: Vocabulary, seed: int) -> None:
        self._vocabulary = vocabulary
        self._seed = seed
        self._tools = {tool.name: tool for tool in model.tools}
        self.specs = {name: self._spec(name) for name in self._tools}
        """The tools as sessions offer them."""

    def sessions(self, plans: Iterator[PlannedSession]) -> Iterator[Session]:
        """The sessions of *plans*, one at a time."""
        for plan in plans:
            yield self._session(plan)

    def _session(self, plan: PlannedSession) -> Session:
        source = Source(self._seed, "synth", plan.id, "text")
        calling = self._calling(plan)
        pool = MessagePool()
        head = self._head(plan.head, plan.head_number, sub=plan.parent is not None)
        history = [*head, self._user(source, plan.first_user_tokens)]
        turns = []
        for number, planned in enumerate(plan.turns):
            if planned.reset_tokens is not None:
                history = [*head, self._user(source, planned.reset_tokens)]
            prompt = pool.prompt(history)
            attempts = tuple(
                self._attempt(planned, at, f"{plan.id}/{number}", source, calling)
                for at in range(len(planned.attempts))
            )
            calls = [block for block in attempts[-1].output if isinstance(block, ToolCallBlock)]
            history += [Message(role="assistant", blocks=attempts[-1].output), *self._answers(planned, calls, source)]
            turns.append(
                Turn(
                    id=str(number),
                    prompt=prompt,
                    attempts=attempts,
                    parent=str(number - 1) if number else None,
                    tool_waits=waits(planned, calls),
                    user_wait_s=planned.user_wait_s,
                )
            )
        return Session(
            id=plan.id,
            turns=tuple(turns),
            messages=pool.messages,
            tools=tuple(self.specs[name] for name in plan.head.tools),
            head=HiddenHead(key=f"head{plan.head_number}", tokens=plan.head.tokens) if plan.head.hidden else None,
            parent=spawn_link(plan),
            start_s=plan.start_s,
        )

    def calls(self, plan: PlannedSession) -> Iterator[list[list[ToolCallBlock]]]:
        """The calls of each attempt, turn by turn, as the session of *plan* has them."""
        calling = self._calling(plan)
        for turn in plan.turns:
            yield [[self._call(one, calling, "") for one in blocks if one.is_call] for blocks in turn.attempts]

    def _calling(self, plan: PlannedSession) -> Source:
        """What calls are drawn from, alone: the length of what is said around them does not change them."""
        return Source(self._seed, "synth", plan.id, "calls")

    def _attempt(self, planned: PlannedTurn, number: int, place: str, source: Source, calling: Source) -> Attempt:
        blocks: list[Block] = []
        for at, block in enumerate(planned.attempts[number]):
            name = f"{place}/{number}/{at}"
            blocks.append(self._call(block, calling, name) if block.is_call else self._block(block, source, name))
        last = number + 1 == len(planned.attempts)
        return Attempt(output=tuple(blocks), verdict=Verdict.ACCEPTED if last else Verdict.REJECTED)

    def _call(self, block: PlannedBlock, source: Source, call_id: str) -> ToolCallBlock:
        return call(self._tools[block.code.removeprefix(CALL)], self._vocabulary, source, call_id)

    def _block(self, block: PlannedBlock, source: Source, call_id: str) -> Block:
        if block.code.startswith(OPAQUE):
            return OpaqueBlock(tokens=block.tokens, label=block.code.removeprefix(OPAQUE) or None, key=call_id)
        text = self._vocabulary.prose(source, block.tokens)
        return ReasoningBlock(text=text) if block.code == "R" else TextBlock(text=text)

    def _answers(self, planned: PlannedTurn, calls: list[ToolCallBlock], source: Source) -> list[Message]:
        if not planned.calls:
            return [self._user(source, planned.user_tokens)]
        return [
            Message(
                role="tool",
                blocks=(ToolResultBlock(text=self._vocabulary.prose(source, tokens), call_id=call_id),),
                name=name,
            )
            for (name, call_id), tokens in zip(_runs(planned, calls), planned.result_tokens, strict=True)
        ]

    def _user(self, source: Source, tokens: int) -> Message:
        return Message(role="user", blocks=(TextBlock(text=self._vocabulary.prose(source, tokens)),))

    def _head(self, head: Head, number: int, *, sub: bool) -> list[Message]:
        if head.hidden or not head.tokens:
            return []
        source = Source(self._seed, "synth", "head", number, str(sub))
        return [Message(role="system", blocks=(TextBlock(text=self._vocabulary.prose(source, head.tokens)),))]

    def _spec(self, name: str) -> ToolSpec:
        tool = self._tools[name]
        source = Source(0, "synth", "tool", name)
        text = self._vocabulary.prose(source, tool.description_tokens)
        return ToolSpec(name=name, description=text, parameters=json.loads(json.dumps(tool.schema)))


def waits(planned: PlannedTurn, calls: list[ToolCallBlock]) -> tuple[ToolWait, ...]:
    """The tools that run after a turn."""
    return tuple(
        ToolWait(name=name, duration_s=wait_s, call_id=call_id)
        for (name, call_id), wait_s in zip(_runs(planned, calls), planned.waits_s, strict=True)
    )


def _runs(planned: PlannedTurn, calls: list[ToolCallBlock]) -> list[tuple[str, str | None]]:
    """Name and call of each tool that runs after a turn; without calls in the output, the planned names."""
    return [(one.name, one.call_id) for one in calls] or [(name, None) for name in planned.calls]


def spawn_link(plan: PlannedSession) -> SpawnLink | None:
    """Where the session was started from."""
    return None if plan.parent is None else SpawnLink(session_id=plan.parent[0], turn_id=str(plan.parent[1]))
