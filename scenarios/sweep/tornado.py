"""Which assumption matters most: each alone from its low to its high end, all others where the reference has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from scenarios.acceptance.choice import given_profile, is_measured
from scenarios.ask import Question, question
from scenarios.options.option import declared
from scenarios.options.replay import AcceptanceOptions
from scenarios.options.settings import all_options, settings
from scenarios.sweep.axes import Axis, shown
from scenarios.sweep.document import TornadoBar
from scenarios.sweep.objectives import Objective
from scenarios.sweep.points import Figures, Point
from simulator.profile import AcceptanceProfile, Case, with_eps
from tokenclass.classes import SubClass

ACCEPTANCE, PRICE = "acceptance", "gpu_price_per_hour"
PRICE_SPREAD = 0.25
"""Share by which the price is taken to be uncertain where no axis says how much."""
_ENDS = {Case.WORST: "pessimistic", Case.BEST: "optimistic"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumptions:
    """Points of a tornado."""

    points: list[Point]
    """The base, then each assumption alone at both ends."""
    notes: list[str]
    """Where the ends are from."""
    profiles: dict[Path, AcceptanceProfile]
    """Files that points name, to be written before these are asked about."""


def assumptions(axes: Sequence[Axis], base: Mapping[str, Any], folder: Path) -> Assumptions:
    """Both ends of the *axes*, of the acceptance profile, in files of *folder*, and of the price.

    Raises OptionError for a base that cannot be asked about.
    """
    chosen = settings(base)
    asked = question(chosen.read, chosen.replay)
    known = all_options()
    at_base = {axis.key: base.get(axis.key, known[axis.key].default) for axis in axes}
    alone: list[tuple[str, Any, dict[str, Any]]] = [
        (axis.key, end, {axis.key: end})
        for axis in axes
        for end in axis.ends()
        if shown(end) != shown(at_base[axis.key])
    ]
    notes = []
    if PRICE not in at_base:
        price = float(str(asked.book.entries[PRICE].value))
        at_base[PRICE] = price
        ends = [round(price * factor, 6) for factor in (1 - PRICE_SPREAD, 1 + PRICE_SPREAD)]
        alone += [(PRICE, end, {PRICE: end}) for end in ends if price]
        notes.append(
            f"{PRICE}: {PRICE_SPREAD:.0%} either way of {price:g} USD; --axis {PRICE}=LOW..HIGH sets another range"
        )
    profiles = {folder / f"acceptance-{_ENDS[case]}.json": (case, one) for case, one in _profile_ends(asked).items()}
    if profiles:
        at_base[ACCEPTANCE] = "central"
        none = {one.key: None for one in declared(AcceptanceOptions)}
        alone += [(ACCEPTANCE, _ENDS[case], {**none, "profile": str(path)}) for path, (case, _) in profiles.items()]
        notes.append(f"{ACCEPTANCE}: both ends of the spread that the acceptance profile declares")
    points = [Point(number=0, values=dict(at_base), label="base")]
    points += [
        Point(number=at, values={**at_base, key: value}, settings=change, label=f"{key} {shown(value)}")
        for at, (key, value, change) in enumerate(alone, start=1)
    ]
    return Assumptions(points=points, notes=notes, profiles={path: one for path, (_, one) in profiles.items()})


def bars(
    points: Sequence[Point], figures: Sequence[Figures | None], reference: int, objective: Objective
) -> list[TornadoBar]:
    """A bar for each axis that some points vary alone, the longest first; points without the figure are left out."""
    home = points[reference].values
    found_here = figures[reference]
    here = found_here.get(objective.key) if found_here is not None else None
    if here is None:
        return []
    moved: dict[str, list[tuple[Any, float]]] = {}
    for point, found in zip(points, figures, strict=True):
        differing = [key for key in home if point.values.get(key) != home[key]]
        value = found.get(objective.key) if found is not None else None
        if len(differing) == 1 and value is not None:
            moved.setdefault(differing[0], []).append((point.values[differing[0]], value))
    result = [_bar(key, [(home[key], here), *others], here) for key, others in moved.items()]
    return sorted(result, key=lambda bar: (-bar.swing, bar.axis))


def _bar(key: str, outcomes: list[tuple[Any, float]], here: float) -> TornadoBar:
    if all(isinstance(value, (int, float)) for value, _ in outcomes):
        outcomes = sorted(outcomes, key=lambda one: float(one[0]))
    elif len(outcomes) > 1:
        outcomes = outcomes[1:]
    reached = [outcome for _, outcome in outcomes]
    return TornadoBar(
        axis=key,
        low_value=shown(outcomes[0][0]),
        high_value=shown(outcomes[-1][0]),
        low=outcomes[0][1],
        high=outcomes[-1][1],
        at_reference=here,
        least=min(*reached, here),
        most=max(*reached, here),
    )


def _profile_ends(asked: Question) -> dict[Case, AcceptanceProfile]:
    """The acceptance profile at its ends; none without drafts, or where a drafter is measured."""
    options, gamma = asked.options.acceptance, asked.platform.engine.num_speculative_tokens
    if not gamma or is_measured(asked.platform.engine, options):
        return {}
    profile = given_profile(options, gamma)
    return {case: _at(profile, case) for case in _ENDS if profile.eps_of(case) != profile.eps_of()}


def _at(profile: AcceptanceProfile, case: Case) -> AcceptanceProfile:
    """*profile* with acceptance at one end of its spread, at every depth."""
    moved = with_eps(profile, dict(zip(SubClass.__members__, profile.eps_of(case), strict=True)), f"{_ENDS[case]} end")
    rates = {
        label: tuple(row.tolist())
        for label, row in zip(SubClass.__members__, profile.table(case).table, strict=True)
        if label in profile.conditional
    }
    return msgspec.structs.replace(moved, name=f"{profile.name}, {_ENDS[case]}", conditional=rates)
