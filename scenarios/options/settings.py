"""All options by name: what flags, scenario files, SIMTOOL_* variables, sweep axes and Python keywords set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from scenarios.drafters.base import drafters
from scenarios.options.option import Declared, Option, Section, declared
from scenarios.options.read import ReadOptions
from scenarios.options.replay import (
    DEFAULT_GAMMA,
    AcceptanceOptions,
    ClusterOptions,
    CostOptions,
    LoadOptions,
    MeasureOptions,
    OptionError,
    PlatformOptions,
    PolicyOptions,
    ReplayOptions,
)
from traces.choice import did_you_mean

GAMMA = Declared(
    field_name="gamma",
    key="gamma",
    option=Option(
        help="Draft depth (vLLM: num_speculative_tokens), or one by class (sub-classes D N K V T P too) of the token "
        "before the round and by tool within its calls, as in 8,F=0,call:bash=16; 0 replays without speculation.",
        section=Section.SPECULATION,
        flags=("--num-speculative-tokens",),
        metavar="N|S=..,R=..,F=..,call:TOOL=..",
    ),
    type=str,
    default=str(DEFAULT_GAMMA),
    optional=False,
    repeated=False,
)
"""The one option that two dataclasses share: the deepest draft is the engine's, depths by class and tool a policy."""

_REPLAY_PARTS: dict[str, type] = {
    "platform": PlatformOptions,
    "acceptance": AcceptanceOptions,
    "policy": PolicyOptions,
    "cost": CostOptions,
    "load": LoadOptions,
    "cluster": ClusterOptions,
    "measure": MeasureOptions,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How recordings are read, and how they are replayed."""

    read: ReadOptions = ReadOptions()
    replay: ReplayOptions = ReplayOptions()


@cache
def read_keys() -> tuple[str, ...]:
    """Options that say how a recording is read and tagged."""
    return (*(one.key for one in declared(ReadOptions)), "seed")


@cache
def all_options() -> dict[str, Declared]:
    """Every option by its key, section by section."""
    found = [GAMMA, *declared(ReadOptions)]
    own = (one.options for one in drafters().values())
    for part in (*_REPLAY_PARTS.values(), *own, ReplayOptions):
        found.extend(declared(part))
    order = list(Section)
    return {one.key: one for one in sorted(found, key=lambda one: order.index(one.option.section))}


def settings(given: Mapping[str, Any]) -> Settings:
    """The settings in which the options of *given*, by key, have their values and all others their defaults.

    Values are as a user writes them (``gamma="S=16,R=4,F=0"``) or of the option's type. Raises OptionError for
    unknown keys and values that cannot be used.
    """
    known = all_options()
    for key in given:
        if key not in known:
            raise OptionError(unknown_key(key, known))
    try:
        read = ReadOptions(**_fields(ReadOptions, given), seed=_seed(given))
        parts = {name: part(**_fields(part, given)) for name, part in _REPLAY_PARTS.items()}
        own = tuple(one.options(**_fields(one.options, given)) for one in drafters().values())
        replay = ReplayOptions(**parts, drafters=own, **_fields(ReplayOptions, given))
        if given.get("gamma") is not None:
            replay = with_gamma(replay, str(given["gamma"]))
    except OptionError:
        raise
    except ValueError as error:
        raise OptionError(str(error)) from error
    return Settings(read=read, replay=replay)


def unknown_key(key: str, known: Iterable[str]) -> str:
    """What to say of a key that is no option: the nearest one."""
    return f"{key!r} is no option; {did_you_mean(key, known, 'see simtool scenarios keys')}"


def _fields(cls: type, given: Mapping[str, Any]) -> dict[str, Any]:
    return {
        one.field_name: one.parsed(given[one.key])
        for one in declared(cls)
        if one.key in given and (given[one.key] is not None or one.optional)
    }


def _seed(given: Mapping[str, Any]) -> int:
    return int(given["seed"]) if given.get("seed") is not None else 0


def with_gamma(options: ReplayOptions, text: str) -> ReplayOptions:
    """*options* with the draft depth, or the depths by class, that *text* names. Raises ValueError."""
    from scenarios.options.depths import parse_gamma

    depths = parse_gamma(text)
    return replace(
        options,
        platform=replace(options.platform, num_speculative_tokens=depths.deepest),
        policy=replace(options.policy, gamma_by_class=depths.by_class, gamma_by_tool=depths.by_tool),
    )
