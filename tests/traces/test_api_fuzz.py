"""Broken recordings of the API, agent and length formats give sessions that keep the rules, or our own errors."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.traces import test_api_streams, test_claude_code, test_mooncake, test_openai_chat, test_tau
from tests.traces.fuzz import JSON_VALUES, broken, survive
from traces.checks import problems
from traces.model import Session
from traces.registry import reader_named

_FORMATS: dict[str, tuple[list[object], bool]] = {
    "openai-chat": ([*test_openai_chat._rows(), *test_api_streams._CHUNKS], True),
    "anthropic-messages": (list(test_api_streams._ANTHROPIC), True),
    "openai-responses": (
        [*test_api_streams._EVENTS, {"request": {"input": "q"}, "response": test_api_streams._RESPONSE}],
        True,
    ),
    "claude-code": (list(test_claude_code._PARALLEL), True),
    "mooncake": ([test_mooncake._row(), test_mooncake._row(session_id="a"), test_mooncake._row(session_id="a")], True),
    "mooncake-delta": ([test_mooncake._row(session_id="a"), test_mooncake._row(session_id="a")], True),
    "tau-bench": ([[test_tau._run(0)]], False),
    "tau2": ([{"info": test_tau._INFO, "simulations": [test_tau._SIMULATION]}], False),
}


def _check(sessions: list[Session]) -> None:
    assert [found for session in sessions for found in problems(session)] == []


@pytest.mark.parametrize("name", _FORMATS)
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_broken_recordings_raise_nothing_but_errors_of_their_own(name: str, data: st.DataObject) -> None:
    values, as_lines = _FORMATS[name]
    _check(survive(reader_named(name), data.draw(broken(values, lines=as_lines))))


@pytest.mark.parametrize("name", _FORMATS)
@given(values=st.lists(JSON_VALUES, max_size=4))
@settings(max_examples=20, deadline=None)
def test_any_json_is_survived(name: str, values: list[object]) -> None:
    data = b"\n".join(json.dumps(value).encode("utf-8", "surrogatepass") for value in values)
    _check(survive(reader_named(name), data))


@pytest.mark.parametrize("name", _FORMATS)
def test_every_format_is_read_whole_when_nothing_is_broken(name: str) -> None:
    values, as_lines = _FORMATS[name]
    rows = values if as_lines else values[:1]
    sessions = survive(reader_named(name), b"\n".join(json.dumps(value).encode() for value in rows))
    assert sum(len(session.turns) for session in sessions) >= 1
    _check(sessions)
