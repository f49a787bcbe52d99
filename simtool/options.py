"""Options that several commands share, each defined once, grouped as --help shows them."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

RECORDING = "Recording"
ENGINE = "Engine"
SPECULATION = "Speculative decoding"
CACHE = "Prefix cache"
LOAD = "Workload"
MONEY = "Cost"
OUTPUT = "Output"

Paths = Annotated[
    list[str], typer.Argument(metavar="TRACE...", help="Recordings: files, folders, or - for standard input.")
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="Recording format; found by sniffing. csv:arrival=A,input=B,output=C names the columns of a table.",
        rich_help_panel=RECORDING,
    ),
]
SkipInvalid = Annotated[
    bool,
    typer.Option(
        "--skip-invalid", help="Leave unusable records out and count them by reason.", rich_help_panel=RECORDING
    ),
]
TokenizerName = Annotated[
    str,
    typer.Option(
        "--tokenizer",
        metavar="NAME|FILE",
        help="The target's tokenizer: qwen3, a tokenizer.json, a .tiktoken file.",
        rich_help_panel=RECORDING,
    ),
]
ToolCallFormat = Annotated[
    str,
    typer.Option(
        "--tool-call-format",
        metavar="NAME",
        help="How the target writes tool calls; recorded ones are rendered so.",
        rich_help_panel=RECORDING,
    ),
]
OutputFormat = Annotated[
    str | None,
    typer.Option(
        "--output-format",
        metavar="FAMILY",
        help="Format of recorded completion text (hermes, glm45, openai_harmony ...), or several with commas; found by "
        "detection.",
        rich_help_panel=RECORDING,
    ),
]
FormatFile = Annotated[
    str | None,
    typer.Option(
        "--format-file",
        metavar="FILE",
        help="Your own output format, declared in TOML or JSON (docs/adding-a-format.md).",
        rich_help_panel=RECORDING,
    ),
]

ReasoningEnd = Annotated[
    Literal["strict", "tool-token"],
    typer.Option(
        "--reasoning-end",
        help="What ends an open reasoning block in completion text: its end tag, or a tool call too.",
        rich_help_panel=RECORDING,
    ),
]
RecordingTokenizer = Annotated[
    str | None,
    typer.Option(
        "--recording-tokenizer",
        metavar="NAME|FILE",
        help="Vocabulary of completions recorded as token ids without text.",
        rich_help_panel=RECORDING,
    ),
]
ClassMixOption = Annotated[
    str | None,
    typer.Option(
        "--class-mix",
        metavar="S=..,R=..,F=..",
        help="Class shares of output tokens that have no text (Mooncake, Azure ...).",
        rich_help_panel=RECORDING,
    ),
]
MixFrom = Annotated[
    str | None,
    typer.Option(
        "--mix-from",
        metavar="TRACE",
        help="Draw classes and spans of output tokens that have no text as they follow each other in TRACE: a "
        "recording with text, or what `simtool tag --parquet` wrote of one.",
        rich_help_panel=RECORDING,
    ),
]
SpanTokens = Annotated[
    float,
    typer.Option("--span-tokens", min=1, help="Mean span length of --class-mix, in tokens.", rich_help_panel=RECORDING),
]
Seed = Annotated[int, typer.Option("--seed", help="One seed gives one answer.", rich_help_panel=OUTPUT)]
Json = Annotated[
    str | None,
    typer.Option("--json", metavar="FILE", help="JSON to FILE, or - for standard output.", rich_help_panel=OUTPUT),
]
NoProgress = Annotated[bool, typer.Option("--no-progress", help="No progress bar.", rich_help_panel=OUTPUT)]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Only the verdict.", rich_help_panel=OUTPUT)]
