"""Plans to sessions of lengths and labels alone: no text, far faster."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from scenarios.synth.empirical import Source
from scenarios.synth.markup import Markup
from scenarios.synth.model import CALL, OPAQUE, SynthModel
from scenarios.synth.outputlabels import OutputLabels
from scenarios.synth.plan import PlannedBlock, PlannedSession
from scenarios.synth.texts import TextWriter, spawn_link
from scenarios.synth.values import call
from scenarios.synth.words import Vocabulary
from simulator import rng
from tokenclass.classes import SubClass
from tokenclass.layout import Layout
from tokenclass.tokenizers import Tokenizer
from traces.model import (
    Attempt,
    Block,
    LengthPrompt,
    OpaqueBlock,
    ReasoningBlock,
    Session,
    TextBlock,
    ToolWait,
    Turn,
    Verdict,
)

POOL = 256
"""Calls of a tool that are written and labelled once and then drawn from."""
BLOCK_TOKENS = 128
"""Tokens that a block id of a prompt stands for: what is shared is known to this grain."""
_GROUP = 64
"""Sessions whose first random numbers are drawn together."""
Labelled = tuple[tuple[Block, ...], int]
"""Label runs as blocks, and their tokens together."""


class LengthWriter:
    """Writes sessions of *model* for the target that *tokenizer* and *layout* describe."""

    def __init__(
        self, model: SynthModel, vocabulary: Vocabulary, tokenizer: Tokenizer, layout: Layout, seed: int
    ) -> None:
        texts = TextWriter(model, vocabulary, seed)
        self._seed = seed
        self._tools = {tool.name: tool for tool in model.tools}
        self._outputs = OutputLabels(tokenizer, layout, list(texts.specs.values()))
        self._vocabulary = vocabulary
        self._pools: dict[str, list[Labelled]] = {}
        self._runs: dict[tuple[str, int], OpaqueBlock] = {}
        empty = [self._labelled([kind]) for kind in (ReasoningBlock(text="a"), TextBlock(text="a"))]
        end = self._labelled([])[1]
        self._markup = {"R": empty[0][1] - end - 1, "F": empty[1][1] - end - 1}
        self._end_tokens = end
        self._prompts = Markup(tokenizer, layout, texts.specs)
        self._labels: dict[str, tuple[str, int]] = {}

    def sessions(self, plans: Iterator[PlannedSession]) -> Iterator[Session]:
        """The sessions of *plans*, one at a time."""
        while group := list(islice(plans, _GROUP)):
            sources = Source.many(self._seed, [("synth", plan.id, "lengths") for plan in group])
            yield from map(self._session, group, sources)

    def _session(self, plan: PlannedSession, source: Source) -> Session:
        head = self._prompts.head(plan.head)
        prompt = head + plan.first_user_tokens
        shared = head // BLOCK_TOKENS
        base = rng.key(0, "synth head", plan.head_number, str(plan.parent is not None)) >> 24
        own = rng.key(self._seed, "synth session", plan.id) >> 24
        turns = []
        for number, planned in enumerate(plan.turns):
            if planned.reset_tokens is not None:
                prompt = head + planned.reset_tokens
                own = rng.key(self._seed, "synth session", plan.id, number) >> 24
            outputs = [self._output(blocks, source) for blocks in planned.attempts]
            turns.append(
                Turn(
                    id=str(number),
                    prompt=_prompt(prompt, base, shared, own),
                    attempts=_attempts(outputs),
                    parent=str(number - 1) if number else None,
                    tool_waits=tuple(map(_wait, planned.calls, planned.waits_s)),
                    user_wait_s=planned.user_wait_s,
                )
            )
            calls = len(planned.calls)
            around = self._prompts.results(calls) if calls else self._prompts.user
            prompt += outputs[-1][1] + around + sum(planned.result_tokens) + planned.user_tokens
        return Session(id=plan.id, turns=tuple(turns), parent=spawn_link(plan), start_s=plan.start_s)

    def _output(self, planned: tuple[PlannedBlock, ...], source: Source) -> Labelled:
        blocks: list[Block] = []
        tokens = 0
        for block in planned:
            if block.is_call:
                drawn, count = self._pool(block.code)[source.below(POOL)]
                blocks += drawn
            else:
                label, around = self._label(block.code)
                count = block.tokens + around
                if block is planned[-1]:
                    count += self._end_tokens
                blocks.append(self._run(label, count))
            tokens += count
        if not blocks:
            return (self._run(SubClass.F.name, self._end_tokens),), self._end_tokens
        return tuple(blocks), tokens

    def _label(self, code: str) -> tuple[str, int]:
        """Label of a block without a call, and the tokens of markup around it."""
        if code not in self._labels:
            self._labels[code] = (code.removeprefix(OPAQUE), self._markup.get(code, 0))
        return self._labels[code]

    def _pool(self, code: str) -> list[Labelled]:
        if code not in self._pools:
            name = code.removeprefix(CALL)
            source = Source(self._seed, "synth", "pool", name)
            self._pools[code] = [
                self._labelled([call(self._tools[name], self._vocabulary, source, None)]) for _ in range(POOL)
            ]
        return self._pools[code]

    def _labelled(self, blocks: list[Block]) -> Labelled:
        labels = self._outputs.of(blocks)
        runs = zip(labels.values.tolist(), labels.lengths.tolist(), strict=True)
        return tuple(self._run(SubClass(label).name, tokens) for label, tokens in runs), labels.n_tokens

    def _run(self, label: str, tokens: int) -> OpaqueBlock:
        known = self._runs.get((label, tokens))
        if known is None:
            known = self._runs[label, tokens] = OpaqueBlock(tokens=tokens, label=label or None)
        return known


def _attempts(outputs: list[Labelled]) -> tuple[Attempt, ...]:
    last = len(outputs) - 1
    return tuple(
        [
            Attempt(output=blocks, verdict=Verdict.ACCEPTED if at == last else Verdict.REJECTED)
            for at, (blocks, _) in enumerate(outputs)
        ]
    )


def _wait(name: str, wait_s: float | None) -> ToolWait:
    return ToolWait(name=name, duration_s=wait_s)


def _prompt(tokens: int, base: int, shared: int, own: int) -> LengthPrompt:
    blocks = -(-tokens // BLOCK_TOKENS)
    ids = (*range(base, base + min(shared, blocks)), *range(own + shared, own + blocks))
    return LengthPrompt(tokens=tokens, block_tokens=BLOCK_TOKENS, block_ids=ids)
