from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from scenarios.accuracy import CONSTANT, PER_DEPTH, accepted_per_depth, main, predict
from scenarios.published.publishedcases import PublishedCase, read_cases
from traces.errors import TraceError


def case(inputs: dict, measured: dict) -> PublishedCase:
    return PublishedCase("made", "test", inputs, measured)


def test_a_series_of_constant_acceptance_is_predicted_by_both_models() -> None:
    gammas = [1, 2, 3, 4, 5]
    lengths = [sum(0.7**i for i in range(gamma + 1)) for gamma in gammas]
    found = predict([case({"gamma": gammas}, {"acceptance_length": lengths, "derived_fit": [1.1] * 5})])
    assert {(one.model, one.quantity[-1]) for one in found} == {(m, g) for m in (CONSTANT, PER_DEPTH) for g in "24"}
    assert all(abs(one.relative_error) < 1e-3 for one in found)


def test_falling_acceptance_is_over_predicted_by_a_constant() -> None:
    survival = [80, 56, 33.6, 16.8]
    found = {one.model: one for one in predict([case({"gamma": 4}, {"per_position_pct": survival})])}
    assert found[CONSTANT].measured == pytest.approx(1 + sum(survival) / 100)
    assert found[CONSTANT].relative_error > 0.02
    assert found[PER_DEPTH].relative_error > 0.02


def test_rates_between_depths_meet_the_lengths() -> None:
    rates = accepted_per_depth([2, 5], [2.2, 2.9])
    reached, length = 1.0, 1.0
    at = {}
    for depth, rate in enumerate(rates, start=1):
        reached *= rate
        length += reached
        at[depth] = length
    assert at[2] == pytest.approx(2.2)
    assert at[5] == pytest.approx(2.9)
    assert accepted_per_depth([1, 3], [1.8, 1.7])[1:] == [0.0, 0.0]


def test_command_writes_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [
        {"id": "x", "source": "y", "inputs": {"gamma": [1, 2, 3]}, "measured": {"acceptance_length": [1.8, 2.4, 2.8]}}
    ]
    source, target = tmp_path / "cases.json", tmp_path / "accuracy.md"
    source.write_text(json.dumps(cases))
    monkeypatch.setattr(sys, "argv", ["accuracy", str(source), "--output", str(target)])
    main()
    assert "| x acceptance_length | acceptance length, gamma 2 |" in target.read_text()


def test_a_file_of_another_shape_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "cases.json"
    source.write_text('{"id": 1}')
    with pytest.raises(TraceError, match="not a list of published cases"):
        read_cases(source)
