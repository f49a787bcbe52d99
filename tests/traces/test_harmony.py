from __future__ import annotations

import pytest

from tests.traces.agent_files import one, outputs, prompt_texts, read
from traces.errors import TraceError
from traces.model import RawBlock
from traces.readers.harmony import READER

_ASK = "<|start|>system<|message|>Be kind.<|end|><|start|>user<|message|>Add it.<|end|>"
_THINK = "<|channel|>analysis<|message|>sum<|end|><|start|>assistant"
_CALL = "<|channel|>commentary to=functions.add <|constrain|>json<|message|>{}<|call|>"
_RESULT = "<|start|>functions.add to=assistant<|channel|>commentary<|message|>3<|end|>"
_FINAL = "<|channel|>final<|message|>Three.<|return|>"


def test_replies_start_after_the_header_and_end_at_calls_and_results() -> None:
    text = f"{_ASK}<|start|>assistant{_THINK}{_CALL}{_RESULT}<|start|>assistant{_FINAL}"
    session, _ = one(READER, text.encode())
    first, last = session.turns
    assert outputs(first) == (RawBlock(text=_THINK + _CALL),)
    assert outputs(last) == (RawBlock(text=_FINAL),)
    assert prompt_texts(session, first) == [("system", "Be kind."), ("user", "Add it.")]
    assert prompt_texts(session, last)[-1] == ("tool", "3")


def test_a_text_that_starts_without_a_header_is_a_completion() -> None:
    session, _ = one(READER, (_THINK + _FINAL).encode())
    assert outputs(session.turns[0]) == (RawBlock(text=_THINK + _FINAL),)


def test_a_prompt_alone_is_no_session() -> None:
    sessions, log = read(READER, f"{_ASK}<|start|>assistant\n".encode())
    assert sessions == []
    assert log.omitted["Harmony prompt without a completion"] == 1


def test_token_ids_are_kept() -> None:
    session, log = one(READER, b"200005 35644 200008\n17 200002\n")
    assert outputs(session.turns[0]) == (RawBlock(text="", token_ids=(200005, 35644, 200008, 17, 200002)),)
    assert log.assumptions


def test_numbers_that_are_no_ids_and_broken_text_are_errors() -> None:
    for data in (b"200005 200008 99999999999999999999", _ASK.encode() + b"\xff<|start|>assistant"):
        with pytest.raises(TraceError):
            read(READER, data)
