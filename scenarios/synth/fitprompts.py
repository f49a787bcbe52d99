"""Fits prompts: shared heads, what users and tools add, and where history was changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from scenarios.synth.fittools import ToolFits
from tokenclass.tokenizers import Tokenizer
from traces.model import LengthPrompt, Message, RawBlock, Session, TextBlock, ToolResultBlock, Turn


class HeadKey(NamedTuple):
    """What sessions with one prompt head have in common."""

    identity: str
    tokens: int
    tools: tuple[str, ...]
    hidden: bool
    style: str


class PromptFit:
    """Gathers the lengths that prompts are made of."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self.heads: dict[bool, Counter[HeadKey]] = {False: Counter(), True: Counter()}
        self.first_user: dict[bool, list[int]] = {False: [], True: []}
        self.second_user: list[int] = []
        """What users add after the first turn, and later."""
        self.later_user: list[int] = []
        self.resets: list[int] = []
        self._head_tokens: dict[str, int] = {}
        self.continued = 0
        """Turns that a reset could have been at: all but the first of each session."""

    def add(self, session: Session, tools: ToolFits, style: str) -> None:
        """Count the prompts of *session*, whose turns are of *style*; *tools* gets the lengths of results."""
        sub = session.parent is not None
        if isinstance(session.turns[0].prompt, LengthPrompt):
            self._add_lengths(session, tools, style, sub=sub)
            return
        lengths = [self._length(message) for message in session.messages]
        first = _places(session.turns[0])
        system = [at for at in first if session.messages[at].role in ("system", "developer")]
        self.heads[sub][self._head(session, system, lengths, style)] += 1
        self.first_user[sub].append(sum(lengths[at] for at in first if at not in system))
        before: Sequence[int] = first
        seen = set(first)
        said = self.second_user
        for previous, turn in pairwise(session.turns):
            places = _places(turn)
            self.continued += 1
            if tuple(places[: len(before)]) != tuple(before):
                self.resets.append(sum(lengths[at] for at in places if at not in system))
            runs = tools.runs_of.get((session.id, previous.id), ())
            self._added(session, [at for at in places if at not in seen], lengths, tools, runs, said)
            said = self.later_user
            seen.update(places)
            before = places

    def _added(
        self,
        session: Session,
        places: Sequence[int],
        lengths: Sequence[int],
        tools: ToolFits,
        runs: Sequence[str],
        said: list[int],
    ) -> None:
        """Count what a turn's prompt adds, to *said* if by a user; what follows *runs* is results, whoever's it is."""
        spoken = 0
        left = list(runs)
        for at in places:
            message = session.messages[at]
            results = [block for block in message.blocks if isinstance(block, ToolResultBlock)]
            for block in results:
                known = tools.tool_of_call.get((session.id, block.call_id or ""))
                name = known or (left.pop(0) if left else "")
                tools.add_result(name, len(self._tokenizer.encode(block.text)))
            if message.role != "assistant" and not results:
                spoken += lengths[at]
        if spoken and left:
            tools.add_result(left[0], spoken)
        elif spoken:
            said.append(spoken)

    def _add_lengths(self, session: Session, tools: ToolFits, style: str, *, sub: bool) -> None:
        """Prompts known by length: what a turn adds beyond the output before it is a tool's result or a user's."""
        self.heads[sub][HeadKey("", 0, (), hidden=False, style=style)] += 1
        sizes = [turn.prompt.tokens if isinstance(turn.prompt, LengthPrompt) else 0 for turn in session.turns]
        self.first_user[sub].append(sizes[0])
        said = self.second_user
        for turn, size, following in zip(session.turns, sizes, sizes[1:], strict=False):
            self.continued += 1
            usage = turn.final.usage
            output = usage.output_tokens or 0 if usage is not None else 0
            added = following - size - output
            if added < 0:
                self.resets.append(following)
            elif turn.tool_waits:
                tools.add_result(turn.tool_waits[0].name, added)
            elif added:
                said.append(added)
            said = self.later_user

    def _head(self, session: Session, system: Iterable[int], lengths: Sequence[int], style: str) -> HeadKey:
        names = tuple(tool.name for tool in session.tools)
        if session.head is not None:
            tokens = session.head.tokens or self._derived(session, lengths)
            return HeadKey(session.head.key, tokens, names, hidden=True, style=style)
        texts = tuple(session.messages[at] for at in system)
        return HeadKey(_identity(texts), sum(lengths[at] for at in system), names, hidden=False, style=style)

    def _derived(self, session: Session, lengths: Sequence[int]) -> int:
        """Recorded input of the first turn less its visible prompt; as found first for the same head."""
        assert session.head is not None
        key = session.head.key
        if key in self._head_tokens:
            return self._head_tokens[key]
        usage = session.turns[0].final.usage
        if usage is None or usage.input_tokens is None:
            return 0
        found = max(0, usage.input_tokens - sum(lengths[at] for at in _places(session.turns[0])))
        self._head_tokens[key] = found
        return found

    def _length(self, message: Message) -> int:
        texts = [block.text for block in message.blocks if isinstance(block, TextBlock | RawBlock | ToolResultBlock)]
        known = [getattr(block, "tokens", None) or 0 for block in message.blocks]
        return sum(len(self._tokenizer.encode(text)) for text in texts) + sum(known)


def _identity(messages: Sequence[Message]) -> str:
    """Identity of *messages* within one fit."""
    return "\x1f".join(
        block.text for message in messages for block in message.blocks if isinstance(block, TextBlock | RawBlock)
    )


def _places(turn: Turn) -> list[int]:
    if isinstance(turn.prompt, LengthPrompt):
        return []
    return [at for start, end in turn.prompt.ranges for at in range(start, end)]
