"""Lays messages out as the target's prompt: the ChatML layout of Qwen3 and Hermes.

Tools are listed in the system message, tool results are user messages of <tool_response> elements, and the
reasoning of assistant messages before the last user message is dropped, as Qwen3's template does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from tokenclass.callformats import CallFormat, call_format
from tokenclass.classes import SubClass
from tokenclass.pieces import Hidden, Piece, Pieces, prose_mark
from tokenclass.render import OutputRenderer
from traces.model import (
    Block,
    Message,
    RawBlock,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    ToolSpec,
)

HideIn = Callable[[int, Message, Block], Hidden]
"""Gives the tokens that stand for a block without text in a prompt message, from its index in the session."""
_TOOLS_HEAD = (
    "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
    "You are provided with function signatures within <tools></tools> XML tags:\n<tools>"
)
_TOOLS_FOOT = (
    "\n</tools>\n\nFor each function call, return a json object with function name and arguments within "
    '<tool_call></tool_call> XML tags:\n<tool_call>\n{"name": <function-name>, "arguments": '
    "<args-json-object>}\n</tool_call>"
)
_TURN_CLOSE = "<|im_end|>"


@dataclass(frozen=True, slots=True)
class Layout:
    """How the target writes outputs and what its prompts end with."""

    form: CallFormat
    prompt_tail: str = ""
    """What the template adds after the last role header: nothing, an opened or an empty think block."""

    @classmethod
    def named(cls, tool_call_format: str = "hermes", prompt_tail: str = "") -> Layout:
        """The layout with the call format of that name. Raises SimtoolError for an unknown one."""
        return cls(call_format(tool_call_format), prompt_tail)


class Part(NamedTuple):
    """A piece of the prompt that becomes a run of tokens of its own."""

    identity: tuple[object, ...]
    """Equal within a session for equal content, so that a part is rendered once."""
    write: Callable[[], Pieces]


class Unit(NamedTuple):
    """A turn of the layout: a message or, where tool results and text are mixed in one, a part of it."""

    role: str
    place: int
    number: int
    message: Message
    blocks: tuple[Block, ...]


class PromptLayout:
    """Lays out the prompts of one session."""

    def __init__(
        self,
        layout: Layout,
        renderer: OutputRenderer,
        tools: Sequence[ToolSpec],
        hide: HideIn,
        *,
        show_tools: bool = True,
    ) -> None:
        self._layout = layout
        self._renderer = renderer
        self._tools = tuple(tools) if show_tools else ()
        self._hide = hide

    def opening(self, first: Unit | None) -> Iterator[Part]:
        """What stands before a prompt's first unit: the tools, where no system message lists them."""
        if self._tools and (first is None or first.role != "system"):
            yield _fixed(f"<|im_start|>system\n{self._tool_list()}{_TURN_CLOSE}\n")

    def unit_parts(self, units: Sequence[Unit], at: int, last_query: int) -> Iterator[Part]:
        """The parts of one unit; *last_query* is the number of the last user unit, -1 if there is none."""
        unit = units[at]
        if unit.role == "assistant":
            yield from self._assistant(unit, keep_reasoning=at > last_query)
        elif unit.role == "tool":
            first = at == 0 or units[at - 1].role != "tool"
            last = at + 1 == len(units) or units[at + 1].role != "tool"
            yield _part(unit, (first, last), partial(self._tool_result, unit, first=first, last=last))
        else:
            with_tools = at == 0 and unit.role == "system" and bool(self._tools)
            yield _part(unit, (with_tools,), partial(self._spoken, unit, with_tools=with_tools))

    def header(self) -> Iterator[Part]:
        """What a prompt ends with: the header of the model's turn and the tail."""
        yield _fixed("<|im_start|>assistant\n")
        if self._layout.prompt_tail:
            yield _fixed(self._layout.prompt_tail)

    def _assistant(self, unit: Unit, *, keep_reasoning: bool) -> Iterator[Part]:
        """Header, body and line end apart: the body is the output of an earlier turn wherever it repeats one.

        A kept think block that the prompt's tail had opened is split as it was then.
        """
        yield _fixed("<|im_start|>assistant\n")
        tail = self._layout.prompt_tail
        if tail and keep_reasoning and _reasons(unit) and self._layout.form.reasoning_open.startswith(tail):
            yield _fixed(tail)
        yield _part(unit, (keep_reasoning,), partial(self._body, unit, keep_reasoning=keep_reasoning))
        yield _fixed("\n")

    def _body(self, unit: Unit, *, keep_reasoning: bool) -> Pieces:
        blocks = unit.blocks if keep_reasoning else _without_reasoning(unit.blocks)
        return self._renderer.render(blocks, lambda block: self._hide(unit.place, unit.message, block))

    def _spoken(self, unit: Unit, *, with_tools: bool) -> Pieces:
        pieces: list[Piece | Hidden] = [prose_mark(f"<|im_start|>{unit.role}\n")]
        pieces += self._content(unit)
        if with_tools:
            pieces.append(prose_mark(("\n\n" if len(pieces) > 1 else "") + self._tool_list()))
        return [*pieces, prose_mark(f"{_TURN_CLOSE}\n")]

    def _tool_result(self, unit: Unit, *, first: bool, last: bool) -> Pieces:
        opening = prose_mark(("<|im_start|>user" if first else "") + "\n<tool_response>\n")
        closing = prose_mark("\n</tool_response>" + (f"{_TURN_CLOSE}\n" if last else ""))
        return [opening, *self._content(unit), closing]

    def _content(self, unit: Unit) -> list[Piece | Hidden]:
        """Text of a message that is not the model's own; a server reads special tokens in it as such."""
        pieces: list[Piece | Hidden] = []
        for block in unit.blocks:
            if isinstance(block, (TextBlock, RawBlock, ToolResultBlock)):
                pieces.append(prose_mark(block.text))
            elif isinstance(block, ToolCallBlock):
                pieces.append(Piece(block.name + block.arguments, SubClass.F))
            else:
                pieces.append(self._hide(unit.place, unit.message, block))
        return pieces

    def _tool_list(self) -> str:
        lines = [json.dumps(_function(tool), ensure_ascii=False) for tool in self._tools]
        return "\n".join([_TOOLS_HEAD, *lines]) + _TOOLS_FOOT


def message_units(place: int, message: Message) -> Iterator[Unit]:
    """The units of the message at index *place*; each tool result is one of its own."""
    role = {"developer": "system"}.get(message.role, message.role)
    if role in ("assistant", "tool") or not any(isinstance(block, ToolResultBlock) for block in message.blocks):
        yield Unit(role, place, 0, message, message.blocks)
        return
    starts = [0]
    for at, (a, b) in enumerate(pairwise(message.blocks), 1):
        if isinstance(a, ToolResultBlock) or isinstance(b, ToolResultBlock):
            starts.append(at)
    for number, (start, end) in enumerate(pairwise([*starts, len(message.blocks)])):
        blocks = message.blocks[start:end]
        yield Unit("tool" if isinstance(blocks[0], ToolResultBlock) else role, place, number, message, blocks)


def _reasons(unit: Unit) -> bool:
    first = unit.blocks[0] if unit.blocks else None
    return isinstance(first, ReasoningBlock) or (isinstance(first, RawBlock) and "</think>" in first.text)


def _without_reasoning(blocks: Sequence[Block]) -> list[Block]:
    kept: list[Block] = []
    for block in blocks:
        if isinstance(block, RawBlock) and "</think>" in block.text:
            kept.append(RawBlock(text=block.text.rpartition("</think>")[2].lstrip("\n")))
        elif not isinstance(block, ReasoningBlock):
            kept.append(block)
    return kept


def _part(unit: Unit, variant: tuple[object, ...], write: Callable[[], Pieces]) -> Part:
    return Part((unit.place, unit.number, *variant), write)


def _fixed(text: str) -> Part:
    return Part((text,), lambda: [prose_mark(text)])


def _function(tool: ToolSpec) -> dict[str, object]:
    inner = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": inner}
