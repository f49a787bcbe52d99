"""What a sweep is: two runs of one definition answer the same points, so that the second can go on from the first."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

from scenarios.options.replay import OptionError
from scenarios.options.settings import all_options, unknown_key
from scenarios.scenariofile.places import Places
from scenarios.scenariofile.values import names_file
from scenarios.sweep.axes import Axis, axis_of, is_number, option_value, parse_axis
from scenarios.sweep.code import code_digest
from scenarios.sweep.points import Method
from simulator.config import MODELLED_ENGINE
from traces.choice import did_you_mean

SCHEMA_VERSION = 2
DEFAULT_SAMPLES = 32
_SECTION_KEYS = ("axes", "method", "samples", "seeds", "objectives", "reference")


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What a user asks of a sweep."""

    axes: tuple[Axis, ...] = ()
    method: Method = Method.GRID
    samples: int | None = None
    """None: DEFAULT_SAMPLES, where the method draws samples."""
    seeds: tuple[int, ...] = ()
    """Each point is answered under each of them; none: the base's own."""
    objectives: tuple[str, ...] = ()
    """None: cost per task and p99 of E2EL."""
    reference: dict[str, Any] = {}
    """Values of axes with which points are compared; axes not named go with the point."""


class Definition(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the results of a sweep depend on."""

    schema_version: int
    version: str
    code: str
    """Digest of the installed program: other code may answer differently."""
    modelled_engine: str
    trace_sha256: str
    base: dict[str, Any]
    """Options that are not at their defaults."""
    files: dict[str, str]
    """Digests of the files that options name."""
    method: Method
    axes: dict[str, Any]
    samples: int | None
    seeds: list[int]
    objectives: list[str]
    reference: dict[str, Any]

    def differs_from(self, other: Definition) -> list[str]:
        """Names of what is not the same."""
        mine, theirs = msgspec.to_builtins(self), msgspec.to_builtins(other)
        return [name for name in mine if mine[name] != theirs.get(name)]


def define(request: Request, base: Mapping[str, Any], trace_sha256: str, objectives: Sequence[str]) -> Definition:
    """The definition of *request* over *base*."""
    samples = request.samples if request.method in (Method.RANDOM, Method.SEARCH) else None
    return Definition(
        schema_version=SCHEMA_VERSION,
        version=version("simtool"),
        code=code_digest(),
        modelled_engine=MODELLED_ENGINE,
        trace_sha256=trace_sha256,
        base=dict(base),
        files=file_digests([base, *({axis.key: value} for axis in request.axes for value in axis.values)]),
        method=request.method,
        axes={axis.key: axis.described() for axis in request.axes},
        samples=samples,
        seeds=list(request.seeds),
        objectives=list(objectives),
        reference=request.reference,
    )


def base_values(given: Mapping[str, Any]) -> dict[str, Any]:
    """*given* without what is at its option's default. Raises OptionError for unknown keys."""
    known = all_options()
    found = {}
    for key, value in given.items():
        if key not in known:
            raise OptionError(unknown_key(key, known))
        plain = str(value) if isinstance(value, Path) else list(value) if isinstance(value, tuple) else value
        if plain not in (None, []) and plain != known[key].default:
            found[key] = plain
    return found


def file_digests(
    values: Iterable[Mapping[str, Any]], known_digests: dict[str, str | None] | None = None
) -> dict[str, str]:
    """Digests of the contents of the files and folders that *values* name, options by key, by their names.

    *known_digests* are those found before, and takes in those found now.
    """
    known, found = all_options(), {} if known_digests is None else known_digests
    names = {
        name
        for one in values
        for key, value in one.items()
        for name in (value if isinstance(value, list) else [value])
        if isinstance(name, str) and names_file(known[key], name)
    }
    for name in sorted(names - found.keys()):
        found[name] = _digest(Path(name))
    return {name: digest for name in sorted(names) if (digest := found[name]) is not None}


def _digest(path: Path) -> str | None:
    try:
        if not path.exists():
            return None
        files = [path] if path.is_file() else sorted(one for one in path.rglob("*") if one.is_file())
        found = hashlib.sha256()
        for one in files:
            found.update(f"{one.relative_to(path)}\0".encode() + hashlib.sha256(one.read_bytes()).digest())
        return found.hexdigest()
    except (OSError, ValueError):
        return None


def merged(section: Mapping[str, Any], places: Places, flags: Request, axis_flags: Sequence[str]) -> Request:
    """The request of a scenario's section about sweeps under flags, which go before it axis by axis.

    Raises the errors of *places* for what the section says, with the nearest key for an unknown one, and OptionError
    for flags.
    """
    for key in section:
        if key not in _SECTION_KEYS:
            guess = did_you_mean(str(key), _SECTION_KEYS, f"known are {', '.join(_SECTION_KEYS)}")
            raise places.error((str(key),), f"{key!r} is no key of [sweep]", guess)
    axes = {axis.key: axis for axis in _section_axes(section.get("axes", {}), places)}
    own = [*flags.axes, *(parse_axis(text) for text in axis_flags)]
    for at, axis in enumerate(own):
        if axis.key in {other.key for other in own[:at]}:
            raise OptionError(f"--axis {axis.key} is given twice: name all values in one")
        axes[axis.key] = axis
    read = {name: _read(name, section[name], places) for name in section if name != "axes"}
    return Request(
        axes=tuple(axes.values()),
        method=flags.method if flags.method != Method.GRID else read.get("method", flags.method),
        samples=flags.samples if flags.samples is not None else read.get("samples"),
        seeds=flags.seeds or read.get("seeds", ()),
        objectives=flags.objectives or read.get("objectives", ()),
        reference=flags.reference or read.get("reference", {}),
    )


def _section_axes(tables: Any, places: Places) -> list[Axis]:
    if not isinstance(tables, Mapping):
        raise places.error(("axes",), f"axes is {tables!r}", "give a table of options with their values")
    found = []
    for key, spec in tables.items():
        try:
            found.append(axis_of(key, spec, "[sweep.axes]"))
        except OptionError as error:
            raise places.error(("axes", str(key)), str(error)) from error
    return found


def _read(name: str, value: Any, places: Places) -> Any:
    """The value of key *name* of the section."""
    readers: dict[str, Callable[[Any], Any]] = {
        "method": _method,
        "samples": _samples,
        "seeds": lambda given: tuple(_list(given, int, name)),
        "objectives": lambda given: tuple(_list(given, str, name)),
        "reference": lambda given: reference_of(given, name),
    }
    try:
        return readers[name](value)
    except OptionError as error:
        raise places.error((name,), str(error)) from error


def reference_of(given: Any, place: str) -> dict[str, Any]:
    """Values of axes by key, from a table or from texts ``KEY=VALUE``. Raises OptionError."""
    if isinstance(given, Mapping):
        pairs = list(given.items())
    else:
        pairs = [(key, value) for key, _, value in (text.partition("=") for text in given)]
    known = all_options()
    found = {}
    for name, value in pairs:
        key = str(name).strip().lower().replace("-", "_")
        if key not in known:
            raise OptionError(f"{place}: {unknown_key(key, known)}")
        try:
            found[key] = option_value(known[key], value)
        except ValueError as error:
            raise OptionError(f"{place}: {error}") from error
    return found


def check(request: Request) -> None:
    """Raise OptionError for a request that contradicts itself, or varies nothing."""
    keys = [axis.key for axis in request.axes]
    if not keys and request.method is not Method.TORNADO:
        raise OptionError("nothing varies: give --axis KEY=VALUES, a scenario with [sweep.axes], or --method tornado")
    if request.seeds and "seed" in keys:
        raise OptionError("--seeds and --axis seed both vary the seed: give one")
    if len(set(request.seeds)) < len(request.seeds):
        raise OptionError(f"--seeds {','.join(map(str, request.seeds))}: one stands twice")
    for key in request.reference:
        if key not in keys:
            raise OptionError(f"--reference {key} is no axis of this sweep; axes are {', '.join(keys) or 'none'}")
    if request.samples is not None and request.method not in (Method.RANDOM, Method.SEARCH):
        raise OptionError(f"--samples goes with --method random or search, not {request.method}")
    partial = request.reference and len(request.reference) < len(keys)
    if partial and request.method in (Method.RANDOM, Method.SEARCH, Method.TORNADO):
        raise OptionError(f"--reference must name every axis with --method {request.method}: {', '.join(keys)}")


def _method(value: Any) -> Method:
    try:
        return Method(value)
    except ValueError:
        raise OptionError(f"method is {value!r}; it is one of {', '.join(Method)}") from None


def _samples(value: Any) -> int:
    if not is_number(value) or int(value) != value or value < 1:
        raise OptionError(f"samples is {value!r}; give a whole number from 1")
    return int(value)


def _list(value: Any, kind: type, name: str) -> list[Any]:
    items = list(value) if isinstance(value, (list, tuple)) else [value]
    if not all(isinstance(item, kind) and not isinstance(item, bool) for item in items):
        raise OptionError(f"{name} is {value!r}; give a list of {'whole numbers' if kind is int else 'names'}")
    return items
