"""What a run's folder holds beside its answer: tools, excerpt, the curve over schema, and no leftovers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow.parquet as pq
import pytest

from scenarios.agents.toolcost import UNNAMED
from scenarios.ask import Asked, ask
from scenarios.options.settings import settings
from scenarios.recordings.excerpt import OUTPUT_CHARS, OUTPUTS, ExcerptPicker
from scenarios.runs.outputs import ALL_FILES, check_output_dir, write_outputs
from scenarios.runs.rundetails import RunDetails
from tests.scenarios.anonymized import anonymize
from tests.shared import AGENT_LOOP


def _asked(path: Path | str, **options: Any) -> tuple[Asked, ExcerptPicker]:
    chosen, picker = settings({"gamma": "4", **options}), ExcerptPicker()
    return ask([str(path)], chosen.read, chosen.replay, look=picker.observer), picker


def _details(path: Path | str, folder: Path, **options: Any) -> tuple[Asked, RunDetails]:
    asked, picker = _asked(path, **options)
    write_outputs(asked, folder, picker.outputs)
    return asked, msgspec.json.decode((folder / "details.json").read_bytes(), type=RunDetails)


def _recording(path: Path, outputs: list[list[dict[str, Any]]], waits: list[list[str]]) -> Path:
    turns = [
        {
            "id": f"t{number}",
            "prompt": {"type": "messages", "ranges": [[0, 1]]},
            "attempts": [{"output": output}],
            "tool_waits": [{"name": name, "duration_s": 2.0} for name in named],
            **({"parent": f"t{number - 1}"} if number else {}),
        }
        for number, (output, named) in enumerate(zip(outputs, waits, strict=True))
    ]
    session = {
        "id": "s",
        "turns": turns,
        "messages": [{"role": "user", "blocks": [{"type": "text", "text": "do it " * 50}]}],
    }
    path.write_bytes(b'{"simtool_trace":1}\n' + msgspec.json.encode(session) + b"\n")
    return path


def _call(name: str, words: int) -> dict[str, Any]:
    return {"type": "tool_call", "name": name, "arguments": json.dumps({"text": "word " * words})}


def test_costs_of_tools_add_up_to_those_of_all_calls(tmp_path: Path) -> None:
    asked, details = _details(AGENT_LOOP, tmp_path)
    turns = pq.read_table(tmp_path / "turns.parquet")
    assert sum(row.call_gpu_s for row in details.tools) == pytest.approx(np.sum(turns["decode_gpu_S_s"].to_numpy()))
    prefill = np.sum(turns["prefill_gpu_s"].to_numpy()) + np.sum(turns["draft_prefill_gpu_s"].to_numpy())
    assert 0 < sum(row.result_prefill_gpu_s for row in details.tools) < prefill
    schema = next(row.tokens for row in asked.answer.classes if row.label == "S")
    assert sum(row.call_tokens for row in details.tools) == pytest.approx(schema)
    runs = asked.workload.tool_runs
    assert sum(row.runs for row in details.tools) == runs.tool.size
    assert [row.usd for row in details.tools] == sorted((row.usd for row in details.tools), reverse=True)


def test_tokens_of_calls_side_by_side_are_told_apart(tmp_path: Path) -> None:
    recording = _recording(
        tmp_path / "two.jsonl",
        [[_call("short", 2), _call("long", 60)], [{"type": "text", "text": "done"}], [_call("lost", 5)]],
        [["short", "long"], [], []],
    )
    asked, details = _details(recording, tmp_path / "run")
    rows = {row.tool: row for row in details.tools}
    assert set(rows) == {"short", "long", UNNAMED}
    assert rows["long"].call_tokens - rows["short"].call_tokens == pytest.approx(58, abs=3)
    assert rows["long"].wait_s == rows["short"].wait_s == 2.0
    assert rows["long"].result_prefill_gpu_s == pytest.approx(rows["short"].result_prefill_gpu_s)
    assert rows[UNNAMED].runs == 0
    schema = next(row.tokens for row in asked.answer.classes if row.label == "S")
    assert sum(row.call_tokens for row in details.tools) == pytest.approx(schema)


def test_calls_that_do_not_match_their_runs_are_shared_evenly(tmp_path: Path) -> None:
    recording = _recording(tmp_path / "odd.jsonl", [[_call("a", 30)]], [["a", "b"]])
    _, details = _details(recording, tmp_path / "run")
    a, b = details.tools
    assert a.call_tokens == b.call_tokens > 10


def test_an_excerpt_shows_outputs_of_many_classes(tmp_path: Path) -> None:
    _, details = _details(AGENT_LOOP, tmp_path)
    assert len(details.excerpt) == OUTPUTS
    raw = AGENT_LOOP.read_text()
    for output in details.excerpt:
        assert set(output.class_tokens) == {"S", "R", "F"}
        assert json.dumps(output.session_id) in raw
        assert sum(len(part.text) for part in output.parts) <= OUTPUT_CHARS
        assert {part.label for part in output.parts} >= {"R", "F", "N", "K"}


def test_long_runs_of_text_are_cut_and_counted(tmp_path: Path) -> None:
    text = "many words " * 2000
    recording = _recording(tmp_path / "long.jsonl", [[{"type": "text", "text": text}]], [[]])
    _, details = _details(recording, tmp_path / "run")
    (output,) = details.excerpt
    assert sum(len(part.text) + part.left_out_chars for part in output.parts) >= len(text)
    assert sum(len(part.text) for part in output.parts) < 2000


def test_a_recording_without_text_gives_no_excerpt(tmp_path: Path) -> None:
    anonymize(AGENT_LOOP, tmp_path / "anonymous.jsonl", keep_tool_names=True)
    _, details = _details(tmp_path / "anonymous.jsonl", tmp_path / "run")
    assert details.excerpt == []
    assert details.tools


def test_unless_asked_for_no_text_is_kept(tmp_path: Path) -> None:
    chosen = settings({"gamma": "4"})
    write_outputs(ask([str(AGENT_LOOP)], chosen.read, chosen.replay), tmp_path)
    assert json.loads((tmp_path / "details.json").read_bytes())["excerpt"] == []


def test_a_run_leaves_nothing_of_the_one_before(tmp_path: Path) -> None:
    write_outputs(_asked(AGENT_LOOP)[0], tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(ALL_FILES)
    write_outputs(_asked(AGENT_LOOP, gamma="0")[0], tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(ALL_FILES) - {"baseline_turns.parquet"}


@pytest.mark.parametrize("name", ALL_FILES)
def test_any_file_of_a_run_keeps_the_folder(name: str, tmp_path: Path) -> None:
    (tmp_path / name).touch()
    with pytest.raises(ValueError, match="--force"):
        check_output_dir(tmp_path, force=False)
    check_output_dir(tmp_path, force=True)


def test_the_measured_rows_of_the_table_are_those_of_the_summary(tmp_path: Path) -> None:
    asked, picker = _asked(AGENT_LOOP, num_warmups=10)
    write_outputs(asked, tmp_path, picker.outputs)
    turns = pq.read_table(tmp_path / "turns.parquet")
    assert np.count_nonzero(turns["measured"].to_numpy(zero_copy_only=False)) == asked.answer.replay.measured_requests
    assert turns.num_rows - asked.answer.replay.measured_requests == 10


def test_the_curve_over_schema_spans_its_whole_range(tmp_path: Path) -> None:
    _, details = _details(AGENT_LOOP, tmp_path, eps="S=0.05,R=0.9,F=0.9")
    points = details.schema_curve.points
    assert [one.w_S for one in points] == sorted(one.w_S for one in points)
    assert points[0].w_S == 0
    assert points[-1].w_S > 0.95
    assert points[0].decode_saving < 0 < points[-1].decode_saving
    assert points[0].w_S < details.schema_curve.break_even.on_spans < points[-1].w_S
    for one in points:
        assert one.decode_saving == pytest.approx(1 - details.schema_curve.round_cost_over_c_T / one.tokens_per_round)
