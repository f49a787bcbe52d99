"""Where the differences of latency and of cost come from, part by part."""

from __future__ import annotations

from collections.abc import Mapping

from scenarios.answer import Answer
from scenarios.comparison.document import Breakdown, Part
from scenarios.comparison.parts import MEANINGS, TOTAL
from scenarios.comparison.resample import F64, differences, interval

NOT_SAVED = "one table has no cache_saved_s: what hits saved is inside prefill"
ONE_TABLE = "from the summaries: what hits saved is inside prefill, and retries are inside the other parts"
AT_MEAN_PRICE = "parts differ by GPU seconds at the mean of both prices; price is what the prices themselves change"

_GATE = "gate"
"""Shown where a gate costs something."""
_TITLES = {
    "e2el": ("E2EL, mean of a request", "ms", 1e3),
    "session": ("time of a session, mean", "s", 1.0),
    "cost": ("GPU seconds per accepted turn", "s", 1.0),
    "usd": ("USD per 1,000 accepted turns", "USD", 1e3),
}
"""Title, unit, and units in a second or dollar."""


def sampled_breakdowns(
    a: Mapping[str, F64], b: Mapping[str, F64], usd_per_s: tuple[float, float], level: float, notes: list[str]
) -> list[Breakdown]:
    """Breakdowns of the makeups (see parts.makeups) in *a* and *b*, index 0 the runs as they are, the rest resampled.

    *usd_per_s* is each run's price of a GPU second, *level* the confidence of the intervals.
    """
    found = []
    for key in ("e2el", "session", "cost"):
        sides = _parts_of(a, key), _parts_of(b, key)
        changes = {name: differences(sides[0][name], sides[1][name]) for name in sides[0]}
        found.append(_breakdown(key, *sides, changes, level, notes))
        if key == "cost":
            priced = [
                {name: values * usd for name, values in side.items()}
                for side, usd in zip(sides, usd_per_s, strict=True)
            ]
            changes = _in_money(*sides, usd_per_s)
            found.append(_breakdown("usd", priced[0], priced[1], changes, level, [*notes, AT_MEAN_PRICE]))
    return found


def _parts_of(sampled: Mapping[str, F64], key: str) -> dict[str, F64]:
    return {name.partition("/")[2]: values for name, values in sampled.items() if name.startswith(f"{key}/")}


def _in_money(a: Mapping[str, F64], b: Mapping[str, F64], usd_per_s: tuple[float, float]) -> dict[str, F64]:
    """Formula: s_B p_B - s_A p_A = (s_B - s_A) (p_A + p_B) / 2 + (p_B - p_A) (s_A + s_B) / 2, exact."""
    price_a, price_b = usd_per_s
    found = {name: differences(a[name], b[name]) * (price_a + price_b) / 2 for name in a if name != TOTAL}
    found["price"] = (a[TOTAL] + b[TOTAL]) / 2 * (price_b - price_a)
    found[TOTAL] = differences(a[TOTAL] * price_a, b[TOTAL] * price_b)
    return found


def _breakdown(
    key: str,
    a: Mapping[str, F64],
    b: Mapping[str, F64],
    changes: Mapping[str, F64],
    level: float,
    notes: list[str],
) -> Breakdown:
    title, unit, scale = _TITLES[key]

    def part(name: str) -> Part:
        found = interval(changes[name] * scale, level)
        return Part(
            name=name,
            meaning=MEANINGS.get(name, ""),
            a=float(a[name][0]) * scale if name in a else None,
            b=float(b[name][0]) * scale if name in b else None,
            difference=float(changes[name][0]) * scale,
            low=found[0] if found else None,
            high=found[1] if found else None,
        )

    idle = {name for name in (_GATE,) if not any(side[name].any() for side in (a, b) if name in side)}
    parts = [part(name) for name in MEANINGS if name in changes and name not in idle]
    return Breakdown(key=key, title=title, unit=unit, total=part(TOTAL), parts=parts, notes=notes)


def summary_breakdowns(a: Answer, b: Answer) -> list[Breakdown]:
    """The same from two summaries, without intervals; cache and retries are not told apart."""
    made = [_summary_parts(answer) for answer in (a, b)]
    found = []
    for key in made[0]:
        if key not in made[1]:
            continue
        title, unit, scale = _TITLES[key]
        sides = [{name: value * scale for name, value in one[key].items()} for one in made]
        parts = [
            _plain(name, sides[0][name], sides[1][name])
            for name in sides[0]
            if name != _GATE or sides[0][name] or sides[1][name]
        ]
        total = _plain(TOTAL, sum(sides[0].values()), sum(sides[1].values()))
        found.append(Breakdown(key=key, title=title, unit=unit, total=total, parts=parts, notes=[ONE_TABLE]))
    return found


def _plain(name: str, a: float, b: float) -> Part:
    meaning = "" if name in ("prefill", "cache") else MEANINGS.get(name, "")
    return Part(name=name, meaning=meaning, a=a, b=b, difference=b - a, low=None, high=None)


def _summary_parts(answer: Answer) -> dict[str, dict[str, float]]:
    run = answer.replay
    found: dict[str, dict[str, float]] = {}
    means = {"queue": run.queue_s["mean"], "prefill": run.prefill_s["mean"], "decode": run.decode_s["mean"]}
    if all(value is not None for value in means.values()):
        found["e2el"] = {name: value for name, value in means.items() if value is not None}
    session_s = run.session_s["mean"]
    if session_s is not None and run.session_time_shares:
        found["session"] = {
            name.replace("_", " ").replace("wait", "waits"): share * session_s
            for name, share in sorted(run.session_time_shares.items(), key=lambda item: _ORDER.index(item[0]))
        }
    cost = run.cost
    found["cost"] = {
        "prefill": cost.nu * (cost.C_pre_s + cost.C_pre_draft_s),
        "cache": cost.nu * cost.C_hit_s,
        "decode": cost.nu * cost.C_dec_s,
        "gate": cost.nu * cost.C_gate_s,
    }
    return found


_ORDER = ["queue", "prefill", "decode", "tool_wait"]
