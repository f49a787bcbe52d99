"""What a synthetic session consists of, before any text: turns, blocks, lengths, waits, retries, sub-agents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from scenarios.synth.empirical import Choice, Empirical, Source
from scenarios.synth.fit import INNER, LAST, START
from scenarios.synth.model import CALL, OPAQUE, RUN, SEPARATOR, Head, SessionKind, SynthModel, ToolModel

_GROUP = 64
"""Sessions whose first random numbers are drawn together."""
_SCALED = frozenset({"R", "F", f"{OPAQUE}R", f"{OPAQUE}F"})
MAX_SPAWN_DEPTH = 2
"""Sub-agents of sub-agents are started, theirs are not."""


class PlannedBlock(msgspec.Struct, frozen=True):
    """A block of an output: its code (R, F, call:NAME, opaque:LABEL) and length in tokens; calls have none."""

    code: str
    tokens: int

    @property
    def is_call(self) -> bool:
        """Whether it is a tool call."""
        return not self.tokens


class PlannedTurn(msgspec.Struct, frozen=True, kw_only=True):
    """One turn: its blocks per attempt, and how its prompt goes on from the one before."""

    attempts: tuple[tuple[PlannedBlock, ...], ...]
    calls: tuple[str, ...]
    """Tools that run after the accepted attempt: those it calls, or those that run without a call in it."""
    waits_s: tuple[float | None, ...]
    result_tokens: tuple[int, ...]
    user_tokens: int
    """What the user adds after this turn where no tool answers."""
    user_wait_s: float | None
    reset_tokens: int | None
    """Length of the history that replaces the one before this turn; None: it goes on."""


class PlannedSession(msgspec.Struct, frozen=True):
    """One session; its sub-agents are plans of their own that name it as *parent*."""

    id: str
    head: Head
    head_number: int
    first_user_tokens: int
    start_s: float | None
    turns: tuple[PlannedTurn, ...]
    parent: tuple[str, int] | None
    """Session and turn number that started it."""


class _Part(NamedTuple):
    """A block of a skeleton: a call, or a code whose length is drawn from *lengths*."""

    call: PlannedBlock | None
    code: str
    lengths: Empirical | None
    scale: float


class _Shape(NamedTuple):
    """What a turn with one skeleton consists of, and the tools that run after it."""

    parts: tuple[_Part, ...]
    calls: tuple[str, ...]


class Planner:
    """Plans sessions of *model*; *scale* multiplies the lengths of reasoning and prose."""

    def __init__(self, model: SynthModel, seed: int, scale: float = 1.0) -> None:
        self._model = model
        self._seed = seed
        self._scale = scale
        self._tools: dict[str, ToolModel] = {tool.name: tool for tool in model.tools}
        self._choices: dict[tuple[str, str, str], Choice] = {}
        self._shapes: dict[tuple[str, str, str], _Shape] = {}
        self._heads = {
            sub: Choice.of({str(at): head.weight for at, head in enumerate(kind.heads)})
            for sub, kind in ((False, model.root), (True, model.sub))
            if kind is not None
        }

    def sessions(self, count: int) -> Iterator[PlannedSession]:
        """*count* root sessions, each followed by the sub-agents that it starts."""
        gap_s = self._model.gap_s
        start_s = 0.0 if gap_s is not None else None
        for first in range(0, count, _GROUP):
            numbers = range(first, min(first + _GROUP, count))
            names = [f"s{number:07d}" for number in numbers]
            sources = Source.many(self._seed, [("synth", name) for name in names])
            gaps = Source.many(self._seed, [("synth", number, "gap") for number in numbers if gap_s is not None])
            for at, (number, name, source) in enumerate(zip(numbers, names, sources, strict=True)):
                if start_s is not None and gap_s is not None and number:
                    start_s += gap_s.at(gaps[at].unit())
                yield from self._with_children(name, self._model.root, None, start_s, 0, source)

    def _with_children(
        self,
        name: str,
        kind: SessionKind,
        parent: tuple[str, int] | None,
        start_s: float | None,
        depth: int,
        source: Source,
    ) -> Iterator[PlannedSession]:
        plan = self._session(name, kind, parent, start_s, source)
        yield plan
        sub = self._model.sub
        if sub is None or depth >= MAX_SPAWN_DEPTH:
            return
        spawned = 0
        for at, turn in enumerate(plan.turns):
            for tool in turn.calls:
                share = self._tools[tool].spawn_share
                if share and source.unit() < share:
                    spawned += 1
                    child = f"{name}.{spawned}"
                    own = Source(self._seed, "synth", child)
                    yield from self._with_children(child, sub, (name, at), None, depth + 1, own)

    def _session(
        self, name: str, kind: SessionKind, parent: tuple[str, int] | None, start_s: float | None, source: Source
    ) -> PlannedSession:
        number = int(self._heads[parent is not None].at(source.unit()))
        style = kind.heads[number].style
        count = max(1, source.length(kind.turns_by_style.get(style, kind.turns)))
        turns = []
        last_tool = ""
        for at in range(count):
            phase = START if at == 0 else LAST if at + 1 == count else INNER
            turn = self._turn(style, phase, last_tool, source)
            last_tool = turn.calls[-1] if turn.calls else ""
            turns.append(turn)
        first = source.length(kind.first_user_tokens)
        return PlannedSession(name, kind.heads[number], number, first, start_s, tuple(turns), parent)

    def _turn(self, style: str, phase: str, last_tool: str, source: Source) -> PlannedTurn:
        model = self._model
        parts, calls = self._shape(style, phase, self._skeletons(style, phase, last_tool).at(source.unit()))
        draws = int(model.attempts.at(source.unit()))
        attempts = tuple([_blocks(parts, source) for _ in range(draws)])
        waits: list[float | None] = []
        results = []
        for name in calls:
            tool = self._tools[name]
            known = tool.wait_s is not None and source.unit() < tool.wait_known_share
            waits.append(tool.wait_s.at(source.unit()) if known and tool.wait_s is not None else None)
            results.append(source.length(tool.result_tokens))
        reset = phase != START and model.reset_tokens is not None and source.unit() < model.reset_share
        user_wait_s = model.user_wait_s.at(source.unit()) if model.user_wait_s is not None and not calls else None
        said = model.second_user_tokens if phase == START else model.later_user_tokens
        return PlannedTurn(
            attempts=attempts,
            calls=calls,
            waits_s=tuple(waits),
            result_tokens=tuple(results),
            user_tokens=0 if calls else max(1, source.length(said or model.later_user_tokens)),
            user_wait_s=user_wait_s,
            reset_tokens=source.length(model.reset_tokens) if reset else None,
        )

    def _skeletons(self, style: str, phase: str, last_tool: str) -> Choice:
        """What a turn may consist of, by the nearest place that the source had."""
        found = self._choices.get((style, phase, last_tool))
        if found is None:
            known = self._model.skeletons
            places = [f"{style}{phase}|{last_tool}", *(f"{style}{one}" for one in (phase, INNER, START))]
            place = next((place for place in places if place in known), next(iter(known)))
            found = self._choices[style, phase, last_tool] = known[place]
        return found

    def _shape(self, style: str, phase: str, skeleton: str) -> _Shape:
        found = self._shapes.get((style, phase, skeleton))
        if found is None:
            codes = [code for code in skeleton.split(SEPARATOR) if code]
            calls = tuple(code.partition(":")[2] for code in codes if code.startswith((CALL, RUN)))
            sign = "+" if calls else "-"
            parts = tuple(self._part(code, style, phase, sign) for code in codes)
            found = self._shapes[style, phase, skeleton] = _Shape(parts, calls)
        return found

    def _part(self, code: str, style: str, phase: str, sign: str) -> _Part:
        if code.startswith(CALL):
            return _Part(PlannedBlock(code, 0), code, None, 1.0)
        known = self._model.block_tokens
        places = (f"{style}{phase}|{code}{sign}", f"{style}{code}{sign}")
        lengths = next((known[place] for place in places if place in known), None)
        return _Part(None, code, lengths, self._scale if code in _SCALED else 1.0)


def _blocks(parts: tuple[_Part, ...], source: Source) -> tuple[PlannedBlock, ...]:
    blocks = []
    for call, code, lengths, scale in parts:
        if call is not None:
            blocks.append(call)
        elif tokens := round(source.length(lengths) * scale):
            blocks.append(PlannedBlock(code, tokens))
    return tuple(blocks)
