"""Every reader on damaged and malicious files: an error of our own or sessions that keep the rules, in bounded time."""

from __future__ import annotations

import time

import pytest

from tests.traces.hostile_samples import SAMPLES, graphs, malicious, spoiled
from traces.checks import problems
from traces.errors import SimtoolError
from traces.model import Session
from traces.readlog import ReadLog
from traces.registry import read_files, readers
from traces.source import SourceFile

LIMIT_S = 20.0
"""Far above what any of these takes, far below what work that grows with the square of the input would."""

NOT_ALONE = {"no-trace", "bench-summary", "servegen", "opencode"}
"""Formats of which one file by itself holds no session."""


def outcome(data: bytes, name: str, format_name: str | None, *, skip: bool) -> tuple[list[Session], ReadLog, str]:
    """Sessions, log and error of reading *data*; fails on any error that is not our own, and on broken sessions."""
    log = ReadLog(skip_invalid=skip)
    found: list[Session] = []
    started = time.perf_counter()
    message = ""
    try:
        found += read_files([SourceFile(None, name, data)], log, format_name)
    except SimtoolError as error:
        message = str(error)
        assert message
    assert time.perf_counter() - started < LIMIT_S
    for session in found:
        assert list(problems(session)) == []
    names = [session.id for session in found]
    assert len(set(names)) == len(names)
    return found, log, message


def survives(data: bytes, name: str, format_name: str | None) -> None:
    """Read strictly and leniently; what is left out leniently is counted."""
    strict, _, refused = outcome(data, name, format_name, skip=False)
    lenient, log, error = outcome(data, name, format_name, skip=True)
    assert len(lenient) >= len(strict)
    if refused and not error:
        assert log.omitted.total() > 0, refused


@pytest.mark.parametrize("name", sorted(readers()))
def test_a_sample_of_every_format_is_read(name: str) -> None:
    file_name = "cassette.yaml" if name == "vcr" else "x"
    for format_name in (name, None) if name != "mooncake-delta" else (name,):
        found, _, error = outcome(SAMPLES[name], file_name, format_name, skip=False)
        assert (found, error) == ([], error) if name in NOT_ALONE else (found and not error), error


ROWS = sorted(name for name, data in SAMPLES.items() if data.startswith(b"{") and data.count(b"\n") > 1)


@pytest.mark.parametrize("name", ROWS)
def test_a_line_cut_short_is_an_invalid_record(name: str) -> None:
    data = SAMPLES[name].rstrip(b"\n")[:-3]
    _, _, refused = outcome(data, "x.jsonl", name, skip=False)
    assert refused
    _, log, _ = outcome(data, "x.jsonl", name, skip=True)
    assert log.omitted.total() > 0


@pytest.mark.parametrize("name", sorted(readers()))
def test_damaged_recordings(name: str) -> None:
    for what, data in spoiled(SAMPLES[name]):
        for format_name in (name, None):
            survives(data, f"{what}.jsonl", format_name)


@pytest.mark.parametrize("name", sorted(readers()))
def test_malicious_files_under_every_format(name: str) -> None:
    for what, data in malicious():
        survives(data, f"{what}.json", name)


def test_malicious_files_by_sniffing() -> None:
    for what, data in malicious():
        for suffix in ("json", "jsonl", "eval", "yaml", "csv", "txt"):
            survives(data, f"{what}.{suffix}", None)


@pytest.mark.parametrize(("name", "what", "data"), [pytest.param(*item, id=item[1]) for item in graphs()])
def test_ids_that_repeat_or_go_in_a_circle(name: str, what: str, data: bytes) -> None:
    for format_name in (name, None):
        survives(data, f"{what}.jsonl", format_name)


def test_the_other_formats_files_under_every_format() -> None:
    for name in readers():
        for other, data in SAMPLES.items():
            survives(data, f"{other}.txt", name)
