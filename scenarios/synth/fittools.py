"""Fits tools: arguments, waits, lengths of results, sub-agents started."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import orjson

from scenarios.synth.empirical import Empirical
from scenarios.synth.fitvalues import ValueFit
from scenarios.synth.model import ToolModel
from scenarios.synth.schemas import structure
from scenarios.synth.words import Vocabulary
from tokenclass.formats.schema import Tools
from tokenclass.tokenizers import Tokenizer
from traces.model import Block, Session, ToolCallBlock, ToolSpec, Turn


class ToolFits:
    """Gathers what is seen of each tool."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._specs: dict[str, ToolSpec] = {}
        self._arguments: dict[str, ValueFit] = {}
        self._calls: Counter[str] = Counter()
        self._compact: Counter[str] = Counter()
        self._free: defaultdict[str, list[int]] = defaultdict(list)
        self._waits: defaultdict[str, list[float]] = defaultdict(list)
        self._results: defaultdict[str, list[int]] = defaultdict(list)
        self._called: dict[tuple[str, str], list[str]] = {}
        self._spawners: list[tuple[str, str]] = []
        self._runs: Counter[str] = Counter()
        self.runs_of: dict[tuple[str, str], list[str]] = {}
        """Tools that run without a call in the output, by session and turn."""
        self.tool_of_call: dict[tuple[str, str], str] = {}
        """Tool by session and call id."""

    def add_session(self, session: Session) -> None:
        """Note the tools that *session* offers and the turn that started it."""
        for spec in session.tools:
            self._specs.setdefault(spec.name, spec)
        if session.parent is not None and session.parent.turn_id is not None:
            self._spawners.append((session.parent.session_id, session.parent.turn_id))

    def add_turn(self, session: Session, turn: Turn, blocks: Sequence[Block]) -> list[str]:
        """Count the calls of one output and the waits after it; the tools that run without a call in the output."""
        calls = [block for block in blocks if isinstance(block, ToolCallBlock)]
        for call in calls:
            self._add_call(call)
            if call.call_id is not None:
                self.tool_of_call[session.id, call.call_id] = call.name
        if calls:
            self._called[session.id, turn.id] = [call.name for call in calls]
        for wait in turn.tool_waits:
            if wait.duration_s is not None:
                self._waits[wait.name].append(wait.duration_s)
        runs = Counter(wait.name for wait in turn.tool_waits) if not calls else Counter[str]()
        self._runs += runs
        if runs:
            self.runs_of[session.id, turn.id] = list(runs.elements())
        return list(runs.elements())

    def add_result(self, name: str, tokens: int) -> None:
        """Count a result of tool *name*."""
        self._results[name].append(tokens)

    def models(self, vocabulary: Vocabulary) -> tuple[ToolModel, ...]:
        """A model of each tool that was offered or called."""
        spawns: Counter[str] = Counter()
        for place in self._spawners:
            if names := self._called.get(place):
                spawns[min(names, key=lambda name: (self._calls[name], name))] += 1
        pooled = Empirical.of([tokens for results in self._results.values() for tokens in results])
        return tuple(
            self._model(name, vocabulary, spawns[name], pooled)
            for name in sorted({*self._specs, *self._calls, *self._runs})
        )

    def _model(self, name: str, vocabulary: Vocabulary, spawned: int, pooled: Empirical | None) -> ToolModel:
        calls = max(1, self._calls[name])
        spec = self._specs.get(name, ToolSpec(name=name))
        return ToolModel(
            name=name,
            schema=structure(spec.parameters, vocabulary),
            description_tokens=len(self._tokenizer.encode(spec.description)),
            arguments=self._fit_of(name).model(vocabulary),
            compact_share=self._compact[name] / calls,
            free_form_share=len(self._free[name]) / calls,
            free_form_tokens=Empirical.of(self._free[name]),
            wait_s=Empirical.of(self._waits[name]),
            wait_known_share=min(1.0, len(self._waits[name]) / max(1, self._calls[name] + self._runs[name])),
            result_tokens=Empirical.of(self._results[name]) or pooled,
            spawn_share=min(1.0, spawned / calls),
        )

    def _add_call(self, call: ToolCallBlock) -> None:
        self._calls[call.name] += 1
        try:
            value = None if call.free_form else orjson.loads(call.arguments or "{}")
        except orjson.JSONDecodeError:
            value = None
        if isinstance(value, dict):
            self._compact[call.name] += orjson.dumps(value).decode() == call.arguments
            self._fit_of(call.name).add(value)
        else:
            self._free[call.name].append(len(self._tokenizer.encode(call.arguments)))

    def _fit_of(self, name: str) -> ValueFit:
        if name not in self._arguments:
            spec = self._specs.get(name)
            known = Tools([{"name": name, "parameters": spec.parameters}] if spec is not None else [])
            self._arguments[name] = ValueFit(self._tokenizer, known.shape(name))
        return self._arguments[name]
