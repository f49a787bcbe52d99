"""What anonymizing must keep and what it must not, for any recording."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np

from scenarios.ask import Asked, ask
from scenarios.convert import convert_anonymized
from scenarios.options import PlatformOptions, ReplayOptions
from scenarios.recording import ReadOptions
from traces.model import Session
from traces.readlog import ReadLog
from traces.registry import read_sessions

WINDOW = 8
_FIXED = {"length", "opaque", "rejected", *"DNKVTPRF"}
_NUMBERED = re.compile(r"(s|t|a|m|tool)\d+")
_COLUMNS = ("prompt_tokens", "output_tokens", "labels", "hit_tokens", "first_token_s", "finish_s", "prefill_gpu_s")


def anonymize(source: Path, target: Path, options: ReadOptions | None = None, *, keep_tool_names: bool = False) -> None:
    convert_anonymized([str(source)], target, options or ReadOptions(), keep_tool_names=keep_tool_names)


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
    """Every text is a number under a neutral letter, and none repeats WINDOW characters of the source."""
    sessions = [json.loads(line) for line in target.read_bytes().splitlines()[1:]]
    assert sessions
    texts = [text for text in strings(sessions) if text not in kept]
    assert all(text in _FIXED or _NUMBERED.fullmatch(text) for text in texts)
    log = ReadLog(skip_invalid=True)
    said = "\0".join(text for one in read_sessions([str(source)], log) for text in strings(_plain(one)))
    assert len(said) > 100
    for text in set(texts) - _FIXED:
        assert not any(text[at : at + WINDOW] in said for at in range(len(text) - WINDOW + 1))


def _plain(session: Session) -> object:
    return json.loads(msgspec.json.encode(session))


def assert_replays_the_same(source: Path, target: Path, options: ReadOptions | None = None) -> None:
    """Equal columns of a replay without speculation, whose draws go by the sessions' names."""
    first, second = (_replayed(path, options or ReadOptions()) for path in (source, target))
    for name in _COLUMNS:
        assert np.array_equal(getattr(first.replay, name), getattr(second.replay, name), equal_nan=True), name
    assert first.answer.replay == second.answer.replay
    assert int(first.replay.hit_tokens.sum()) > 0


def _replayed(path: Path, options: ReadOptions) -> Asked:
    platform = PlatformOptions(num_speculative_tokens=0)
    return ask([str(path)], options, ReplayOptions(platform=platform))
