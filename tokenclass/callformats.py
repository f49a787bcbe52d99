"""How a target model writes reasoning, prose and tool calls: one short declaration a format.

A call is a row of pieces with slots for its name and arguments; formats that write each argument by itself
declare a row for one argument. White space goes by the tagger's conventions: before a call it is prose, inside
and between calls it is punctuation, after reasoning it is reasoning.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto

from tokenclass.pieces import Piece, delimiter, key, punctuation
from traces.choice import hint
from traces.errors import SimtoolError


class Slot(Enum):
    """A place in a call that the recording fills."""

    NAME = auto()
    ARGUMENTS = auto()
    """The argument text as recorded."""
    EACH = auto()
    """Every argument in turn, as the format's *each* row."""
    KEY = auto()
    VALUE = auto()
    """A string as it is, anything else as JSON."""


Row = tuple[Piece | Slot, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFormat:
    """The way one family of models writes an output."""

    name: str
    call: Row
    each: Row = ()
    before_calls: Row = ()
    between_calls: Row = ()
    after_calls: Row = ()
    prose_to_call: str = ""
    """White space between prose and the first call after it."""
    call_to_prose: str = ""
    """White space between a call and prose after it."""
    reasoning_open: str = "<think>\n"
    reasoning_close: str = "\n</think>\n\n"
    prose: tuple[str, str] = ("", "")
    """Markup around prose that ends the turn."""
    preamble: tuple[str, str] = ("", "")
    """Markup around prose that something follows."""
    message_open: str = ""
    """Opens every prose or group of calls but the first block, in formats of one message a block."""
    end_of_turn: str = "<|im_end|>"
    end_of_call_turn: str | None = None
    """End of a turn whose last block is a call, where that differs."""
    single_tokens: tuple[str, ...] = ()
    """Markup that is one token each in the vocabularies of this format's models."""


def _json_object(arguments_key: str, *, inside: str = "") -> Row:
    return (
        punctuation(f'{inside}{{"'),
        key("name"),
        punctuation('": "'),
        Slot.NAME,
        punctuation('", "'),
        key(arguments_key),
        punctuation('": '),
        Slot.ARGUMENTS,
        punctuation(f"}}{inside}"),
    )


_FORMATS = (
    CallFormat(
        name="hermes",
        call=(
            delimiter("<tool_call>"),
            *_json_object("arguments", inside="\n"),
            delimiter("</tool_call>"),
        ),
        between_calls=(punctuation("\n"),),
        prose_to_call="\n",
        call_to_prose="\n",
        single_tokens=("<tool_call>", "</tool_call>", "<|im_end|>"),
    ),
    CallFormat(
        name="qwen3_coder",
        call=(
            delimiter("<tool_call>"),
            punctuation("\n"),
            delimiter("<function="),
            Slot.NAME,
            delimiter(">"),
            punctuation("\n"),
            Slot.EACH,
            delimiter("</function>"),
            punctuation("\n"),
            delimiter("</tool_call>"),
        ),
        each=(
            delimiter("<parameter="),
            Slot.KEY,
            delimiter(">"),
            punctuation("\n"),
            Slot.VALUE,
            punctuation("\n"),
            delimiter("</parameter>"),
            punctuation("\n"),
        ),
        between_calls=(punctuation("\n"),),
        prose_to_call="\n\n",
        call_to_prose="\n",
        single_tokens=("<tool_call>", "</tool_call>", "<|im_end|>"),
    ),
    CallFormat(
        name="glm45",
        call=(
            delimiter("<tool_call>"),
            Slot.NAME,
            punctuation("\n"),
            Slot.EACH,
            delimiter("</tool_call>"),
        ),
        each=(
            delimiter("<arg_key>"),
            Slot.KEY,
            delimiter("</arg_key>"),
            punctuation("\n"),
            delimiter("<arg_value>"),
            Slot.VALUE,
            delimiter("</arg_value>"),
            punctuation("\n"),
        ),
        between_calls=(punctuation("\n"),),
        prose_to_call="\n",
        call_to_prose="\n",
        end_of_turn="<|user|>",
        end_of_call_turn="<|observation|>",
        single_tokens=("<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"),
    ),
    CallFormat(
        name="llama3_json",
        call=_json_object("parameters"),
        between_calls=(punctuation("; "),),
        prose_to_call="\n",
        end_of_turn="<|eot_id|>",
        single_tokens=("<|eot_id|>",),
    ),
    CallFormat(
        name="mistral",
        call=(delimiter("[TOOL_CALLS]"), Slot.NAME, delimiter("[ARGS]"), Slot.ARGUMENTS),
        reasoning_open="[THINK]",
        reasoning_close="[/THINK]",
        end_of_turn="</s>",
        single_tokens=("[TOOL_CALLS]", "[ARGS]", "</s>"),
    ),
    CallFormat(
        name="deepseek_v31",
        call=(
            delimiter("<｜tool▁call▁begin｜>"),
            Slot.NAME,
            delimiter("<｜tool▁sep｜>"),
            Slot.ARGUMENTS,
            delimiter("<｜tool▁call▁end｜>"),
        ),
        before_calls=(delimiter("<｜tool▁calls▁begin｜>"),),
        after_calls=(delimiter("<｜tool▁calls▁end｜>"),),
        reasoning_open="<think>",
        reasoning_close="</think>",
        end_of_turn="<｜end▁of▁sentence｜>",
        single_tokens=(
            "<｜tool▁call▁begin｜>",
            "<｜tool▁sep｜>",
            "<｜tool▁call▁end｜>",
            "<｜tool▁calls▁begin｜>",
            "<｜tool▁calls▁end｜>",
            "<｜end▁of▁sentence｜>",
        ),
    ),
    CallFormat(
        name="openai_harmony",
        call=(
            delimiter("<|channel|>commentary to=functions."),
            Slot.NAME,
            delimiter(" <|constrain|>json<|message|>"),
            Slot.ARGUMENTS,
            delimiter("<|call|>"),
        ),
        between_calls=(delimiter("<|start|>assistant"),),
        reasoning_open="<|channel|>analysis<|message|>",
        reasoning_close="<|end|>",
        prose=("<|channel|>final<|message|>", "<|return|>"),
        preamble=("<|channel|>commentary<|message|>", "<|end|>"),
        message_open="<|start|>assistant",
        end_of_turn="",
        single_tokens=("<|start|>", "<|channel|>", "<|message|>", "<|constrain|>", "<|call|>", "<|end|>", "<|return|>"),
    ),
)

CALL_FORMATS: Mapping[str, CallFormat] = {declared.name: declared for declared in _FORMATS}
"""Formats by the name that --tool-call-format takes; a new one is one more declaration."""


def call_format(name: str) -> CallFormat:
    """The format called *name*. Raises SimtoolError naming the nearest spelling."""
    if name in CALL_FORMATS:
        return CALL_FORMATS[name]
    guess = hint(name, CALL_FORMATS)
    raise SimtoolError(f"--tool-call-format {name!r} is not a known format{guess} (known: {', '.join(CALL_FORMATS)})")
