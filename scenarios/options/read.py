"""What a user can set about reading and tagging recordings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from scenarios.options.option import Section, option

if TYPE_CHECKING:
    from tokenclass.spanmodel import SpanModel

_T = Section.TRACE


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How recordings are read and tagged."""

    format_name: str | None = option(
        None,
        "Recording format; found by sniffing. csv:arrival=A,input=B,output=C names the columns of a table.",
        _T,
        name="format",
        known="scenarios.options.names:recording_formats",
        metavar="NAME",
    )
    skip_invalid: bool = option(False, "Leave unusable records out and count them by reason.", _T)
    simulated_users: bool = option(
        False, "Serve the model that plays the user in tau2 too, as sessions beside the agent's.", _T
    )
    tokenizer: str = option(
        "qwen3", "The target's tokenizer: qwen3, a tokenizer.json, a .tiktoken file.", _T, metavar="NAME|FILE"
    )
    tool_call_format: str = option(
        "hermes",
        "How the target writes tool calls; recorded ones are rendered so.",
        _T,
        metavar="NAME",
        known="scenarios.options.names:call_formats",
    )
    output_format: str | None = option(
        None,
        "Format of recorded completion text (hermes, glm45, openai_harmony ...), or several with commas; found by "
        "detection.",
        _T,
        metavar="FAMILY",
        known="scenarios.options.names:output_formats",
    )
    """Format of recorded completion text."""
    format_file: str | None = option(
        None,
        "Your own output format, declared in TOML or JSON (docs/adding-a-format.md); in place of --output-format.",
        _T,
        metavar="FILE",
    )
    """File that declares the format of recorded completion text, in place of a known one."""
    reasoning_end: Literal["strict", "tool-token"] = option(
        "strict", "What ends an open reasoning block in completion text: its end tag, or a tool call too.", _T
    )
    recording_tokenizer: str | None = option(
        None, "Vocabulary of completions recorded as token ids without text.", _T, metavar="NAME|FILE"
    )
    class_mix: str | None = option(
        None,
        "Class shares of output tokens that have no text (Mooncake, Azure ...).",
        _T,
        metavar="S=..,R=..,F=..",
    )
    """None: the default mix, noted as an assumption where it is used."""
    mix_from: str | None = option(
        None,
        "Draw classes and spans of output tokens that have no text from outputs of about their length in TRACE: a "
        "recording with text, or what `simtool tag --parquet` wrote of one.",
        _T,
        metavar="TRACE",
    )
    """A recording, or the table of a tagged one, whose spans stand for those of outputs without text."""
    span_tokens: float = option(64.0, "Mean span length of --class-mix, in tokens.", _T, least=1)
    span_model: SpanModel | None = None
    """Fitted to *mix_from* (see recording.with_span_model)."""
    seed: int = 0
    """That of the run."""

    def __post_init__(self) -> None:
        if self.output_format is not None and self.format_file is not None:
            raise ValueError("--output-format and --format-file exclude each other: give one")
