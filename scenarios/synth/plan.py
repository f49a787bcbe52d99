"""What a synthetic session consists of, before any text: turns, blocks, lengths, waits, retries, sub-agents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scenarios.synth.empirical import Choice, Source
from scenarios.synth.fit import INNER, LAST, START
from scenarios.synth.model import CALL, OPAQUE, RUN, SEPARATOR, Head, SessionKind, SynthModel, ToolModel

MAX_SPAWN_DEPTH = 2
"""Sub-agents of sub-agents are started, theirs are not."""


@dataclass(frozen=True, slots=True)
class PlannedBlock:
    """A block of an output: its code (R, F, call:NAME, opaque:LABEL) and length in tokens; calls have none."""

    code: str
    tokens: int


@dataclass(frozen=True, slots=True)
class PlannedTurn:
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


@dataclass(frozen=True, slots=True)
class PlannedSession:
    """One session; its sub-agents are plans of their own that name it as *parent*."""

    id: str
    head: Head
    head_number: int
    first_user_tokens: int
    start_s: float | None
    turns: tuple[PlannedTurn, ...]
    parent: tuple[str, int] | None
    """Session and turn number that started it."""


class Planner:
    """Plans sessions of *model*; *scale* multiplies the lengths of reasoning and prose."""

    def __init__(self, model: SynthModel, seed: int, scale: float = 1.0) -> None:
        self._model = model
        self._seed = seed
        self._scale = scale
        self._tools: dict[str, ToolModel] = {tool.name: tool for tool in model.tools}
        self._parsed: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}

    def sessions(self, count: int) -> Iterator[PlannedSession]:
        """*count* root sessions, each followed by the sub-agents that it starts."""
        start_s = 0.0 if self._model.gap_s is not None else None
        for number in range(count):
            if start_s is not None and number and self._model.gap_s is not None:
                gap = Source(self._seed, "synth", number, "gap").unit()
                start_s += self._model.gap_s.at(gap)
            yield from self._with_children(f"s{number:07d}", self._model.root, None, start_s, 0)

    def _with_children(
        self, name: str, kind: SessionKind, parent: tuple[str, int] | None, start_s: float | None, depth: int
    ) -> Iterator[PlannedSession]:
        source = Source(self._seed, "synth", name)
        plan = self._session(name, kind, parent, start_s, source)
        yield plan
        if self._model.sub is None or depth >= MAX_SPAWN_DEPTH:
            return
        spawned = 0
        for at, turn in enumerate(plan.turns):
            for tool in turn.calls:
                share = self._tools[tool].spawn_share
                if share and source.unit() < share:
                    spawned += 1
                    yield from self._with_children(f"{name}.{spawned}", self._model.sub, (name, at), None, depth + 1)

    def _session(
        self, name: str, kind: SessionKind, parent: tuple[str, int] | None, start_s: float | None, source: Source
    ) -> PlannedSession:
        weights = Choice.of({str(at): head.weight for at, head in enumerate(kind.heads)})
        number = int(weights.at(source.unit()))
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
        places = [f"{style}{phase}|{last_tool}", *(f"{style}{one}" for one in (phase, INNER, START))]
        skeletons = next((model.skeletons[place] for place in places if place in model.skeletons), None)
        if skeletons is None:
            skeletons = next(iter(model.skeletons.values()))
        codes, calls = self._codes(skeletons.at(source.unit()))
        draws = int(model.attempts.at(source.unit()))
        attempts = tuple(self._blocks(codes, source, style, with_call=bool(calls)) for _ in range(draws))
        waits: list[float | None] = []
        results = []
        for name in calls:
            tool = self._tools[name]
            known = tool.wait_s is not None and source.unit() < tool.wait_known_share
            waits.append(tool.wait_s.at(source.unit()) if known and tool.wait_s is not None else None)
            results.append(source.length(tool.result_tokens))
        reset = phase != START and model.reset_tokens is not None and source.unit() < model.reset_share
        user_wait_s = model.user_wait_s.at(source.unit()) if model.user_wait_s is not None and not calls else None
        return PlannedTurn(
            attempts=attempts,
            calls=calls,
            waits_s=tuple(waits),
            result_tokens=tuple(results),
            user_tokens=0 if calls else max(1, source.length(model.later_user_tokens)),
            user_wait_s=user_wait_s,
            reset_tokens=source.length(model.reset_tokens) if reset else None,
        )

    def _codes(self, skeleton: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The blocks of a skeleton, and the tools that run after it."""
        found = self._parsed.get(skeleton)
        if found is None:
            codes = tuple(code for code in skeleton.split(SEPARATOR) if code)
            calls = tuple(code.partition(":")[2] for code in codes if code.startswith((CALL, RUN)))
            found = self._parsed[skeleton] = (codes, calls)
        return found

    def _blocks(
        self, codes: tuple[str, ...], source: Source, style: str, *, with_call: bool
    ) -> tuple[PlannedBlock, ...]:
        sign = "+" if with_call else "-"
        blocks = []
        for code in codes:
            tokens = 0
            if not code.startswith(CALL):
                tokens = source.length(self._model.block_tokens.get(f"{style}{code}{sign}"))
                if code in ("R", "F", f"{OPAQUE}R", f"{OPAQUE}F"):
                    tokens = round(tokens * self._scale)
            if tokens or code.startswith(CALL):
                blocks.append(PlannedBlock(code, tokens))
        return tuple(blocks)
