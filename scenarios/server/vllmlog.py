"""Reads the speculation lines that vLLM logs at intervals."""

from __future__ import annotations

import re
from pathlib import Path

from scenarios.server.run import ServerRun
from traces.errors import TraceError

_NUMBER = r"(\d+(?:\.\d+)?)"
_LINE = re.compile(
    rf"SpecDecoding metrics: .*?Mean acceptance length: {_NUMBER}.*?Accepted: (\d+) tokens, Drafted: (\d+) tokens, "
    rf"Per-position acceptance rate: ([\d., ]+?),? *(?:Avg )?Draft acceptance rate: {_NUMBER}%"
)
_INTERVAL = "SpecDecoding metrics:"
_LENGTH_ROUNDING = 0.005


def read_log(path: Path) -> ServerRun:
    """All intervals of a server log added up.

    The lines give no count of rounds: it is drafted tokens over positions where that agrees with the mean acceptance
    length as printed, else (rounds that draft less than the full depth) accepted tokens over the length less 1.
    Raises TraceError for a line of another form, intervals of different depths, and a log without any.
    """
    drafts = drafted = accepted = 0.0
    per_pos: list[float] = []
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, start=1):
            if _INTERVAL not in line:
                continue
            match = _LINE.search(line)
            if match is None:
                raise TraceError(
                    str(path), number, "speculation line of an unknown form", "log with vLLM 0.11 or later"
                )
            rates = [float(rate) for rate in match[4].split(",") if rate.strip()]
            if per_pos and len(rates) != len(per_pos):
                raise TraceError(str(path), number, "draft depth changed", "split the log at the change")
            rounds = _rounds(float(match[1]), int(match[2]), int(match[3]), len(rates))
            drafts, accepted, drafted = drafts + rounds, accepted + int(match[2]), drafted + int(match[3])
            per_pos = [
                before + rate * rounds for before, rate in zip(per_pos or [0.0] * len(rates), rates, strict=True)
            ]
    if not per_pos:
        raise TraceError(str(path), None, "holds no speculation lines", "log with speculation on and log stats enabled")
    return ServerRun(
        source=str(path),
        num_drafts=drafts,
        num_draft_tokens=drafted,
        num_accepted_tokens=accepted,
        accepted_per_pos=tuple(per_pos),
    )


def _rounds(length: float, accepted: int, drafted: int, gamma: int) -> float:
    full = drafted / gamma
    if full and abs(1 + accepted / full - length) <= _LENGTH_ROUNDING + 1e-9:
        return full
    return accepted / (length - 1) if length > 1 else full
