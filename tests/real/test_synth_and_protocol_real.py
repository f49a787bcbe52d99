"""Synthetic traffic, protocol, composition and tool guesses on real recordings and real function schemas."""

from __future__ import annotations

from pathlib import Path

import msgspec
import orjson
import pytest

from scenarios.agents.spork import spork
from scenarios.ask import ask
from scenarios.composition.run import composition
from scenarios.options.read import ReadOptions
from scenarios.options.replay import ReplayOptions
from scenarios.protocol.arms import ArmOptions
from scenarios.protocol.check import Outcome
from scenarios.protocol.replays import ProtocolOptions
from scenarios.protocol.report import check_protocol
from scenarios.protocol.schemas import read_tools
from scenarios.protocol.simulate import RESULTS, run_protocol
from scenarios.synth.run import SynthOptions, synthesize
from scenarios.synth.words import Vocabulary
from tests.scenarios.synth.test_synth import source_windows, windows, written_by
from tests.shared import TRACES
from tokenclass.tokenizers import load_tokenizer
from traces.readlog import ReadLog
from traces.registry import read_sessions

RECORDINGS = ["tau-bench", "openhands", "claude-code", "agent-sessions-fixtures"]


def files(name: str) -> list[str]:
    """The smaller files of a folder of recordings: enough text, and quick to read."""
    found = sorted(path for path in (TRACES / name).iterdir() if path.stat().st_size < 5_000_000)
    return [str(path) for path in found if "few_shot_data" not in path.name][:6]


@pytest.mark.parametrize("name", RECORDINGS)
def test_synthetic_traffic_repeats_no_text_of_a_recording(name: str, tmp_path: Path) -> None:
    read = ReadOptions(skip_invalid=True, output_format=None)
    options = SynthOptions(paths=files(name), sessions=8, neutral_names=True)
    report = synthesize(options, read, tmp_path / "out.jsonl")
    ours = list(read_sessions([str(tmp_path / "out.jsonl")], ReadLog()))
    source = list(read_sessions(files(name), ReadLog(skip_invalid=True)))
    assert report.turns > 0
    assert not windows(written_by(ours, arguments_whole=True)) & source_windows(source)


def test_fitted_traffic_has_the_shares_of_tau_bench(tmp_path: Path) -> None:
    options = SynthOptions(paths=files("tau-bench"), sessions=60, lengths_only=True)
    report = synthesize(options, ReadOptions(skip_invalid=True), tmp_path / "out.jsonl")
    rows = {row.quantity: row for row in report.compared}
    for name in ("S span tokens", "F span tokens", "calls per turn", "output tokens of a turn"):
        assert rows[name].synthetic_mean == pytest.approx(rows[name].source_mean, rel=0.2), name
        assert rows[name].ks_statistic < 0.15, name


def test_traffic_fitted_to_tau_bench_cannot_be_told_from_it(tmp_path: Path) -> None:
    """Long sessions there are about other tools than short ones, and first replies are short."""
    options = SynthOptions(paths=files("tau-bench"), sessions=1000, lengths_only=True)
    report = synthesize(options, ReadOptions(skip_invalid=True), tmp_path / "out.jsonl")
    for row in report.compared:
        assert row.ks_p > 0.05, row


@pytest.mark.parametrize("share", [0.25, 0.6])
def test_the_schema_share_of_tau_bench_goes_where_it_is_sent(share: float, tmp_path: Path) -> None:
    options = SynthOptions(paths=files("tau-bench"), sessions=60, target_w_S=share)
    report = synthesize(options, ReadOptions(skip_invalid=True), tmp_path / "out.jsonl")
    assert report.w_S == pytest.approx(share, abs=0.005)


@pytest.mark.parametrize(
    "name",
    [
        "data__BFCL_v4_live_simple.json",
        "data__BFCL_v4_parallel_multiple.json",
        "multi_turn_func_doc__travel_booking.json",
    ],
)
def test_every_bfcl_style_file_gives_tools(name: str) -> None:
    path = TRACES / "bfcl" / name
    tools = read_tools(path, Vocabulary(load_tokenizer()))
    named = set()
    for line in path.read_bytes().splitlines():
        row = orjson.loads(line)
        named |= {one["name"] for one in row.get("function", [row])}
    assert {tool.name for tool in tools} == named
    assert b'"dict"' not in msgspec.json.encode([tool.schema for tool in tools])


def test_the_protocol_on_real_schemas(tmp_path: Path) -> None:
    arms = ArmOptions(schemas=TRACES / "bfcl" / "data__BFCL_v4_live_simple.json", sessions=20)
    registration, results = run_protocol(ProtocolOptions(arms=arms, gammas=(8,), batches=(1,)), ReadOptions(), tmp_path)
    assert registration.content.arms["B"].w_S == 1
    assert {run.arm for run in results.runs} == set("ABCD")
    answer = check_protocol(tmp_path / RESULTS)
    assert answer.outcomes["R1"] is Outcome.NOT_REJECTED
    assert answer.outcomes["R4"] is Outcome.NOT_ENOUGH


def test_composition_and_tool_guesses_on_tau_bench() -> None:
    paths, read = files("tau-bench"), ReadOptions(skip_invalid=True)
    answer = composition(paths, read, ReplayOptions(nu=1.3))
    assert len(answer.combinations) == 8
    assert answer.factors.h > 0.5
    for row in answer.combinations:
        assert sum(part.share for part in row.parts) == pytest.approx(row.residual.value, abs=1e-9)
    guesses = {row.name: row for row in spork(ask(paths, read, ReplayOptions()), [0.9], 0.0, 0).predictors}
    assert guesses["Markov of order 1"].accuracy.value > guesses["commonest calls"].accuracy.value
