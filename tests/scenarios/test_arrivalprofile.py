from __future__ import annotations

from pathlib import Path

import pytest

from scenarios.resolve.arrivalprofile import read_arrival_profile
from traces.errors import TraceError


@pytest.mark.parametrize("text", ["[0.5, 0, 2]", "0.5\n\n0 # night\n2\n"])
def test_hourly_rates_as_a_list_or_by_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "day").write_text(text)
    assert read_arrival_profile(tmp_path / "day") == (0.5, 0.0, 2.0)


@pytest.mark.parametrize(
    ("text", "reason"),
    [("", "above 0"), ("0\n0", "above 0"), ("-1\n2", "above 0"), ("1\nmany", r":2: 'many'"), ("[1, true", "no list")],
)
def test_what_is_no_profile_is_an_error(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "day").write_text(text)
    with pytest.raises(TraceError, match=reason):
        read_arrival_profile(tmp_path / "day")
