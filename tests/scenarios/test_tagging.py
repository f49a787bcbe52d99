"""What a recording's output tokens are made of: against counts made from the sample's JSON by other means."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import msgspec
import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios.options.read import ReadOptions
from scenarios.options.replay import OptionError
from scenarios.recordings.recording import open_recording, tagged_sessions
from scenarios.recordings.spanlengths import LengthCounts
from scenarios.tags.tagging import tag_recording
from scenarios.tags.tagreport import TagReport
from scenarios.tags.tagshow import ShownHidden, ShownText, show_turn
from tests.shared import AGENT_LOOP
from tests.tokenclass.sessions import CALL, TOOLS, one_turn
from tokenclass.classes import CLASS_OF_SUBCLASS, PositionClass
from tokenclass.tokenizers import load_tokenizer
from traces.model import LengthPrompt, OpaqueBlock, ReasoningBlock, Session, TextBlock, Turn, Usage, Verdict

SAMPLE = str(AGENT_LOOP)


@pytest.fixture(scope="module")
def report() -> TagReport:
    return tag_recording([SAMPLE], ReadOptions(), by_session=True)


def _trace(path: Path, *sessions: Session) -> str:
    path.write_bytes(b"\n".join([b'{"simtool_trace":1}', *map(msgspec.json.encode, sessions)]) + b"\n")
    return str(path)


def _parts(blocks: list[dict]) -> dict[str, list[str]]:
    """The texts of each class of an output in Hermes format, written from the recorded blocks."""
    parts: dict[str, list[str]] = {"S": [], "R": [], "F": []}
    for before, block in zip([None, *blocks], blocks, strict=False):
        kind = block["type"]
        if kind == "reasoning":
            parts["R"].append(f"<think>\n{block['text']}\n</think>\n\n")
        elif kind == "text":
            parts["F"].append(block["text"])
        elif kind == "tool_call":
            call = f'<tool_call>\n{{"name": "{block["name"]}", "arguments": {block["arguments"]}}}\n</tool_call>'
            if before is not None and before["type"] == "tool_call":
                parts["S"].append("\n" + call)
            else:
                parts["S"].append(call)
                if before is not None and before["type"] == "text":
                    parts["F"][-1] += "\n"
    last = "S" if blocks[-1]["type"] == "tool_call" else "F"
    parts[last].append("<|im_end|>")
    return parts


def _outputs() -> list[tuple[list[dict], bool]]:
    """The blocks of each attempt and whether it is the one that counts."""
    lines = [json.loads(line) for line in AGENT_LOOP.read_text().splitlines()[1:]]
    return [
        (attempt["output"], attempt is turn["attempts"][-1])
        for session in lines
        for turn in session["turns"]
        for attempt in turn["attempts"]
    ]


def test_tokens_of_the_sample(report: TagReport) -> None:
    """Special tokens stand between most parts, so that parts tokenized apart give the tokens of the whole."""
    tokenizer = load_tokenizer("qwen3")
    counted = {True: Counter(), False: Counter()}
    for blocks, counts in _outputs():
        for label, texts in _parts(blocks).items():
            counted[counts][label] += sum(len(tokenizer.encode(text)) for text in texts)
    assert report.outputs.class_tokens == dict(counted[True])
    assert report.outputs.rejected_class_tokens == dict(counted[False])
    assert report.outputs.rejected_attempts == sum(not counts for _, counts in _outputs())
    total = counted[True].total()
    assert report.outputs.output_tokens == total
    assert report.outputs.w_S == pytest.approx(counted[True]["S"] / total)


def test_spans_of_the_sample(report: TagReport) -> None:
    """In the sample prose and reasoning precede the calls, so each class has one span an output at most."""
    finals = [blocks for blocks, counts in _outputs() if counts]
    kinds = {"S": "tool_call", "R": "reasoning", "F": "text"}
    for label, spans in report.outputs.span_tokens.items():
        having = sum(any(block["type"] == kinds[label] for block in blocks) for blocks in finals)
        assert spans.count == having
        assert spans.mean == pytest.approx(report.outputs.class_tokens[label] / having)


def test_tools_and_arguments_of_the_sample(report: TagReport) -> None:
    tokenizer = load_tokenizer("qwen3")
    calls, tokens, keys = Counter(), Counter(), Counter()
    for blocks, counts in _outputs():
        found = [block for block in blocks if block["type"] == "tool_call"] if counts else []
        for block, text in zip([*found, *found[-1:]], _parts(blocks)["S"], strict=False):
            tokens[block["name"]] += len(tokenizer.encode(text.removeprefix("\n")))
        for before in found[:-1]:
            tokens[before["name"]] += 1
        for block in found:
            calls[block["name"]] += 1
            keys.update((block["name"], key) for key in json.loads(block["arguments"]))
    assert {row.tool: row.calls for row in report.tools} == dict(calls)
    assert {row.tool: row.tokens for row in report.tools} == dict(tokens)
    assert {(row.tool, row.key): row.count for row in report.keys} == dict(keys)
    assert [row.tokens for row in report.keys] == sorted((row.tokens for row in report.keys), reverse=True)
    for row in report.tools:
        assert sum(key.tokens for key in report.keys if key.tool == row.tool) < row.tokens


def test_parts_add_up(report: TagReport) -> None:
    whole = report.outputs
    assert report.sessions is not None
    for rows in (report.agents, report.sessions):
        for name in ("turns", "output_tokens", "forced_known_S_tokens", "rejected_attempts"):
            assert sum(getattr(row.outputs, name) for row in rows) == getattr(whole, name)
        for name in ("S", "R", "F"):
            assert sum(row.outputs.span_tokens[name].count for row in rows) == whole.span_tokens[name].count
    assert sum(whole.subclass_tokens.values()) == whole.class_tokens["S"] == sum(row.tokens for row in report.tools)
    assert sum(share or 0 for share in whole.subclass_share_of_S.values()) == pytest.approx(1)
    assert whole.forced_known_S_tokens == whole.class_tokens["S"]
    assert 0 < (whole.forced_share_of_S or 0) < 1


def test_labels_are_those_that_a_replay_takes(report: TagReport) -> None:
    """Prompts are left out here; the outputs of whole sessions have the same labels."""
    options = ReadOptions()
    tagged = list(tagged_sessions(open_recording([SAMPLE], options), options))
    assert report.sessions is not None
    assert [row.session_id for row in report.sessions] == [session.id for session in tagged]
    for row, session in zip(report.sessions, tagged, strict=True):
        assert list(row.outputs.class_tokens.values()) == session.class_tokens.tolist()


def test_more_processes_give_the_same_bytes(tmp_path: Path) -> None:
    results = []
    for jobs in (1, 3):
        spans = tmp_path / f"{jobs}.parquet"
        found = tag_recording([SAMPLE], ReadOptions(), jobs=jobs, by_session=True, spans=spans)
        results.append((msgspec.json.encode(found), spans.read_bytes()))
    assert results[0] == results[1]


def test_span_table(tmp_path: Path, report: TagReport) -> None:
    target = tmp_path / "spans.parquet"
    tag_recording([SAMPLE], ReadOptions(), spans=target)
    table = pq.read_table(target).to_pandas()
    last = table.groupby(["session_id", "turn_id"])["attempt"].transform("max") == table["attempt"]
    assert table[last].groupby("class")["tokens"].sum().to_dict() == report.outputs.class_tokens
    for _, rows in table.groupby(["session_id", "turn_id", "attempt"], sort=False):
        ends = rows["start_token"] + rows["tokens"]
        assert rows["start_token"].tolist() == [0, *ends[:-1]]
        assert (rows["subclass"].to_numpy()[1:] != rows["subclass"].to_numpy()[:-1]).all()


def test_an_error_in_a_process_is_told(tmp_path: Path) -> None:
    path = _trace(tmp_path / "t.jsonl", one_turn(OpaqueBlock(tokens=3, label="Q")))
    with pytest.raises(Exception, match="label 'Q'") as alone:
        tag_recording([path], ReadOptions())
    with pytest.raises(type(alone.value), match="label 'Q'"):
        tag_recording([path], ReadOptions(), jobs=2)


def test_nothing_is_forced_where_no_schema_is_known(tmp_path: Path) -> None:
    known = tag_recording([_trace(tmp_path / "a.jsonl", one_turn(CALL, tools=TOOLS))], ReadOptions())
    unknown = tag_recording([_trace(tmp_path / "b.jsonl", one_turn(CALL))], ReadOptions())
    assert known.outputs.forced_share_of_S is not None
    assert unknown.outputs.forced_share_of_S is None
    assert unknown.tools[0].forced_share is None
    assert unknown.outputs.class_tokens == known.outputs.class_tokens


def test_hidden_tokens_are_counted(tmp_path: Path) -> None:
    session = one_turn(ReasoningBlock(tokens=312), TextBlock(text="Done."), usage=Usage(reasoning_tokens=312))
    path = _trace(tmp_path / "t.jsonl", session)
    outputs = tag_recording([path], ReadOptions()).outputs
    assert outputs.hidden_reasoning_tokens == 312
    assert outputs.class_tokens["R"] > 312
    shown = show_turn([path], ReadOptions(), "s/t0")
    assert ShownHidden({PositionClass.R: 312}) in shown.attempts[0].parts


def test_outputs_known_by_length_have_shares_and_no_tools(tmp_path: Path) -> None:
    turn = Turn(id="t", prompt=LengthPrompt(tokens=9), attempts=one_turn(OpaqueBlock(tokens=500)).turns[0].attempts)
    path = _trace(tmp_path / "t.jsonl", Session(id="s", turns=(turn,)))
    report = tag_recording([path], ReadOptions(class_mix="S=1"))
    assert (report.outputs.output_tokens, report.outputs.opaque_tokens, report.outputs.w_S) == (500, 500, 1.0)
    assert report.tools == []
    default = tag_recording([path], ReadOptions())
    assert any("default" in text for text in default.assumptions)


def test_a_turn_whose_last_attempt_was_rejected(tmp_path: Path) -> None:
    turn = one_turn(TextBlock(text="No.")).turns[0]
    rejected = msgspec.structs.replace(turn.final, verdict=Verdict.REJECTED)
    session = one_turn(TextBlock(text="No."))
    both = msgspec.structs.replace(session, turns=(msgspec.structs.replace(turn, attempts=(rejected, rejected)),))
    outputs = tag_recording([_trace(tmp_path / "t.jsonl", both)], ReadOptions()).outputs
    assert (outputs.rejected_attempts, outputs.turns_not_accepted) == (1, 1)
    assert outputs.rejected_class_tokens == outputs.class_tokens


def test_a_shown_turn_is_its_rendered_text() -> None:
    blocks = next(blocks for blocks, counts in _outputs() if counts)
    shown = show_turn([SAMPLE], ReadOptions(), "1/1")
    parts = [part for part in shown.attempts[0].parts if isinstance(part, ShownText)]
    for label in PositionClass:
        text = "".join(part.text for part in parts if CLASS_OF_SUBCLASS[part.label] is label)
        assert text == "".join(_parts(blocks)[label.name])
    assert shown == show_turn([SAMPLE], ReadOptions(), f"{shown.session_id}/{shown.turn_id}")


def test_ids_go_before_numbers(tmp_path: Path) -> None:
    sessions = [msgspec.structs.replace(one_turn(TextBlock(text=name)), id=name) for name in ("a/b", "3", "1")]
    path = _trace(tmp_path / "t.jsonl", *sessions)
    asked = {wanted: show_turn([path], ReadOptions(), wanted).session_id for wanted in ("1/t0", "2/1", "3/1", "a/b/1")}
    assert asked == {"1/t0": "1", "2/1": "3", "3/1": "3", "a/b/1": "a/b"}


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ("ops-3391-flaky/t01", "ops-3391-flaky-quote"),
        ("ops-3391-flaky-quote/t1", "ops-3391-flaky-quote/t01"),
        ("12/1", "number from 1 to 11"),
        ("1/11", "number from 1 to 10"),
        ("1/0", "number from 1 to 10"),
        ("t01", "SESSION/TURN"),
    ],
)
def test_a_turn_that_is_not_there(wanted: str, told: str) -> None:
    with pytest.raises(OptionError, match=told):
        show_turn([SAMPLE], ReadOptions(), wanted)


@given(st.lists(st.lists(st.integers(1, 50), max_size=20), min_size=1, max_size=4))
def test_distributions_are_those_of_all_values(groups: list[list[int]]) -> None:
    merged = LengthCounts()
    for group in groups:
        merged.merge(LengthCounts(group))
    values = [value for group in groups for value in group]
    summary = merged.summary()
    assert summary.count == len(values)
    if values:
        assert summary.mean == pytest.approx(np.mean(values))
        assert summary.max == max(values)
        points = np.percentile(values, [50, 90, 99])
        assert [summary.p50, summary.p90, summary.p99] == pytest.approx(points.tolist())
    else:
        assert (summary.mean, summary.p99, summary.max) == (None, None, None)
