"""What anonymizing must keep and what it must not, for any recording."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np

from scenarios.ask import ask
from scenarios.options.read import ReadOptions
from scenarios.options.replay import LoadOptions, PlatformOptions, ReplayOptions
from scenarios.recordings.convert import convert_anonymized
from simulator.gateconfig import GateConfig
from traces.model import Session
from traces.readlog import ReadLog
from traces.registry import read_sessions

WINDOW = 8
_FIXED = {"length", "opaque", "rejected", *"DNKVTPRF"}
_NAME = re.compile(r"(a|m|tool)\d+|~[0-9a-f]{16}")
SAMPLED = (
    (0, ReplayOptions()),
    (1, ReplayOptions(nu=1.5)),
    (4, ReplayOptions(seed=7)),
    (8, ReplayOptions(gate=GateConfig(pass_call=0.6, pass_answer=0.8), load=LoadOptions(tool_waits="drawn"))),
)
"""Depths, each with other things that are drawn."""
_COLUMNS = ("prompt_tokens", "output_tokens", "labels", "hit_tokens", "first_token_s", "finish_s", "prefill_gpu_s")


def anonymize(
    source: Path,
    target: Path,
    options: ReadOptions | None = None,
    *,
    keep_tool_names: bool = False,
    salt: str | None = "",
) -> None:
    read = options or ReadOptions()
    convert_anonymized([str(source)], target, read, keep_tool_names=keep_tool_names, salt=salt)


def strings(value: object) -> Iterator[str]:
    """All string values in a JSON value, keys left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for member in value.values():
            yield from strings(member)
    elif isinstance(value, list):
        for member in value:
            yield from strings(member)


def assert_says_nothing(source: Path, target: Path, kept: frozenset[str] = frozenset()) -> None:
    """Every text is a number under a neutral letter or a hash, and none repeats WINDOW characters of the source."""
    sessions = [json.loads(line) for line in target.read_bytes().splitlines()[1:]]
    assert sessions
    texts = [text for text in strings(sessions) if text not in kept]
    assert all(text in _FIXED or _NAME.fullmatch(text) for text in texts)
    log = ReadLog(skip_invalid=True)
    said = "\0".join(text for one in read_sessions([str(source)], log) for text in strings(_plain(one)))
    assert len(said) > 100
    for text in set(texts) - _FIXED:
        assert not any(text[at : at + WINDOW] in said for at in range(len(text) - WINDOW + 1))


def _plain(session: Session) -> object:
    return json.loads(msgspec.json.encode(session))


def assert_replays_the_same(source: Path, target: Path, options: ReadOptions | None = None) -> None:
    """Equal columns and figures of replays without speculation, at sampled acceptance, and of all that is drawn."""
    for gamma, asked in SAMPLED:
        replay = dataclasses.replace(asked, platform=PlatformOptions(num_speculative_tokens=gamma))
        first, second = (ask([str(path)], options or ReadOptions(), replay) for path in (source, target))
        for name in _COLUMNS:
            columns = getattr(first.replay, name), getattr(second.replay, name)
            assert np.array_equal(*columns, equal_nan=True), (gamma, name)
        assert first.answer.replay == second.answer.replay
        assert first.answer.verdict == second.answer.verdict
        assert int(first.replay.hit_tokens.sum()) > 0
