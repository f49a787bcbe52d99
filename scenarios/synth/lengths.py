"""Plans to sessions of lengths and labels alone: no text, some twenty times faster."""

from __future__ import annotations

from collections.abc import Iterator

from scenarios.synth.empirical import Source
from scenarios.synth.model import CALL, OPAQUE, Head, SynthModel
from scenarios.synth.plan import PlannedSession, PlannedTurn
from scenarios.synth.texts import TextWriter, spawn_link
from scenarios.synth.values import call
from scenarios.synth.words import Vocabulary
from simulator import rng
from tokenclass.classes import SubClass
from tokenclass.layout import Layout
from tokenclass.outputs import label_tokens
from tokenclass.pieces import Hidden, Piece
from tokenclass.render import OutputRenderer
from tokenclass.segments import encode_pieces
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
_MESSAGE_TOKENS = 5
"""Tokens of markup around a message, in the ChatML layout."""
Labelled = tuple[tuple[Block, ...], int]
"""Label runs as blocks, and their tokens together."""


class LengthWriter:
    """Writes sessions of *model* for the target that *tokenizer* and *layout* describe."""

    def __init__(
        self, model: SynthModel, vocabulary: Vocabulary, tokenizer: Tokenizer, layout: Layout, seed: int
    ) -> None:
        texts = TextWriter(model, vocabulary, seed)
        self._tokenizer = tokenizer
        self._seed = seed
        self._tools = {tool.name: tool for tool in model.tools}
        self._renderer = OutputRenderer(layout.form, list(texts.specs.values()))
        self._vocabulary = vocabulary
        self._pools: dict[str, list[Labelled]] = {}
        self._runs: dict[tuple[str, int], OpaqueBlock] = {}
        empty = [self._labelled([kind]) for kind in (ReasoningBlock(text="a"), TextBlock(text="a"))]
        end = self._labelled([])[1]
        self._markup = {"R": empty[0][1] - end - 1, "F": empty[1][1] - end - 1}
        self._end_tokens = end
        self._heads: dict[tuple[str, ...], int] = {}
        self._specs = texts.specs

    def sessions(self, plans: Iterator[PlannedSession]) -> Iterator[Session]:
        """The sessions of *plans*, one at a time."""
        for plan in plans:
            yield self._session(plan)

    def _session(self, plan: PlannedSession) -> Session:
        source = Source(self._seed, "synth", plan.id, "lengths")
        head = self._head_tokens(plan.head)
        prompt = head + plan.first_user_tokens + 2 * _MESSAGE_TOKENS
        shared = head // BLOCK_TOKENS
        base = rng.key(0, "synth head", plan.head_number, str(plan.parent is not None)) >> 24
        own = rng.key(self._seed, "synth session", plan.id) >> 24
        turns = []
        for number, planned in enumerate(plan.turns):
            if planned.reset_tokens is not None:
                prompt = head + planned.reset_tokens + 2 * _MESSAGE_TOKENS
                own = rng.key(self._seed, "synth session", plan.id, number) >> 24
            attempts = tuple(self._attempt(planned, at, source) for at in range(len(planned.attempts)))
            turns.append(
                Turn(
                    id=str(number),
                    prompt=_prompt(prompt, base, shared, own),
                    attempts=tuple(attempt for attempt, _ in attempts),
                    parent=str(number - 1) if number else None,
                    tool_waits=tuple(
                        ToolWait(name=name, duration_s=wait_s)
                        for name, wait_s in zip(planned.calls, planned.waits_s, strict=True)
                    ),
                    user_wait_s=planned.user_wait_s,
                )
            )
            added = sum(planned.result_tokens) + planned.user_tokens
            prompt += attempts[-1][1] + added + _MESSAGE_TOKENS * (1 + max(1, len(planned.calls)))
        return Session(id=plan.id, turns=tuple(turns), parent=spawn_link(plan), start_s=plan.start_s)

    def _attempt(self, planned: PlannedTurn, number: int, source: Source) -> tuple[Attempt, int]:
        blocks: tuple[Block, ...] = ()
        tokens = 0
        planned_blocks = planned.attempts[number]
        for at, block in enumerate(planned_blocks):
            if block.code.startswith(CALL):
                pool = self._pool(block.code.removeprefix(CALL))
                drawn, count = pool[source.below(len(pool))]
                blocks, tokens = (*blocks, *drawn), tokens + count
                continue
            label = block.code.removeprefix(OPAQUE)
            last = at + 1 == len(planned_blocks)
            count = block.tokens + self._markup.get(block.code, 0) + (self._end_tokens if last else 0)
            blocks, tokens = (*blocks, self._run(label, count)), tokens + count
        if not blocks:
            blocks, tokens = (self._run(SubClass.F.name, self._end_tokens),), self._end_tokens
        accepted = number + 1 == len(planned.attempts)
        return Attempt(output=blocks, verdict=Verdict.ACCEPTED if accepted else Verdict.REJECTED), tokens

    def _pool(self, name: str) -> list[Labelled]:
        if name not in self._pools:
            source = Source(self._seed, "synth", "pool", name)
            self._pools[name] = [
                self._labelled([call(self._tools[name], self._vocabulary, source, None)]) for _ in range(POOL)
            ]
        return self._pools[name]

    def _labelled(self, blocks: list[Block]) -> Labelled:
        rendered = self._renderer.render(blocks, _no_hidden)
        pieces = [piece for piece in rendered if isinstance(piece, Piece)]
        labels, _ = label_tokens(encode_pieces(self._tokenizer, pieces), pieces)
        runs = zip(labels.values.tolist(), labels.lengths.tolist(), strict=True)
        return tuple(self._run(SubClass(label).name, tokens) for label, tokens in runs), labels.n_tokens

    def _run(self, label: str, tokens: int) -> OpaqueBlock:
        known = self._runs.get((label, tokens))
        if known is None:
            known = self._runs[label, tokens] = OpaqueBlock(tokens=tokens, label=label or None)
        return known

    def _head_tokens(self, head: Head) -> int:
        if head.hidden:
            return head.tokens
        if head.tools not in self._heads:
            texts = [f"{self._specs[name].parameters}{self._specs[name].description}" for name in head.tools]
            self._heads[head.tools] = sum(len(self._tokenizer.encode(text)) for text in texts)
        return head.tokens + self._heads[head.tools]


def _prompt(tokens: int, base: int, shared: int, own: int) -> LengthPrompt:
    blocks = -(-tokens // BLOCK_TOKENS)
    ids = (*range(base, base + min(shared, blocks)), *range(own + shared, own + blocks))
    return LengthPrompt(tokens=tokens, block_tokens=BLOCK_TOKENS, block_ids=ids)


def _no_hidden(block: Block) -> Hidden:
    raise AssertionError(f"a synthetic block has text: {block!r}")
