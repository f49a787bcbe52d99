"""Opaque blocks with block ids against one block an id."""

from __future__ import annotations

import pytest

from traces.checks import problems
from traces.model import Attempt, Block, LengthPrompt, Message, OpaqueBlock, Session, TextBlock, Turn
from traces.opaque import by_id
from traces.prefixes import message_part

RUN = OpaqueBlock(tokens=1025, label="F", block_tokens=512, block_ids=(7, "x", 9))
APART = (
    OpaqueBlock(tokens=512, label="F", key="7:512"),
    OpaqueBlock(tokens=512, label="F", key="x:512"),
    OpaqueBlock(tokens=1, label="F", key="9:1"),
)


def test_each_id_becomes_a_block_with_its_size() -> None:
    text = TextBlock(text="a")
    assert by_id((text, RUN, text)) == (text, *APART, text)
    whole = OpaqueBlock(tokens=4, block_tokens=2, block_ids=(1, 2))
    assert [block.key for block in by_id((whole,)) if isinstance(block, OpaqueBlock)] == ["1:2", "2:2"]


def test_blocks_without_ids_stay_as_they_are() -> None:
    assert by_id(APART) is APART


def test_a_message_is_the_same_however_its_ids_are_given() -> None:
    assert message_part(Message(role="user", blocks=(RUN,))) == message_part(Message(role="user", blocks=APART))


@pytest.mark.parametrize(
    ("block", "field"),
    [
        (OpaqueBlock(tokens=1024, block_tokens=512, block_ids=(1,)), "block_ids"),
        (OpaqueBlock(tokens=512, block_tokens=512, block_ids=(1, 2)), "block_ids"),
        (OpaqueBlock(tokens=512, block_ids=(1,)), "block_tokens"),
        (OpaqueBlock(tokens=512, block_tokens=0, block_ids=(1,)), "block_tokens"),
        (OpaqueBlock(tokens=512, key="k", block_tokens=512, block_ids=(1,)), "key"),
    ],
)
def test_ids_must_fit_the_tokens(block: OpaqueBlock, field: str) -> None:
    assert list(problems(_session(RUN))) == []
    in_output, in_message = problems(_session(block))
    assert in_output.startswith(f"$.turns[0].attempts[0].output[0].{field}: ")
    assert in_message.startswith(f"$.messages[0].blocks[0].{field}: ")


def _session(block: Block) -> Session:
    turn = Turn(id="t", prompt=LengthPrompt(tokens=1), attempts=(Attempt(output=(block,)),))
    return Session(id="s", turns=(turn,), messages=(Message(role="user", blocks=(block,)),))
