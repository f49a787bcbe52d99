"""Cassettes, spans, observations and serving traces recorded by others, against counts taken from the raw files."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.shared import TRACES
from traces.errors import TraceError
from traces.model import LengthPrompt, OpaqueBlock, ReasoningBlock, Session, TextBlock, ToolCallBlock, Turn
from traces.readlog import ReadLog
from traces.registry import read_sessions, sniff
from traces.source import SourceFile, find_files


@dataclass(frozen=True)
class Counts:
    """What a folder holds; tokens are those that the recordings report."""

    files: int
    sessions: int
    turns: int
    calls: int
    input_tokens: int
    output_tokens: int


TABLE = {
    # Turns: recorded exchanges. Calls: distinct call ids in the replies; one call of pydantic-ai-cassettes has no
    # id, since the server refused it after it was generated. Tokens: the last usage of each reply.
    "llm-cassettes": Counts(7, 7, 17, 15, 2391, 832),
    "pydantic-ai-cassettes": Counts(16, 16, 26, 10, 7454, 7097),
    # One file holds four replies. Two providers count reasoning (804 and 227) beside the output tokens.
    "vercel-ai-fixtures": Counts(12, 15, 15, 9, 8955, 10081),
    # The two files hold the same ten spans: four model calls, four spans around them, two of embeddings.
    "openinference-vercel": Counts(2, 4, 4, 0, 142, 297),
    # Sixteen generations without a generation inside; two files hold the same trace, four share a session id.
    "langfuse": Counts(12, 9, 16, 7, 2099, 1196),
    "azure": Counts(2, 28_185, 28_185, 0, 40_421_844, 4_334_561),
    "llmservingsim": Counts(2, 310, 310, 0, 257_359, 196_344),
}


def load(folder: str) -> tuple[list[Session], ReadLog]:
    log = ReadLog()
    return list(read_sessions([str(TRACES / folder)], log)), log


def turns_of(sessions: list[Session]) -> list[Turn]:
    return [turn for session in sessions for turn in session.turns]


def usage_sums(turns: list[Turn]) -> tuple[int, int]:
    usages = [turn.final.usage for turn in turns if turn.final.usage is not None]
    return sum(usage.input_tokens or 0 for usage in usages), sum(usage.output_tokens or 0 for usage in usages)


@pytest.mark.parametrize("folder", TABLE)
def test_folder_holds_what_the_table_says(folder: str) -> None:
    sessions, log = load(folder)
    turns = turns_of(sessions)
    calls = sum(isinstance(block, ToolCallBlock) for turn in turns for block in turn.final.output)
    files = len(find_files([str(TRACES / folder)]))
    assert Counts(files, len(sessions), len(turns), calls, *usage_sums(turns)) == TABLE[folder]
    assert "file of no known format" not in log.omitted
    names = [session.id for session in sessions]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("folder", ["llm-cassettes", "pydantic-ai-cassettes"])
def test_each_recorded_exchange_is_a_turn(folder: str) -> None:
    recorded = sum(text.count("\n- request:") for text in texts(folder))
    assert len(turns_of(load(folder)[0])) == recorded


def test_azure_tables_row_by_row() -> None:
    sessions, _ = load("azure")
    rows = [row for text in texts("azure") for row in csv.reader(text.splitlines()[1:])]
    assert [(turn.prompt, turn.final.usage.output_tokens) for turn in turns_of(sessions) if turn.final.usage] == [
        (LengthPrompt(tokens=int(context)), int(generated)) for _, context, generated in rows
    ]
    # The fraction of the first row has seven digits; the time is that of 18:17:03.97996 UTC.
    assert sessions[0].start_s == pytest.approx(1700158623.97996)


def test_llmservingsim_counts_and_shared_prefixes() -> None:
    sessions, _ = load("llmservingsim")
    rows = [json.loads(line) for text in texts("llmservingsim") for line in text.splitlines()]
    assert usage_sums(turns_of(sessions)) == (
        sum(row["input_toks"] for row in rows),
        sum(row["output_toks"] for row in rows),
    )
    assert [session.start_s for session in sessions] == [row["arrival_time_ns"] / 1e9 for row in rows]
    first_blocks = {
        turn.prompt.block_ids[0]
        for turn in turns_of(sessions)
        if isinstance(turn.prompt, LengthPrompt) and turn.prompt.tokens >= 16
    }
    assert len(first_blocks) == len({tuple(row["input_tok_ids"][:16]) for row in rows if row["input_toks"] >= 16})


def test_servegen_draws_what_the_rates_say() -> None:
    sessions, log = load("servegen")
    (rates,) = TRACES.glob("servegen/deepseek-r1__chunk-0-trace.csv")
    expected = sum(float(row[1]) * 600 for row in csv.reader(rates.read_text().splitlines()))
    assert len(sessions) == pytest.approx(expected, rel=0.1)
    # Four files have no partner: two rate tables and two histogram files of other clients.
    assert log.omitted["ServeGen file without the other one of its client"] == 4
    blocks = [block for turn in turns_of(sessions) for block in turn.final.output if isinstance(block, OpaqueBlock)]
    reasoning = sum(block.tokens for block in blocks if block.label == "R")
    assert 0.4 < reasoning / sum(block.tokens for block in blocks) < 0.7


def test_bench_summaries_are_refused() -> None:
    files = find_files([str(TRACES / "inferencex-bench")])
    assert {sniff(file).name for file in files} == {"bench-summary"}
    with pytest.raises(TraceError, match=r"8 of: benchmark summary \(for simtool calibrate\)"):
        load("inferencex-bench")
    with pytest.raises(TraceError, match="simtool calibrate"):
        list(read_sessions([files[0].name], ReadLog()))


def test_langfuse_counts_the_innermost_generations() -> None:
    observations: dict[str, dict[str, object]] = {}
    for text in texts("langfuse"):
        observations |= {row["id"]: row for row in json.loads(text)["observations"]}
    generations = {name for name, row in observations.items() if row["type"] == "GENERATION"}
    holding = {row["parentObservationId"] for name, row in observations.items() if name in generations}
    assert {turn.id for turn in turns_of(load("langfuse")[0])} == generations - holding


def test_vercel_spans_count_the_calls_only() -> None:
    sessions, log = load("openinference-vercel")
    (path,) = TRACES.glob("openinference-vercel/*all-spans.json")
    spans = json.loads(path.read_text())
    counted = [row for row in spans if row["name"].endswith((".doGenerate", ".doStream"))]
    assert len(sessions) == len(counted)
    assert sum(log.duplicates.values()) == len(spans) + len(counted)
    streamed = [turn.final.times for turn in turns_of(sessions) if turn.final.times and turn.final.times.first_token_s]
    assert len(streamed) == 1


def test_deltas_of_a_stream_come_back_whole() -> None:
    """The reasoning of each chat stream is its reasoning deltas run together, none lost."""
    for path in sorted(TRACES.glob("vercel-ai-fixtures/*.chunks.txt")):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        if "choices" not in rows[0]:
            continue
        deltas = [choice["delta"] for row in rows for choice in row["choices"]]
        reasoning = "".join(delta.get("reasoning_content") or "" for delta in deltas)
        prose = "".join(delta.get("content") or "" for delta in deltas)
        (session,) = read_sessions([str(path)], ReadLog())
        output = session.turns[0].final.output
        assert "".join(b.text or "" for b in output if isinstance(b, ReasoningBlock)) == reasoning
        assert "".join(b.text for b in output if isinstance(b, TextBlock)) == prose


def test_a_cassette_with_encrypted_reasoning_keeps_its_count() -> None:
    name = "llm-cassettes/test_openai_responses__test_responses_round_trips_encrypted_reasoning.yaml"
    (session,) = read_sessions([str(TRACES / name)], ReadLog())
    hidden = [block for turn in session.turns for block in turn.final.output if isinstance(block, ReasoningBlock)]
    assert hidden
    assert all(block.text is None and block.tokens for block in hidden)


def test_no_other_folder_is_taken_for_these_formats() -> None:
    ours = {"vcr", "gemini", "otel", "openinference", "langfuse", "azure", "burstgpt", "vidur", "csv", "servegen"}
    ours |= {"llmservingsim", "agentic-mooncake", "applied-compute", "weka", "dynamo", "bench-summary"}
    folders = {*TABLE, "servegen", "inferencex-bench"}
    for file in find_files([str(TRACES)]):
        folder = Path(file.name).relative_to(TRACES).parts[0]
        if folder not in folders:
            assert named(file) not in ours, file.name


def named(file: SourceFile) -> str | None:
    try:
        return sniff(file).name
    except TraceError:
        return None


def texts(folder: str) -> list[str]:
    """The files of *folder* as text, in the order of reading."""
    paths = sorted(path for path in (TRACES / folder).rglob("*") if path.is_file())
    return [path.read_bytes().decode() for path in paths]
