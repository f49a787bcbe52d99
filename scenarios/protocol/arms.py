"""The traffic of the arms: A free prose, B schema tool calls, C long reasoning, D agent loops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from scenarios.options.read import ReadOptions
from scenarios.protocol.schemas import read_tools
from scenarios.recordings.recording import known_format, open_recording
from scenarios.synth.declared import Declared, declared_model, exponential
from scenarios.synth.empirical import Choice, Empirical
from scenarios.synth.model import CALL, SEPARATOR, Head, SessionKind, SynthModel, ToolModel
from scenarios.synth.plan import Planner
from scenarios.synth.texts import TextWriter
from scenarios.synth.words import Vocabulary
from tokenclass.tokenizers import load_tokenizer
from traces.model import Session

PURPOSES = {
    "A": "free prose: control, calibrates kappa, delta + d, o and c_1",
    "B": "tool calls from function schemas at temperature 0",
    "C": "long chains of reasoning",
    "D": "agent loops: mixed traffic",
}
PROSE_TOKENS = 400.0
REASONING_TOKENS = 1200.0
PROMPT_TOKENS = 200.0
TOOLS_PER_PROMPT = 6
PARALLEL_SHARE = 0.25
"""Arm B outputs with two calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmOptions:
    """What the arms are made of."""

    schemas: Path | None = None
    """BFCL-style file for arm B; None: declared tools."""
    traces: Sequence[str] = ()
    """Recordings for arm D; none: declared agent loops."""
    sessions: int = 60
    """Sessions of each arm, D apart, which has a fourth of them or what is recorded."""
    seed: int = 0


def arm_sessions(options: ArmOptions, read: ReadOptions) -> Iterator[tuple[str, list[Session]]]:
    """Each arm with its sessions. Raises TraceError or SimtoolError for files that cannot be used."""
    vocabulary = Vocabulary(load_tokenizer(read.tokenizer))
    tools = _declared_tools(vocabulary) if options.schemas is None else read_tools(options.schemas, vocabulary)
    models = {
        "A": _one_turn({"F": 1.0}, {"F-": exponential(PROSE_TOKENS)}, ()),
        "B": _one_turn(_calls(tools), {}, tools),
        "C": _one_turn(
            {SEPARATOR.join(("R", "F")): 1.0},
            {"R-": exponential(REASONING_TOKENS), "F-": exponential(PROSE_TOKENS / 8)},
            (),
        ),
    }
    for name, model in models.items():
        yield name, _written(model, vocabulary, options.sessions, options.seed, name)
    if options.traces:
        recording = open_recording(options.traces, read)
        yield "D", list(known_format(recording, read)[0])
        return
    loops = declared_model(Declared(), vocabulary)
    yield "D", _written(loops, vocabulary, max(1, options.sessions // 4), options.seed, "D")


def _written(model: SynthModel, vocabulary: Vocabulary, count: int, seed: int, name: str) -> list[Session]:
    salted = seed * len(PURPOSES) + list(PURPOSES).index(name)
    return list(TextWriter(model, vocabulary, salted).sessions(Planner(model, salted).sessions(count)))


def _declared_tools(vocabulary: Vocabulary) -> tuple[ToolModel, ...]:
    return declared_model(Declared(tools=12), vocabulary).tools


def _calls(tools: Sequence[ToolModel]) -> dict[str, float]:
    single = {f"{CALL}{tool.name}": 1 - PARALLEL_SHARE for tool in tools}
    parallel = {
        SEPARATOR.join((f"{CALL}{one.name}", f"{CALL}{other.name}")): PARALLEL_SHARE
        for one, other in zip(tools, [*tools[1:], tools[0]], strict=True)
    }
    return single | parallel


def _one_turn(skeletons: dict[str, float], lengths: dict[str, Empirical], tools: tuple[ToolModel, ...]) -> SynthModel:
    """Sessions of one turn; each offers a handful of the tools, as a benchmark's prompts do."""
    names = [tool.name for tool in tools]
    groups = [tuple(names[at : at + TOOLS_PER_PROMPT]) for at in range(0, len(names), TOOLS_PER_PROMPT)] or [()]
    choice = Choice.of(skeletons)
    return SynthModel(
        root=SessionKind(
            turns=Empirical((1.0,)),
            heads=tuple(Head(weight=1.0, tokens=20, tools=group) for group in groups),
            first_user_tokens=exponential(PROMPT_TOKENS),
        ),
        sub=None,
        tools=tools,
        skeletons={"first": choice},
        block_tokens=lengths,
        attempts=Choice.of({"1": 1.0}),
        later_user_tokens=None,
        reset_share=0.0,
        reset_tokens=None,
        user_wait_s=None,
        gap_s=None,
    )
