from __future__ import annotations

import json

import pytest

from tests.traces.reading import read, read_only
from traces.checks import problems
from traces.errors import TraceError
from traces.model import LengthPrompt, OpaqueBlock, Session, Usage, prompt_messages
from traces.opaque import by_id
from traces.readlog import ReadLog


def _lines(*rows: object) -> bytes:
    return b"\n".join(json.dumps(row).encode() for row in rows)


def _row(tokens: int = 1025, ids: object = (1, 2, 3), **more: object) -> dict[str, object]:
    return {"timestamp": 27000, "input_length": tokens, "output_length": 7, "hash_ids": list(ids), **more}  # type: ignore[call-overload]


def test_a_row_is_a_session_of_one_turn() -> None:
    session = read("mooncake", _lines(_row(), _row()))[1]
    turn = session.turns[0]
    assert turn.prompt == LengthPrompt(tokens=1025, block_tokens=512, block_ids=(1, 2, 3))
    assert turn.final.output == (OpaqueBlock(tokens=7),)
    assert turn.final.usage == Usage(input_tokens=1025, output_tokens=7)
    assert session.start_s == 27.0
    assert session.id == "trace:2"


def test_ids_of_64_bits_stay_apart() -> None:
    high = (1 << 64) - 1
    first, second = read("mooncake", _lines(_row(ids=(1 << 32, 0, high)), _row(ids=(0, 0, high - 1))))
    assert isinstance(first.turns[0].prompt, LengthPrompt)
    assert first.turns[0].prompt.block_ids == (1 << 32, 0, high)
    assert first.turns[0].prompt != second.turns[0].prompt


def test_rows_of_a_session_follow_each_other_after_their_delay() -> None:
    rows = [
        _row(600, (1, 2), session_id="a", timestamp=1500.25),
        _row(600, (9, 8), session_id="b", timestamp=10),
        {"session_id": "a", "input_tokens": 1200, "output_tokens": 3, "hash_ids": [1, 2, 3], "delay_ms": 250.5},
        {"session_id": "a", "input_tokens": 1300, "output_tokens": 3, "hash_ids": [1, 2, 4], "created_time": 9000},
    ]
    a, b = read("mooncake", _lines(*rows))
    assert [turn.parent for turn in a.turns] == [None, "t1", "t2"]
    assert [turn.user_wait_s for turn in a.turns] == [pytest.approx(0.2505), None, None]
    assert a.start_s == pytest.approx(1.50025)
    assert a.turns[2].final.times is not None
    assert a.turns[2].final.times.sent_s == 9.0
    assert len(b.turns) == 1


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (_row(1024, (1, 2, 3)), "3 block ids of 512 tokens do not fit 1024"),
        (_row(5000, (1, 2)), "do not fit"),
        (_row("many"), r"input_length"),
        (_row(ids=(1.5, 2, 3)), r"hash_ids\[0\]"),
        ({"timestamp": 1, "input_length": 5, "hash_ids": [1]}, "output_length must be"),
        (_row(-5), "whole numbers of zero or more"),
        (42, "trace.jsonl:2"),
    ],
)
def test_malformed_rows_are_named(row: object, reason: str) -> None:
    with pytest.raises(TraceError, match=reason) as caught:
        read("mooncake", _lines(_row(), row))
    assert caught.value.line == 2
    log = ReadLog(skip_invalid=True)
    assert len(read("mooncake", _lines(_row(), row), log)) == 1
    assert log.omitted.total() == 1


def test_failed_requests_are_left_out() -> None:
    log = ReadLog()
    assert len(read("mooncake", _lines(_row(), _row(output_length=0)), log)) == 1
    assert log.omitted.total() == 1


def test_rows_of_other_formats_are_not_claimed() -> None:
    for rows in (
        [{"request_id": "a", **_row()}],
        [{"messages": []}],
        [{"input_toks": 1, "output_toks": 2, "arrival_time_ns": 3}],
    ):
        with pytest.raises((TraceError, AssertionError)):
            read("mooncake", _lines(*rows))


def _delta(*rows: object) -> Session:
    (session,) = read_only("mooncake-delta", _lines(*rows))
    assert list(problems(session)) == []
    return session


def test_delta_rows_add_to_the_prompt() -> None:
    session = _delta(
        {"session_id": "s", "timestamp": 0, "input_length": 100, "output_length": 10},
        {"session_id": "s", "delay": 500, "input_length": 30, "output_length": 5},
        {"session_id": "s", "delay": 0, "input_length": 1, "output_length": 2},
    )
    sizes = [
        [block.tokens for m in prompt_messages(session, turn) for block in m.blocks if isinstance(block, OpaqueBlock)]
        for turn in session.turns
    ]
    assert sizes == [[100], [100, 10, 30], [100, 10, 30, 5, 1]]
    assert [turn.final.usage.input_tokens for turn in session.turns if turn.final.usage] == [100, 140, 146]
    assert session.turns[0].user_wait_s == 0.5


def test_what_delta_rows_add_is_shared_only_by_equal_block_ids() -> None:
    rows = [{"session_id": name, "input_length": 600, "output_length": 1, "hash_ids": [5, 6]} for name in "ab"]
    plain = [{"session_id": name, "input_length": 600, "output_length": 1} for name in "ab"]
    a, b = read_only("mooncake-delta", _lines(*rows))
    assert a.messages[0] == b.messages[0]
    assert a.messages[0].blocks == (OpaqueBlock(tokens=600, block_tokens=512, block_ids=(5, 6)),)
    assert by_id(a.messages[0].blocks) == (OpaqueBlock(tokens=512, key="5:512"), OpaqueBlock(tokens=88, key="6:88"))
    a, b = read_only("mooncake-delta", _lines(*plain))
    assert a.messages[0] != b.messages[0]
