"""Synthetic traffic: like its source in numbers, unlike it in text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import orjson
import pytest

from scenarios.ask import ask
from scenarios.options.read import ReadOptions
from scenarios.options.replay import OptionError, PlatformOptions, ReplayOptions
from scenarios.synth.declared import Declared
from scenarios.synth.fit import fit
from scenarios.synth.lengths import LengthWriter
from scenarios.synth.model import SynthModel
from scenarios.synth.neutral import neutral
from scenarios.synth.plan import Planner
from scenarios.synth.run import SynthOptions, SynthReport, synthesize
from scenarios.synth.texts import TextWriter
from scenarios.synth.words import Vocabulary
from tests.shared import AGENT_LOOP
from tokenclass.classes import PositionClass, SubClass
from tokenclass.layout import Layout
from tokenclass.tagged import TaggedSession
from tokenclass.tagger import tag_sessions
from tokenclass.tokenizers import load_tokenizer
from traces.errors import SimtoolError
from traces.model import Session, ToolCallBlock
from traces.readlog import ReadLog
from traces.registry import read_sessions

TOKENIZER = load_tokenizer()
VOCABULARY = Vocabulary(TOKENIZER)
LAYOUT = Layout.named()
WINDOW = 12
KEYWORDS = {"additionalProperties", "exclusiveMinimum", "exclusiveMaximum", "minProperties", "maxProperties"}
"""Names of JSON Schema that are longer than that."""


def recorded() -> list[Session]:
    return list(read_sessions([str(AGENT_LOOP)], ReadLog()))


@pytest.fixture(scope="module")
def model() -> SynthModel:
    return fit(recorded(), TOKENIZER)


def tagged(sessions: list[Session]) -> list[TaggedSession]:
    return list(tag_sessions(sessions, TOKENIZER, LAYOUT))


def shares(sessions: list[TaggedSession]) -> np.ndarray[Any, Any]:
    counts = sum(turn.final.labels.subclass_tokens() for session in sessions for turn in session.turns)
    return np.asarray(counts) / np.sum(counts)


def strings(value: object, *, keys: bool) -> Iterator[str]:
    """All strings in a JSON value; with *keys* those of objects too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from strings(one, keys=keys)
    elif isinstance(value, dict):
        for name, one in value.items():
            if keys:
                yield name
            yield from strings(one, keys=keys)


def windows(texts: Iterator[str]) -> set[str]:
    return {text[at : at + WINDOW] for text in texts for at in range(len(text) - WINDOW + 1)}


def source_windows(sessions: list[Session]) -> set[str]:
    return windows(strings(orjson.loads(msgspec.json.encode(sessions)), keys=True))


def written_by(sessions: list[Session], *, arguments_whole: bool) -> Iterator[str]:
    """Text of synthetic sessions: tool names apart, keys too unless *arguments_whole*."""
    for session in sessions:
        for message in session.messages:
            for block in message.blocks:
                if isinstance(block, ToolCallBlock) and not arguments_whole:
                    yield from strings(orjson.loads(block.arguments), keys=False)
                elif isinstance(block, ToolCallBlock):
                    yield from (block.name, block.arguments)
                else:
                    yield getattr(block, "text", None) or ""
        for tool in session.tools:
            yield tool.description
            yield from (value for node in _enums(tool.parameters) for value in node)
            if arguments_whole:
                yield from (text for text in strings(tool.parameters, keys=True) if text not in KEYWORDS)


def _enums(node: object) -> Iterator[list[str]]:
    if isinstance(node, dict):
        if isinstance(node.get("enum"), list):
            yield [one for one in node["enum"] if isinstance(one, str)]
        for inner in node.values():
            yield from _enums(inner)


def test_labels_come_back_as_fitted(model: SynthModel) -> None:
    source = tagged(recorded())
    ours = tagged(list(TextWriter(model, VOCABULARY, 3).sessions(Planner(model, 3).sessions(60))))
    np.testing.assert_allclose(shares(ours), shares(source), atol=0.04)
    np.testing.assert_array_equal(shares(ours) > 0, shares(source) > 0)


def test_lengths_only_is_the_same_traffic_without_text(model: SynthModel) -> None:
    plans = list(Planner(model, 5).sessions(60))
    with_text = tagged(list(TextWriter(model, VOCABULARY, 5).sessions(iter(plans))))
    lengths = tagged(list(LengthWriter(model, VOCABULARY, TOKENIZER, LAYOUT, 5).sessions(iter(plans))))
    np.testing.assert_allclose(shares(lengths), shares(with_text), atol=0.03)
    firsts = [[one.turns[0].prompt.tokens for one in each] for each in (lengths, with_text)]
    np.testing.assert_allclose(*firsts, atol=2)
    prompts = [np.mean([turn.prompt.tokens for one in each for turn in one.turns]) for each in (lengths, with_text)]
    assert prompts[0] == pytest.approx(prompts[1], rel=0.02)


def test_no_text_of_the_source_is_left(model: SynthModel) -> None:
    sessions = list(TextWriter(model, VOCABULARY, 1).sessions(Planner(model, 1).sessions(40)))
    ours = windows(written_by(sessions, arguments_whole=False))
    assert len(ours) > 10_000
    assert not ours & source_windows(recorded())


def test_neutral_names_leave_nothing_at_all(model: SynthModel) -> None:
    renamed = neutral(model)
    sessions = list(TextWriter(renamed, VOCABULARY, 1).sessions(Planner(renamed, 1).sessions(40)))
    assert not windows(written_by(sessions, arguments_whole=True)) & source_windows(recorded())
    names = {tool.name for session in recorded() for tool in session.tools}
    found = msgspec.json.encode(sessions).decode()
    assert not [name for name in names if name in found]


def test_a_model_can_be_saved_and_holds_no_text(model: SynthModel) -> None:
    data = msgspec.json.encode(model)
    assert msgspec.json.decode(data, type=SynthModel) == model
    keys = {name for session in recorded() for tool in session.tools for name in strings(tool.parameters, keys=True)}
    names = {tool.name for session in recorded() for tool in session.tools} | keys
    texts = (text for text in strings(orjson.loads(data), keys=True) if text not in names)
    plain = (text for text in texts if "call:" not in text and "|" not in text)
    assert not windows(plain) & source_windows(recorded())


def test_the_same_seed_gives_the_same_bytes_and_sessions_do_not_depend_on_their_number(model: SynthModel) -> None:
    few = list(TextWriter(model, VOCABULARY, 2).sessions(Planner(model, 2).sessions(5)))
    many = list(TextWriter(model, VOCABULARY, 2).sessions(Planner(model, 2).sessions(9)))
    assert msgspec.json.encode(many[: len(few)]) == msgspec.json.encode(few)
    other = list(TextWriter(model, VOCABULARY, 4).sessions(Planner(model, 4).sessions(5)))
    assert msgspec.json.encode(other) != msgspec.json.encode(few)


def test_sub_agents_name_the_turn_that_starts_them(model: SynthModel) -> None:
    sessions = list(TextWriter(model, VOCABULARY, 8).sessions(Planner(model, 8).sessions(150)))
    turns = {(session.id, turn.id) for session in sessions for turn in session.turns}
    links = [session.parent for session in sessions if session.parent is not None]
    assert links
    assert all((link.session_id, link.turn_id) in turns for link in links)


def run(tmp_path: Path, **given: Any) -> SynthReport:
    return synthesize(SynthOptions(**given), ReadOptions(), tmp_path / "out.jsonl")


@pytest.mark.parametrize("lengths_only", [False, True])
@pytest.mark.parametrize("share", [0.35, 0.85])
def test_the_schema_share_goes_where_it_is_sent(tmp_path: Path, share: float, lengths_only: bool) -> None:
    """Within half a point, as the tagger labels what was written."""
    report = run(tmp_path, paths=(str(AGENT_LOOP),), sessions=50, target_w_S=share, lengths_only=lengths_only)
    found = tagged(list(read_sessions([str(tmp_path / "out.jsonl")], ReadLog())))
    counts = sum(turn.final.labels.class_tokens() for session in found for turn in session.turns)
    assert np.asarray(counts)[PositionClass.S] / np.sum(counts) == pytest.approx(share, abs=0.005)
    assert report.w_S == pytest.approx(share, abs=0.005)
    assert (report.non_schema_scale > 1) == (share < 0.7)
    assert not [note for note in report.notes if "points off" in note]


def test_a_share_that_is_missed_says_so(tmp_path: Path) -> None:
    report = run(tmp_path, declared=Declared(turns=2), sessions=2, target_w_S=0.9)
    assert report.w_S is not None
    assert 0.005 < abs(report.w_S - 0.9) < 0.01
    assert any("points off --target-w-s" in note for note in report.notes)
    with pytest.raises(SimtoolError, match="nearest schema share"):
        run(tmp_path, declared=Declared(turns=2), sessions=1, target_w_S=0.97)


def test_fitted_lengths_pass_two_sample_tests(tmp_path: Path) -> None:
    report = run(tmp_path, paths=(str(AGENT_LOOP),), sessions=200, lengths_only=True)
    rows = {row.quantity: row for row in report.compared}
    for name in ("turns per session", "calls per turn", "tool wait s", "R span tokens", "F span tokens"):
        assert rows[name].ks_p > 0.05, name
    assert rows["prompt tokens of a turn"].synthetic_mean == pytest.approx(4724, rel=0.06)
    assert rows["output tokens of a turn"].synthetic_mean == pytest.approx(327, rel=0.15)


def test_declared_traffic_follows_its_knobs(tmp_path: Path) -> None:
    knobs = Declared(tools=5, turns=6, rate_per_s=3.0, nu=1.5, schema_density=1.0, reasoning=False)
    report = run(tmp_path, declared=knobs, sessions=150, target_w_S=0.5)
    sessions = list(read_sessions([str(tmp_path / "out.jsonl")], ReadLog()))
    turns = [turn for session in sessions for turn in session.turns]
    assert report.w_S == pytest.approx(0.5, abs=0.04)
    assert len(sessions[0].tools) == 5
    assert len(turns) / len(sessions) == pytest.approx(6, abs=0.7)
    assert np.mean([len(turn.attempts) for turn in turns]) == pytest.approx(1.5, abs=0.12)
    starts = [session.start_s or 0.0 for session in sessions]
    assert len(turns) / (starts[-1] - starts[0]) == pytest.approx(3.0, rel=0.25)
    labels = shares(tagged(sessions[:40]))
    assert labels[SubClass.T] == 0
    assert labels[SubClass.V] > 0
    assert sum(session.class_tokens[PositionClass.R] for session in tagged(sessions[:20])) == 0


def test_unreachable_shares_and_bad_knobs_are_errors(tmp_path: Path) -> None:
    with pytest.raises(SimtoolError, match="target-w-s"):
        run(tmp_path, target_w_S=1.5)
    with pytest.raises(SimtoolError, match="schema-density"):
        Declared(schema_density=2)


def test_a_moved_share_comes_with_its_saving(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    options = SynthOptions(paths=[str(AGENT_LOOP)], sessions=4, target_w_S=0.5)
    saving = synthesize(options, ReadOptions(), path).saving
    assert saving is not None
    replayed = ask([str(path)], ReadOptions(), ReplayOptions()).answer
    expected = next(point for point in replayed.gamma_curve if point.gamma == replayed.replay.gamma)
    own = next(point for point in saving.points if point.stretch == 1)
    assert own.decode_saving == pytest.approx(expected.exact_decode_saving, abs=0.002)
    assert own.w_S == pytest.approx(0.5, abs=0.02)
    assert len({point.w_S for point in saving.points}) == len(saving.points)


def test_a_saving_that_cannot_be_known_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    for platform in (PlatformOptions(speculative_method="ngram"), PlatformOptions(num_speculative_tokens=0)):
        options = SynthOptions(sessions=2, target_w_S=0.5, replay=ReplayOptions(platform=platform))
        with pytest.raises(OptionError, match=r"--speculative-method|--gamma 0"):
            synthesize(options, ReadOptions(), path)
    assert not path.exists()
