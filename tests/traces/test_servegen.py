"""ServeGen clients: requests drawn from rates and histograms."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traces.errors import SimtoolError, TraceError
from traces.model import LengthPrompt, OpaqueBlock, Session
from traces.readers.servegen_client import Window, arrivals, generator
from traces.readlog import ReadLog
from traces.registry import read_sessions, reader_named, sniff
from traces.source import SourceFile

RATES = "0,2.0,1.0,Gamma,1.0,0.5\n600,0,0,,0,0\n1200,0.5,3.0,Weibull,0.4,0.9\n1800,1.0,1.0,Gamma,1.0,1.0\n"
LENGTHS = {
    "0": {"input_tokens": "{10: 0.25, 30: 0.75}", "output_tokens": "{100: 1.0}", "reason_ratio": "{0.25: 1.0}"},
    "1200": {"input_tokens": "{5: 1.0}", "output_tokens": "{8: 0.5, 9: 0.5}", "reason_ratio": "{}"},
    "1800": {"input_tokens": "{}", "output_tokens": "{}", "reason_ratio": "{}"},
}


def client(folder: Path, rates: str = RATES, lengths: object = LENGTHS) -> list[str]:
    (folder / "m__chunk-0-trace.csv").write_text(rates)
    (folder / "m__chunk-0-dataset.json").write_text(json.dumps(lengths))
    return [str(folder)]


def sent(session: Session) -> float:
    assert session.start_s is not None
    return session.start_s


def test_requests_follow_the_windows_and_histograms(tmp_path: Path) -> None:
    log = ReadLog()
    sessions = list(read_sessions(client(tmp_path), log))
    first = [session for session in sessions if sent(session) < 600]
    later = [session for session in sessions if sent(session) >= 1200]
    assert len(first) + len(later) == len(sessions)
    assert len(first) == pytest.approx(1200, rel=0.15)
    inputs = [turn.prompt.tokens for s in first for turn in s.turns if isinstance(turn.prompt, LengthPrompt)]
    assert set(inputs) == {10, 30}
    assert np.mean(inputs) == pytest.approx(25, rel=0.05)
    blocks = first[0].turns[0].final.output
    assert blocks == (OpaqueBlock(tokens=25, label="R"), OpaqueBlock(tokens=75, label="F"))
    assert {block.label for s in later for block in s.turns[0].final.output if isinstance(block, OpaqueBlock)} == {None}
    assert log.omitted["ServeGen request in a window without a length histogram"] > 0
    assert len(log.assumptions) == 1


def test_equal_files_give_equal_requests(tmp_path: Path) -> None:
    paths = client(tmp_path)
    assert list(read_sessions(paths, ReadLog())) == list(read_sessions(paths, ReadLog()))


@pytest.mark.parametrize(("family", "shape"), [("gamma", 0.3), ("weibull", 0.7), ("poisson", 1.0)])
def test_gaps_have_the_recorded_rate(family: str, shape: float) -> None:
    window = Window(start_s=100.0, length_s=20_000.0, rate=3.0, family=family, shape=shape)
    times = arrivals(window, generator("x", 100.0))
    assert times.size == pytest.approx(60_000, rel=0.05)
    assert (np.diff(times) >= 0).all()
    assert times[0] >= 100.0
    assert times[-1] < 20_100.0


def test_gamma_gaps_have_the_variation_of_their_shape() -> None:
    window = Window(start_s=0.0, length_s=50_000.0, rate=2.0, family="gamma", shape=0.25)
    gaps = np.diff(arrivals(window, generator("y", 0.0)))
    # The coefficient of variation of a Gamma variable is 1 / sqrt(shape).
    assert np.std(gaps) / np.mean(gaps) == pytest.approx(2.0, rel=0.05)


def test_half_of_a_client_is_refused(tmp_path: Path) -> None:
    client(tmp_path)
    (tmp_path / "m__chunk-0-dataset.json").unlink()
    with pytest.raises(TraceError, match=r"give both NAME-trace\.csv and NAME-dataset\.json"):
        list(read_sessions([str(tmp_path / "m__chunk-0-trace.csv")], ReadLog()))


@pytest.mark.parametrize("text", ["{1: 'x'}", "{1: -1}", "[1]", "{1: 1e999}", "{1: nan}", "{__import__('os'): 1}"])
def test_histograms_are_never_evaluated(tmp_path: Path, text: str) -> None:
    paths = client(tmp_path, lengths={"0": {"input_tokens": text, "output_tokens": "{5: 1.0}"}})
    with pytest.raises(TraceError, match="window '0'"):
        list(read_sessions(paths, ReadLog(), "servegen"))


@given(
    rates=st.text(alphabet="0123456789.,-enaifGmW\n", max_size=60),
    text=st.text(alphabet="0123456789.,:{}-einfa ", max_size=30),
)
@settings(max_examples=60, deadline=None)
def test_any_content_is_survived(rates: str, text: str) -> None:
    lengths = {"0": {"input_tokens": text, "output_tokens": "{5: 1.0}"}}
    files = [
        SourceFile(None, "c-trace.csv", ("0,0.01,1,Gamma,1,1\n" + rates).encode()),
        SourceFile(None, "c-dataset.json", json.dumps(lengths).encode()),
    ]
    for skip in (False, True):
        try:
            for _, session in zip(
                range(100), reader_named("servegen").read(files, ReadLog(skip_invalid=skip)), strict=False
            ):
                assert session.turns
        except SimtoolError:
            continue


def test_both_files_are_recognised() -> None:
    assert sniff(SourceFile(None, "a.csv", RATES.encode())).name == "servegen"
    assert sniff(SourceFile(None, "a.json", json.dumps(LENGTHS).encode())).name == "servegen"
