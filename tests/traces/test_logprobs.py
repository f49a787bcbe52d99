"""Token logprobs of chat, text and streamed completions, in every spelling that servers use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from traces.logprobs import token_logprobs
from traces.model import Attempt, Session, TokenLogprob
from traces.readlog import ReadLog
from traces.registry import read_files
from traces.source import SourceFile

ENTRIES = [
    {
        "token": "Hi",
        "logprob": -0.5,
        "top_logprobs": [{"token": "Ho", "logprob": -2.0}, {"token": "Hi", "logprob": -0.5}],
    },
    {"token": "!", "logprob": -0.1, "bytes": [33], "top_logprobs": []},
]
EXPECTED = msgspec.convert(
    [{"token": "Hi", "logprob": -0.5, "top": [-0.5, -2.0]}, {"token": "!", "logprob": -0.1}], tuple[TokenLogprob, ...]
)


def read(path: Path, rows: list[dict[str, Any]]) -> list[Session]:
    file = path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return list(read_files([SourceFile(name=file.name, path=file)], ReadLog()))


def exchange(choice: dict[str, Any]) -> dict[str, Any]:
    response = {"object": "chat.completion", "choices": [{"index": 0, "finish_reason": "stop", **choice}]}
    return {"request": {"messages": [{"role": "user", "content": "Say hi"}]}, "response": response}


def attempt(sessions: list[Session]) -> Attempt:
    return sessions[0].turns[0].final


def test_chat_completion(tmp_path: Path) -> None:
    choice = {"message": {"role": "assistant", "content": "Hi!"}, "logprobs": {"content": ENTRIES}}
    assert attempt(read(tmp_path, [exchange(choice)])).logprobs == EXPECTED


def test_streamed_chunks(tmp_path: Path) -> None:
    chunks = [
        {
            "object": "chat.completion.chunk",
            "id": "c",
            "choices": [{"index": 0, "delta": {"content": one["token"]}, "logprobs": {"content": [one]}}],
        }
        for one in ENTRIES
    ]
    row = {"request": {"messages": [{"role": "user", "content": "Say hi"}]}, "response": chunks}
    assert attempt(read(tmp_path, [row])).logprobs == EXPECTED


def test_text_completion_columns() -> None:
    columns = {
        "tokens": ["Once", "Hi", "!"],
        "token_logprobs": [None, -0.5, -0.1],
        "top_logprobs": [None, {"Ho": -2.0, "Hi": -0.5}, {}],
    }
    assert token_logprobs(columns, ReadLog()) == EXPECTED


def test_reasoning_apart_from_the_reply() -> None:
    found = token_logprobs({"reasoning_content": ENTRIES[:1], "content": ENTRIES[1:]}, ReadLog())
    assert [one.reasoning for one in found] == [True, False]


@pytest.mark.parametrize("value", [None, {}, [], "x", {"content": None}, {"content": [3]}, {"tokens": 3}])
def test_no_logprobs(value: object) -> None:
    assert token_logprobs(value, ReadLog()) == ()


@pytest.mark.parametrize("value", [0.7, "high", True, None])
def test_what_is_no_logarithm_of_a_probability_is_counted(value: object) -> None:
    log = ReadLog()
    found = token_logprobs({"content": [{"token": "a", "logprob": value}, ENTRIES[1]]}, log)
    assert found == EXPECTED[1:]
    assert sum(log.omitted.values()) == 1


def test_the_canonical_form_keeps_them(tmp_path: Path) -> None:
    choice = {"message": {"role": "assistant", "content": "Hi!"}, "logprobs": {"content": ENTRIES}}
    found = attempt(read(tmp_path, [exchange(choice)]))
    assert msgspec.json.decode(msgspec.json.encode(found), type=Attempt) == found
