from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.traces.agent_files import lines, one, outputs
from traces.model import RawBlock, Session, TextBlock, Turn, prompt_messages
from traces.readers.lmcache import READER
from traces.readlog import ReadLog
from traces.source import SourceFile

_T = 1_760_000_000_000_000


def _row(at: int, prompt: str, output: str) -> dict[str, object]:
    return {"timestamp": _T + at, "input": prompt, "output": output, "session_id": "s"}


def _whole(session: Session, turn: Turn) -> str:
    blocks = [block for message in prompt_messages(session, turn) for block in message.blocks]
    return "".join(block.text for block in blocks if isinstance(block, TextBlock))


def test_rows_are_put_in_the_order_of_time_in_microseconds() -> None:
    session, log = one(READER, lines(_row(5_000_000, "b\n", "second"), _row(1_500_000, "a\n", "first")))
    assert [outputs(turn) for turn in session.turns] == [(RawBlock(text="first"),), (RawBlock(text="second"),)]
    times = [turn.final.times and turn.final.times.sent_s for turn in session.turns]
    assert times == [1_760_000_001.5, 1_760_000_005.0]
    assert any("order of time" in text for text in log.assumptions)


def test_prompts_share_the_messages_up_to_where_they_part() -> None:
    base = "rules\ntask\n"
    rows = (_row(1, base, "x"), _row(2, base + "seen one\n", "y"), _row(3, base + "seen two\n", "z"))
    session, _ = one(READER, lines(*rows))
    ranges = [turn.prompt for turn in session.turns]
    assert len({str(prompt) for prompt in ranges}) == 3
    assert session.messages[0].blocks == (TextBlock(text=base),)
    assert len(session.messages) == 3


def test_calls_without_a_recorded_output_are_counted() -> None:
    session, log = one(READER, lines(_row(1, "a", ""), _row(2, "b", "x")))
    assert len(session.turns) == 1
    assert sum(log.omitted.values()) == 1


@given(st.lists(st.text(alphabet="ab\n", max_size=12), min_size=1, max_size=6))
def test_pieces_always_make_the_prompt_again(prompts: list[str]) -> None:
    rows = [_row(number, prompt, "x") for number, prompt in enumerate(prompts)]
    (session,) = READER.read([SourceFile(None, "x", lines(*rows))], ReadLog())
    assert [_whole(session, turn) for turn in session.turns] == prompts
