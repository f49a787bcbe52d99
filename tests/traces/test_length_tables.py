"""Tables of requests: Azure, BurstGPT, Vidur, SplitwiseSim and plain CSV."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.traces.fuzz import survive
from tests.traces.reading import read, read_only
from traces.errors import SimtoolError, TraceError
from traces.model import LengthPrompt, OpaqueBlock, Session
from traces.readlog import ReadLog
from traces.registry import reader_named

AZURE = (
    b"TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:17:03.9799600,4808,10\r\n"
    b"2023-11-16 18:17:05.0000001,3180,8"
)


def shape(session: Session) -> tuple[float | None, int, int]:
    (turn,) = session.turns
    assert isinstance(turn.prompt, LengthPrompt)
    (block,) = turn.final.output
    assert isinstance(block, OpaqueBlock)
    return session.start_s, turn.prompt.tokens, block.tokens


def test_azure_rows_with_crlf_and_seven_digit_fractions() -> None:
    found = [shape(session) for session in read("azure", AZURE)]
    assert found == [(1700158623.97996, 4808, 10), (1700158625.0, 3180, 8)]


def test_azure_2024_times_with_a_zone() -> None:
    text = "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:00.009930+00:00,100,5\n"
    assert shape(read("azure", text)[0])[0] == pytest.approx(1715299200.00993)


def test_burstgpt_leaves_out_failed_requests() -> None:
    text = (
        "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
        "5,ChatGPT,472,18,490,Conversation log\n"
        "45,GPT-4,1087,0,1087,API log\n"
        "118.5,GPT-4,417,276,693,API log\n"
    )
    log = ReadLog()
    sessions = read("burstgpt", text, log)
    assert [shape(session) for session in sessions] == [(5.0, 472, 18), (118.5, 417, 276)]
    assert [session.turns[0].model for session in sessions] == ["ChatGPT", "GPT-4"]
    assert sum(log.omitted.values()) == 1


def test_burstgpt_conversations_wait_from_end_to_next_start() -> None:
    text = (
        "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens\n"
        "30,s1,2,m,50,5\n"
        "10,s1,4,m,20,5\n"
        "11,s2,1,m,7,3\n"
    )
    log = ReadLog()
    one, two = read("burstgpt", text, log)
    assert (one.id, two.id) == ("s1", "s2")
    assert [turn.user_wait_s for turn in one.turns] == [16.0, None]
    assert [turn.parent for turn in one.turns] == [None, "t1"]
    assert one.start_s == 10.0
    assert any("sorted by time" in text for text in log.assumptions)


def test_vidur_and_splitwise_columns() -> None:
    vidur = read("vidur", "arrived_at,num_prefill_tokens,num_decode_tokens\n0.0,374,44\n4.314579,396,109\n")
    assert [shape(session) for session in vidur] == [(0.0, 374, 44), (4.314579, 396, 109)]
    splitwise = read(
        "vidur",
        "request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,token_size\n0,2,0,0.5,1,374,44\n",
    )
    assert [shape(session) for session in splitwise] == [(0.5, 374, 44)]


def test_vidur_table_without_arrivals_says_so() -> None:
    log = ReadLog()
    sessions = read("vidur", "num_prefill_tokens,num_decode_tokens,pd_ratio\n12,3,4.0\n", log)
    assert shape(sessions[0]) == (None, 12, 3)
    assert len(log.assumptions) == 1


@pytest.mark.parametrize(
    ("header", "cell", "expected_s"),
    [
        ("arrival_ms", "1500", 1.5),
        ("ts_us", "2500000", 2.5),
        ("timestamp", "1700000000123", 1700000000.123),
        ("arrived_at", "12.5", 12.5),
        ("start_time", "2024-01-01T00:00:00Z", 1704067200.0),
    ],
)
def test_plain_csv_recognises_columns_and_time_units(header: str, cell: str, expected_s: float) -> None:
    sessions = read("csv", f"{header};promptTokens;completion tokens\n{cell};10;4\n")
    assert shape(sessions[0]) == (expected_s, 10, 4)


def test_columns_named_by_the_user() -> None:
    data = "When (ms),size A,size B,tokens\n2000,10,4,99\n"
    sessions = read_only("csv:arrival=When (ms),input=size A,output=size B", data)
    assert shape(sessions[0]) == (2.0, 10, 4)
    with pytest.raises(SimtoolError, match="did you mean 'input'"):
        read_only("csv:inptu=size A", "a,b\n1,2\n")
    with pytest.raises(TraceError, match=r"trace.jsonl:1: no column for the input, 'size C' \(columns: size_a"):
        read_only("csv:input=size C", "size A,size B\n1,2\n")
    with pytest.raises(SimtoolError, match="'input' is not ROLE=COLUMN"):
        read_only("csv:input", data)
    with pytest.raises(SimtoolError, match="azure takes no details"):
        read_only("azure:input=size A", data)


@pytest.mark.parametrize(
    ("row", "reason"),
    [("2023-11-16 18:17:03,x,10", "token count"), ("yesterday,5,10", "no readable time"), ("2023-11-16,5", "2 cells")],
)
def test_bad_rows_stop_or_are_counted(row: str, reason: str) -> None:
    data = AZURE + b"\n" + row.encode() + b"\n"
    with pytest.raises(TraceError, match=rf"trace.jsonl:4: .*{reason}"):
        read("azure", data)
    log = ReadLog(skip_invalid=True)
    assert len(read("azure", data, log)) == 2
    assert sum(log.omitted.values()) == 1


@given(
    name=st.sampled_from(["azure", "burstgpt", "vidur", "csv", "servegen"]),
    data=st.one_of(
        st.binary(max_size=80).filter(lambda data: not data.startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd"))),
        st.text(alphabet='0123456789,;\n\r"-.eE\x00anif:{}', max_size=60).map(lambda text: AZURE + text.encode()),
        st.text(alphabet="0123456789,.eE\n-xinfa", max_size=60).map(
            lambda text: b"arrival,input_tokens,output_tokens,session_id,latency\n" + text.encode()
        ),
    ),
)
@settings(max_examples=60, deadline=None)
def test_any_bytes_give_sessions_or_an_error_of_our_own(name: str, data: bytes) -> None:
    for session in survive(reader_named(name), data, "fuzz.csv"):
        assert all(turn.final.output for turn in session.turns)
