"""Writes an output's blocks as the target model would emit them, every character labelled as it is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import orjson

from tokenclass.arguments import argument_pieces, value_pieces
from tokenclass.callformats import CallFormat, Row, Slot
from tokenclass.classes import CLASS_OF_SUBCLASS, PositionClass, SubClass
from tokenclass.detect import best_family
from tokenclass.formats.family import Family, ReasoningEnd
from tokenclass.formats.registry import get_family
from tokenclass.formats.schema import Tools
from tokenclass.parse import assemble, segmenter
from tokenclass.pieces import Hidden, Piece, prose_mark, punctuation, reasoning_mark
from traces.errors import SimtoolError
from traces.model import Block, RawBlock, ReasoningBlock, TextBlock, ToolCallBlock, ToolSpec

Hide = Callable[[Block], Hidden]
"""Gives the tokens that stand for a block without text."""
_END_LABEL = {PositionClass.S: SubClass.D, PositionClass.R: SubClass.R, PositionClass.F: SubClass.F}
_RECORDED_ENDS = (
    "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "</s>", "<|endoftext|>", "<|end_of_text|>", "<|return|>", "<|call|>",
    "<|end|>", "<|user|>", "<|observation|>", "<｜end▁of▁sentence｜>", "<end_of_turn>", "<|eot|>", "<|eom|>",
    "<|END_OF_TURN_TOKEN|>", "[e~[",
)  # fmt: skip
"""Ends of turn that recorded completion text may hold, of whatever model."""


def known_family(name: str) -> Family:
    """The output format called *name*. Raises SimtoolError when none is."""
    try:
        return get_family(name)
    except ValueError as error:
        raise SimtoolError(f"--output-format: {error}") from None


Formats = str | Family | tuple[Family, ...] | None
"""Output formats of completion text: names separated by commas, one declaration, or several."""


def known_families(formats: Formats) -> tuple[Family, ...]:
    """The declarations that *formats* stands for. Raises SimtoolError for a name that is unknown."""
    if formats is None:
        return ()
    if isinstance(formats, str):
        return tuple(known_family(name.strip()) for name in formats.split(","))
    return formats if isinstance(formats, tuple) else (formats,)


class OutputRenderer:
    """Renders outputs for one target and one list of tools."""

    def __init__(
        self,
        form: CallFormat,
        tools: Sequence[ToolSpec] = (),
        *,
        prompt_tail: str = "",
        raw_family: Formats = None,
        reasoning_end: ReasoningEnd = ReasoningEnd.STRICT,
    ) -> None:
        self._form = form
        self._tools = Tools([{"name": tool.name, "parameters": tool.parameters} for tool in tools])
        self._tail = prompt_tail
        self._raw_families = known_families(raw_family)
        self._reasoning_end = reasoning_end

    @property
    def format_name(self) -> str:
        """Name of the target's call format."""
        return self._form.name

    def render(self, blocks: Sequence[Block], hide: Hide, *, ended: bool = True) -> list[Piece | Hidden]:
        """The pieces of an output in order; touching prose blocks are one text.

        With *ended* the end-of-turn token is added under the class of what stands before it. Markup that the
        prompt's tail has already opened is left out.
        """
        blocks = _joined_prose(blocks)
        pieces: list[Piece | Hidden] = []
        for before, block, after in zip([None, *blocks], blocks, [*blocks[1:], None], strict=False):
            pieces += self._block(before, block, after, hide)
        if ended:
            pieces += self._end(blocks, pieces)
        return [piece for piece in pieces if isinstance(piece, Hidden) or piece.text]

    def _block(self, before: Block | None, block: Block, after: Block | None, hide: Hide) -> list[Piece | Hidden]:
        if isinstance(block, ReasoningBlock):
            return self._reasoning(before, block, hide)
        if isinstance(block, TextBlock):
            return [*self._prose(before, block.text, last=after is None)]
        if isinstance(block, ToolCallBlock):
            return [*self._call(before, block, after)]
        if isinstance(block, RawBlock):
            return [*self._raw(block)]
        return [hide(block)]

    def _reasoning(self, before: Block | None, block: ReasoningBlock, hide: Hide) -> list[Piece | Hidden]:
        form = self._form
        opened = before is None and self._tail.strip() and form.reasoning_open.startswith(self._tail.strip())
        pieces: list[Piece | Hidden] = [] if opened else [reasoning_mark(form.reasoning_open)]
        if before is not None:
            pieces.insert(0, reasoning_mark(form.message_open))
        if block.text is None:
            pieces.append(hide(block))
        else:
            text = block.text.strip("\n") if form.reasoning_open.endswith("\n") else block.text
            pieces.append(Piece(text, SubClass.R))
        return [*pieces, reasoning_mark(form.reasoning_close)]

    def _prose(self, before: Block | None, text: str, *, last: bool) -> list[Piece]:
        form = self._form
        opening, closing = form.prose if last else form.preamble
        lead = [prose_mark(form.message_open)] if before is not None else []
        if isinstance(before, ToolCallBlock):
            lead.insert(0, punctuation(form.call_to_prose))
        if isinstance(before, ReasoningBlock) and form.reasoning_close.endswith("\n"):
            text = text.lstrip("\n")
        return [*lead, prose_mark(opening), Piece(text, SubClass.F), prose_mark(closing)]

    def _call(self, before: Block | None, block: ToolCallBlock, after: Block | None) -> list[Piece]:
        form = self._form
        pieces: list[Piece] = []
        if isinstance(before, ToolCallBlock):
            pieces += _fixed(form.between_calls)
        else:
            if isinstance(before, TextBlock):
                pieces.append(prose_mark(form.prose_to_call))
            if before is not None and form.message_open:
                pieces.append(Piece(form.message_open, SubClass.D, marked=True))
            pieces += _fixed(form.before_calls)
        pieces += self._filled(form.call, block)
        if not isinstance(after, ToolCallBlock):
            pieces += _fixed(form.after_calls)
        return pieces

    def _filled(self, row: Row, block: ToolCallBlock) -> list[Piece]:
        pieces: list[Piece] = []
        shape = self._tools.shape(block.name)
        for part in row:
            if isinstance(part, Piece):
                pieces.append(part)
            elif part is Slot.NAME:
                pieces.append(Piece(block.name, SubClass.N))
            elif part is Slot.ARGUMENTS:
                pieces += argument_pieces(block.arguments, shape, free_form=block.free_form)
            elif part is Slot.EACH:
                pieces += self._each(block)
        return pieces

    def _each(self, block: ToolCallBlock) -> list[Piece]:
        arguments = _object(block)
        if arguments is None:
            return argument_pieces(block.arguments, free_form=True)
        shape = self._tools.shape(block.name)
        pieces: list[Piece] = []
        for name, value in arguments.items():
            for part in self._form.each:
                if isinstance(part, Piece):
                    pieces.append(part)
                elif part is Slot.KEY:
                    pieces.append(Piece(name, SubClass.K))
                else:
                    pieces += value_pieces(value, shape.child(name, arguments))
        return pieces

    def _raw(self, block: RawBlock) -> list[Piece]:
        if not self._raw_families:
            raise SimtoolError(
                "the trace holds completion text; name the format that it is written in with --output-format"
            )
        family = self._raw_families[0]
        if len(self._raw_families) > 1:
            family = best_family(block.text, self._raw_families, self._tools)
        parsed = assemble(segmenter(family, self._tools, self._tail, self._reasoning_end).run(block.text, final=True))
        subs = iter([*parsed.sub])
        pieces: list[Piece] = []
        for span in parsed.spans:
            if span.label is not PositionClass.S:
                pieces.append(Piece(block.text[span.start : span.end], _END_LABEL[span.label], marked=True))
                continue
            at = span.start
            while at < span.end:
                sub = next(subs)
                marked = sub.label in (SubClass.D, SubClass.P)
                pieces.append(Piece(block.text[sub.start : sub.end], sub.label, marked))
                at = sub.end
        return pieces

    def _end(self, blocks: Sequence[Block], pieces: Sequence[Piece | Hidden]) -> list[Piece]:
        form = self._form
        after_call = bool(blocks) and isinstance(blocks[-1], ToolCallBlock)
        end = form.end_of_call_turn if after_call and form.end_of_call_turn is not None else form.end_of_turn
        last = next((piece for piece in reversed(pieces) if isinstance(piece, Hidden) or piece.text), None)
        if isinstance(last, Piece):
            recorded = bool(blocks) and isinstance(blocks[-1], RawBlock)
            if recorded and last.text.rstrip().endswith(_RECORDED_ENDS):
                return []
            label = _END_LABEL[CLASS_OF_SUBCLASS[last.label]]
        elif last is not None and last.labels is not None and last.labels.values.size:
            label = _END_LABEL[CLASS_OF_SUBCLASS[int(last.labels.values[-1])]]
        else:
            label = SubClass.F
        return [Piece(end, label, marked=True)]


def _fixed(row: Row) -> list[Piece]:
    return [part for part in row if isinstance(part, Piece)]


def _joined_prose(blocks: Sequence[Block]) -> list[Block]:
    if not any(isinstance(a, TextBlock) and isinstance(b, TextBlock) for a, b in pairwise(blocks)):
        return list(blocks)
    joined: list[Block] = []
    for block in blocks:
        if isinstance(block, TextBlock) and joined and isinstance(joined[-1], TextBlock):
            joined[-1] = TextBlock(text=joined[-1].text + block.text)
        else:
            joined.append(block)
    return joined


def _object(block: ToolCallBlock) -> dict[str, object] | None:
    if block.free_form:
        return None
    try:
        value = orjson.loads(block.arguments or "{}")
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None
