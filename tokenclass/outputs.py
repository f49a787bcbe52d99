"""Tags one attempt: its output rendered for the target, tokenized and labelled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokenclass.blockkeys import block_keys
from tokenclass.classes import CLASS_OF_SUBCLASS
from tokenclass.hidden import (
    Assume,
    HiddenText,
    hidden_reasoning_tokens,
    is_hidden_reasoning,
    reasoning_run,
    with_hidden_reasoning,
)
from tokenclass.pieces import Hidden, Piece
from tokenclass.recorded import recorded_tokens, told
from tokenclass.render import OutputRenderer
from tokenclass.segments import SegmentTableBuilder, TokenCache, byte_ends, hidden_ids, text_runs
from tokenclass.tagged import LabelRuns, TaggedAttempt
from tokenclass.tokenizers import Encoded, Tokenizer
from traces.model import Attempt, Block, LengthPrompt, OpaqueBlock, ReasoningBlock, TextBlock, ToolCallBlock, Turn
from traces.opaque import by_id

_CUT_OFF = frozenset({"length", "max_tokens"})
_SPOKEN = (TextBlock, ReasoningBlock, ToolCallBlock)
_CLASS = np.array(CLASS_OF_SUBCLASS, np.uint8)
_NONE = np.empty(0, np.int32)


class OutputRun(NamedTuple):
    """Tokens of neighbouring text, or of one hidden block."""

    ids: NDArray[np.int32]
    labels: LabelRuns
    straddling: int = 0
    hidden: Hidden | None = None
    pieces: Sequence[Piece] = ()
    """The text; none of a hidden block."""
    ends: NDArray[np.int64] | None = None
    """Byte offset in the joined pieces at which each token ends; None for a hidden block."""


Observe = Callable[[Turn, int, Sequence[OutputRun]], None]
"""Is shown the runs of each attempt, by its turn and number, before their text is dropped."""


class AttemptTagger:
    """Tags the attempts of one session."""

    def __init__(
        self,
        renderer: OutputRenderer,
        cache: TokenCache,
        table: SegmentTableBuilder,
        hidden: HiddenText,
        assume: Assume,
        recording: Tokenizer | None = None,
        observe: Observe | None = None,
    ) -> None:
        self._renderer = renderer
        self._cache = cache
        self._table = table
        self._hidden = hidden
        self._assume = assume
        self._recording = recording
        self._observe = observe

    def tag(self, turn: Turn, number: int, attempt: Attempt) -> TaggedAttempt:
        """The attempt in numbers; under a prompt known by length its tokens have labels and no identity."""
        if self._observe is None and isinstance(turn.prompt, LengthPrompt) and _only_counted(attempt.output):
            return self._counted(turn, number, attempt, turn.prompt)
        blocks = told(with_hidden_reasoning(attempt, self._assume), self._recording)
        runs, reasoning = self._runs(turn, number, attempt, blocks)
        if self._observe is not None:
            self._observe(turn, number, runs)
        if attempt is turn.final:
            self._hidden.remember_reasoning(blocks, reasoning)
        if any(isinstance(block, _SPOKEN) for block in blocks):
            self._assume(f"output rendered for the target in {self._renderer.format_name} format")
        hidden_tokens = sum(run.hidden.tokens for run in runs if run.hidden is not None)
        reasoning_tokens = sum(run.tokens for run in reasoning)
        counts = turn.prompt if isinstance(turn.prompt, LengthPrompt) else None
        return _tagged(
            attempt,
            counts,
            labels=_joined_labels([run.labels for run in runs]),
            ids=_joined_ids([run.ids for run in runs]) if counts is None else None,
            segments=tuple(map(self._segment, runs)) if counts is None else None,
            straddling_tokens=sum(run.straddling for run in runs),
            hidden_reasoning_tokens=reasoning_tokens,
            opaque_tokens=hidden_tokens - reasoning_tokens,
        )

    def _counted(self, turn: Turn, number: int, attempt: Attempt, prompt: LengthPrompt) -> TaggedAttempt:
        """An attempt of which only counts are known."""
        runs = [
            self._hidden.opaque(block, turn.id, str(number), str(place))
            for place, block in enumerate(by_id(attempt.output))
        ]
        labels = _joined_labels([run.labels for run in runs if run.labels is not None])
        tokens = sum(run.tokens for run in runs)
        return _tagged(attempt, prompt, labels=labels, ids=None, segments=None, opaque_tokens=tokens)

    def _runs(
        self, turn: Turn, number: int, attempt: Attempt, blocks: Sequence[Block]
    ) -> tuple[list[OutputRun], list[Hidden]]:
        """The output's runs, and those of them that are hidden reasoning."""
        places = count()
        pending: list[Hidden] = []

        def hide(block: Block) -> Hidden:
            place = (turn.id, str(number), str(next(places)))
            if not is_hidden_reasoning(block):
                return self._hidden.opaque(block, *place)
            pending.append(Hidden(0, None, self._hidden.reasoning_key(*place)))
            return pending[-1]

        pieces = self._renderer.render(blocks, hide, ended=_ended(attempt))
        recorded = recorded_tokens(blocks, self._cache.tokenizer)
        runs = [run if isinstance(run, Hidden) else self._text(run, recorded) for run in text_runs(pieces)]
        visible = sum(int(run.ids.size) for run in runs if isinstance(run, OutputRun))
        counts = hidden_reasoning_tokens(blocks, attempt.usage, visible, self._assume)
        reasoning = {run.key: reasoning_run(tokens, run.key) for run, tokens in zip(pending, counts, strict=True)}
        whole = [run if isinstance(run, OutputRun) else _hidden_run(reasoning.get(run.key, run)) for run in runs]
        return [run for run in whole if run.ids.size], list(reasoning.values())

    def _text(self, pieces: Sequence[Piece], recorded: Encoded | None) -> OutputRun:
        encoded = self._cache.encode(pieces) if recorded is None else self._completed(pieces, recorded)
        labels, straddling = label_tokens(encoded, pieces)
        return OutputRun(encoded.ids, labels, straddling, pieces=pieces, ends=encoded.ends)

    def _completed(self, pieces: Sequence[Piece], recorded: Encoded) -> Encoded:
        """The recorded tokens, and those of what the layout added after them."""
        added = byte_ends(pieces) > recorded.ends[-1]
        if not added.any():
            return recorded
        rest = self._cache.encode([piece for piece, new in zip(pieces, added, strict=True) if new])
        ends = rest.ends + recorded.ends[-1]
        return Encoded(np.concatenate((recorded.ids, rest.ids)), np.concatenate((recorded.ends, ends)))

    def _segment(self, run: OutputRun) -> int:
        return self._table.add_text(run.ids) if run.hidden is None else self._table.add_hidden(run.hidden)


def _tagged(attempt: Attempt, counts: LengthPrompt | None, **found: Any) -> TaggedAttempt:
    """*attempt* with what was *found* of it, and what the recording itself says; *counts*: a prompt known by length."""
    return TaggedAttempt(
        **found,
        block_keys=block_keys(attempt.block_ids, counts.block_tokens) if counts and attempt.block_ids else None,
        verdict=attempt.verdict,
        usage=attempt.usage,
        times=attempt.times,
        accepted_per_round=attempt.accepted_per_round,
    )


def label_tokens(encoded: Encoded, pieces: Sequence[Piece]) -> tuple[LabelRuns, int]:
    """Sub-class of each token, that of its first byte, and how many tokens lie over a class border."""
    if not len(encoded):
        return LabelRuns.of(np.empty(0, np.uint8)), 0
    piece_starts = np.concatenate(([0], byte_ends(pieces)[:-1]))
    labels = np.array([piece.label for piece in pieces], np.uint8)
    first_tokens = np.searchsorted(encoded.starts, piece_starts)
    lengths = np.diff(first_tokens, append=len(encoded)).astype(np.int32)
    borders = np.flatnonzero(np.diff(_CLASS[labels])) + 1
    before = first_tokens[borders] - 1
    straddling = np.unique(before[encoded.ends[before] > piece_starts[borders]])
    return LabelRuns.merged(labels, lengths), int(straddling.size)


def _hidden_run(hidden: Hidden) -> OutputRun:
    return OutputRun(hidden_ids(hidden), hidden.labels or LabelRuns.of(np.empty(0, np.uint8)), hidden=hidden)


def _only_counted(output: Sequence[Block]) -> bool:
    return bool(output) and all(type(block) is OpaqueBlock for block in output)


def _ended(attempt: Attempt) -> bool:
    """Whether an end-of-turn token is to be added: not to a cut output, nor to counts that include it."""
    counted = bool(attempt.output) and isinstance(attempt.output[-1], OpaqueBlock)
    return not counted and attempt.finish_reason not in _CUT_OFF


def _joined_labels(parts: list[LabelRuns]) -> LabelRuns:
    if len(parts) == 1:
        return parts[0]
    values = [np.empty(0, np.uint8), *(part.values for part in parts)]
    return LabelRuns.merged(np.concatenate(values), np.concatenate([_NONE, *(part.lengths for part in parts)]))


def _joined_ids(parts: list[NDArray[np.int32]]) -> NDArray[np.int32]:
    if len(parts) == 1:
        return parts[0]
    ids = np.concatenate([_NONE, *parts])
    ids.flags.writeable = False
    return ids
