"""Bodies compressed with brotli: read where its module is at hand, bounded, and named where it is not."""

from __future__ import annotations

import json
import sys

import pytest

from tests.traces.reading import read
from tests.traces.test_vcr import ANSWER, ASK, cassette, interaction
from traces.readers import http_body
from traces.readers.http_body import BodyError, body_value
from traces.readlog import ReadLog

brotli = pytest.importorskip("brotli")
_BROTLI = {"Content-Encoding": ["br"]}


def packed(data: bytes) -> dict[str, object]:
    return {"body": {"string": brotli.compress(data)}, "headers": {"content-encoding": ["br"]}}


def test_a_compressed_answer_is_read() -> None:
    log = ReadLog()
    whole, plain = brotli.compress(json.dumps(ANSWER).encode()), json.dumps(ANSWER).encode()
    data = cassette(interaction(ASK, whole, **_BROTLI), interaction(ASK, plain, **_BROTLI))
    assert [turn.id for session in read("vcr", data, log, name="c.yaml") for turn in session.turns] == ["r1", "r1"]
    assert not log.omitted


@pytest.mark.parametrize("end", [-1, 9, 0])
def test_a_body_that_is_cut_is_an_error(end: int) -> None:
    message = packed(b"something long enough to be cut " * 90)
    message["body"] = {"string": brotli.compress(b"something long enough to be cut " * 90)[:end]}
    with pytest.raises(BodyError, match="cannot be decompressed"):
        body_value(message)


def test_a_bomb_is_refused_before_it_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_body, "_MAX_BYTES", 1 << 20)
    assert body_value(packed(b"x" * (1 << 20))) == "x" * (1 << 20)
    with pytest.raises(BodyError, match="more than 1048576 bytes"):
        body_value(packed(b"x" * (64 << 20)))


def test_without_the_module_the_body_is_counted_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "brotli", None)
    log = ReadLog()
    data = cassette(interaction(ASK, ANSWER), interaction(ASK, brotli.compress(b"{}"), **_BROTLI))
    assert len(read("vcr", data, log, name="c.yaml")) == 1
    ((kind, count),) = log.omitted.items()
    assert "simtool[brotli]" in kind
    assert count == 1
