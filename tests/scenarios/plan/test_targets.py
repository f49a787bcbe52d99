"""How targets are written, and what is wrong with those that cannot be."""

from __future__ import annotations

import pytest

from scenarios.options.replay import OptionError
from scenarios.plan.targets import Target, parse_targets


def test_targets_are_read() -> None:
    found = parse_targets(["ttft:p99:2000,tpot:99.9:50", "session:p95:60000"])
    assert found == (
        Target("ttft", 99.0, 2.0),
        Target("tpot", 99.9, 0.05),
        Target("session", 95.0, 60.0),
    )
    assert [one.name for one in found] == ["ttft p99", "tpot p99.9", "session p95"]


@pytest.mark.parametrize(
    "text", ["ttft", "ttft:2000", "tttf:p99:10", "ttft:p0:10", "ttft:p101:10", "ttft:p99:0", "ttft:p99:x", ""]
)
def test_what_is_no_target(text: str) -> None:
    with pytest.raises(OptionError, match="--target"):
        parse_targets([text])


def test_a_target_is_given_once() -> None:
    with pytest.raises(OptionError, match="twice"):
        parse_targets(["ttft:p99:10", "ttft:p99:20"])
