"""Axes of a sweep: an option with the values it takes, as a list, in steps, or as a range to draw from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from scenarios.options.option import Declared
from scenarios.options.replay import OptionError
from scenarios.options.settings import all_options, settings, unknown_key
from scenarios.scenariofile.values import BadValueError, checked, from_text

MAX_VALUES = 10_000
"""Values of one axis."""
SYNTAX = "0,4,8 or 1..64:8 (steps) or 1..64*2 (factors) or 0.1..1 (any within) or 1..100:log"
_TABLE_KEYS = ("from", "to", "step", "factor", "scale")


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A range of numbers to draw from."""

    low: float
    high: float
    whole: bool
    log: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """An option that varies: through *values*, or within *span*."""

    key: str
    values: tuple[Any, ...] = ()
    span: Span | None = None

    def listed(self) -> tuple[Any, ...]:
        """All values, a span of whole numbers counted through. Raises OptionError for any other span."""
        if self.span is None:
            return self.values
        low, high = self.span.low, self.span.high
        if not self.span.whole or self.span.log:
            raise OptionError(
                f"--axis {self.key}={low:g}..{high:g}: a grid needs a step, as {low:g}..{high:g}:{(high - low) / 4:g}, "
                "or use --method random or search"
            )
        return _stepped(self.key, Decimal(int(low)), Decimal(int(high)), step=Decimal(1))

    def ends(self) -> tuple[Any, Any]:
        """The lowest and the highest value; of values that are no numbers the first and the last."""
        if self.span is not None:
            return self.span.low, self.span.high
        if all(is_number(value) for value in self.values):
            return min(self.values), max(self.values)
        return self.values[0], self.values[-1]

    def described(self) -> Any:
        """The axis as plain values, for the sweep's definition."""
        if self.span is None:
            return list(self.values)
        scale = "log" if self.span.log else "linear"
        return {"from": self.span.low, "to": self.span.high, "scale": scale, "whole": self.span.whole}


def parse_axis(text: str) -> Axis:
    """The axis that ``KEY=VALUES`` names, as in SYNTAX; lists whose items have commas or = go by semicolons.

    Raises OptionError, with the nearest option for an unknown one.
    """
    key, equals, spec = text.partition("=")
    if not equals or not spec.strip():
        raise OptionError(f"--axis {text!r} is not KEY=VALUES; VALUES are {SYNTAX}")
    return axis_of(key, spec.strip(), f"--axis {text}")


def axis_of(key: str, spec: Any, place: str) -> Axis:
    """The axis of option *key*: text as of a flag, a list, or a table with from, to and step, factor or scale.

    Raises OptionError that begins with *place*.
    """
    known = all_options()
    name = key.strip().lower().replace("-", "_")
    if name not in known:
        raise OptionError(f"{place}: {unknown_key(name, known)}")
    one = known[name]
    try:
        axis = _axis(one, spec)
        for value in axis.values or axis.ends():
            settings({name: value})
    except (ValueError, InvalidOperation) as error:
        raise OptionError(f"{place}: {error}") from error
    return axis


def is_number(value: Any) -> bool:
    """Whether *value* is a number, and not a switch."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def shown(value: Any) -> str:
    """A value of an axis as text."""
    if value is None:
        return "default"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return ",".join(shown(item) for item in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def option_value(one: Declared, value: Any) -> Any:
    """*value* as the option takes it, checked; a depth of gamma as a number. Raises BadValueError."""
    found = from_text(one, value) if isinstance(value, str) and not one.repeated else checked(one, value)
    if one.key == "gamma" and isinstance(found, str) and found.isdigit():
        return int(found)
    return found


def _axis(one: Declared, spec: Any) -> Axis:
    if isinstance(spec, Mapping):
        return _from_table(one, spec)
    if isinstance(spec, str) and ".." in spec and _numeric(one):
        return _from_range(one, spec)
    items: Iterable[Any] = _items(one, spec) if isinstance(spec, str) else spec if isinstance(spec, list) else [spec]
    values = [option_value(one, item) for item in items]
    if not values:
        raise BadValueError(f"{one.key}: no values; give {SYNTAX}")
    again = [value for at, value in enumerate(values) if value in values[:at]]
    if again:
        raise BadValueError(f"{one.key} has {shown(again[0])} twice")
    return Axis(key=one.key, values=tuple(values))


def _items(one: Declared, spec: str) -> Sequence[str]:
    """Items of a list; of options whose values have commas themselves, only semicolons part them."""
    whole = ";" in spec or "=" in spec or one.option.parse is not None or one.repeated
    return [item for item in (part.strip() for part in spec.split(";" if whole else ",")) if item]


def _numeric(one: Declared) -> bool:
    return one.type in (int, float) or one.key == "gamma"


def _whole(one: Declared) -> bool:
    return one.type is int or one.key == "gamma"


def _from_range(one: Declared, spec: str) -> Axis:
    """``a..b``, ``a..b:step``, ``a..b*factor`` or ``a..b:log``."""
    first, _, rest = spec.partition("..")
    high_text, colon, step = rest.partition(":")
    high_text, star, factor = (high_text, "", "") if colon else rest.partition("*")
    try:
        low, high = Decimal(first.strip()), Decimal(high_text.strip())
        if colon and step.strip() == "log":
            return _spanned(one, low, high, log=True)
        if colon:
            return _valued(one, _stepped(one.key, low, high, step=Decimal(step.strip())))
        if star:
            return _valued(one, _stepped(one.key, low, high, factor=Decimal(factor.strip())))
    except InvalidOperation:
        raise BadValueError(f"{one.key} {spec!r} is no range; write 1..64:8, 1..64*2, 0.1..1 or 1..100:log") from None
    return _spanned(one, low, high, log=False)


def _from_table(one: Declared, table: Mapping[str, Any]) -> Axis:
    for key in table:
        if key not in _TABLE_KEYS:
            raise BadValueError(f"{key!r} is no key of an axis; known are {', '.join(_TABLE_KEYS)}")
    if not _numeric(one) or not is_number(table.get("from")) or not is_number(table.get("to")):
        raise BadValueError(f"{one.key}: a range needs numbers from and to, of an option that takes numbers")
    low, high = (Decimal(str(table[end])) for end in ("from", "to"))
    steps = {key: Decimal(str(table[key])) for key in ("step", "factor") if key in table}
    if len(steps) + ("scale" in table) > 1:
        raise BadValueError(f"{one.key}: step, factor and scale exclude each other: give one")
    if steps:
        return _valued(one, _stepped(one.key, low, high, **steps))
    if table.get("scale", "linear") not in ("linear", "log"):
        raise BadValueError(f"{one.key}: scale is {table['scale']!r}; give linear or log")
    return _spanned(one, low, high, log=table.get("scale") == "log")


def _valued(one: Declared, values: Iterable[Any]) -> Axis:
    return Axis(key=one.key, values=tuple(option_value(one, checked(_number_of(one), value)) for value in values))


def _spanned(one: Declared, low: Decimal, high: Decimal, *, log: bool) -> Axis:
    if not low < high:
        raise BadValueError(f"{one.key}: {low}..{high} goes down or nowhere; give the lower end first")
    if log and low <= 0:
        raise BadValueError(f"{one.key}: {low}..{high}:log needs ends above 0")
    ends = [checked(_number_of(one), _plain(end)) for end in (low, high)]
    return Axis(key=one.key, span=Span(low=ends[0], high=ends[1], whole=_whole(one), log=log))


def _number_of(one: Declared) -> Declared:
    """The option with numbers for values, where it is one that takes text too."""
    from dataclasses import replace

    return replace(one, type=int) if one.key == "gamma" else one


def _stepped(
    key: str, low: Decimal, high: Decimal, *, step: Decimal | None = None, factor: Decimal | None = None
) -> tuple[int | float, ...]:
    """Numbers from *low* up to *high*, exact in decimals."""
    if not low <= high:
        raise BadValueError(f"{key}: {low}..{high} goes down; give the lower end first")
    if step is not None and step <= 0:
        raise BadValueError(f"{key}: a step of {step} leads nowhere; give one above 0")
    if factor is not None and (factor <= 1 or low <= 0):
        raise BadValueError(f"{key}: {low}..{high}*{factor} leads nowhere; give a factor above 1 and a start above 0")
    found: list[int | float] = []
    value = low
    while value <= high:
        found.append(_plain(value))
        if len(found) > MAX_VALUES:
            raise BadValueError(f"{key}: {low}..{high} has more than {MAX_VALUES:,} values; give a larger step")
        value = value + step if step is not None else value * (factor or 2)
    return tuple(found)


def _plain(value: Decimal) -> int | float:
    return int(value) if value == value.to_integral_value() else float(value)
