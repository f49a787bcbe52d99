"""Whether a value of a scenario file, of an axis or of a Python keyword is one that its option takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from scenarios.options.option import Declared
from traces.choice import hint


class BadValueError(ValueError):
    """The value is not one that the option takes; the message says which are."""


def checked(one: Declared, value: Any, folder: Path | None = None) -> Any:
    """*value* as the option takes it, paths that exist beside a scenario made relative to it (*folder*).

    Raises BadValueError.
    """
    if value is None:
        if one.optional:
            return None
        raise BadValueError(f"{one.key} needs a value")
    if one.repeated:
        items = value if isinstance(value, (list, tuple)) else [value]
        return [_single(one, item, folder) for item in items]
    return _single(one, value, folder)


def from_text(one: Declared, text: str) -> Any:
    """The value that *text*, as of a flag or an axis, stands for; ``none`` where the option may be left out.

    Raises BadValueError.
    """
    text = text.strip()
    if text.lower() in ("none", "null") and one.optional and "none" not in choices(one):
        return None
    if one.type is bool:
        known = {"true": True, "false": False, "on": True, "off": False, "yes": True, "no": False}
        if text.lower() not in known:
            raise BadValueError(f"{one.key} is {text!r}; give true or false")
        return known[text.lower()]
    try:
        value: Any = one.type(text) if one.type in (int, float) else text
    except ValueError:
        raise BadValueError(f"{one.key} is {text!r}; give {_kind(one)}") from None
    return checked(one, value)


def choices(one: Declared) -> tuple[str, ...]:
    """The values that an option is limited to; empty where it is not."""
    if get_origin(one.type) is Literal:
        return get_args(one.type)
    return one.option.choices


def _single(one: Declared, value: Any, folder: Path | None) -> Any:
    if isinstance(value, dict) and takes_table(one):
        value = ",".join(f"{key}={item}" for key, item in value.items())
    if one.type is bool:
        if not isinstance(value, bool):
            raise BadValueError(f"{one.key} is {value!r}; give true or false")
        return value
    if one.type in (int, float):
        return _number(one, value)
    if isinstance(value, (dict, list, bool)):
        raise BadValueError(f"{one.key} is {value!r}; give {_kind(one)}")
    text = str(value)
    allowed = choices(one)
    if allowed and text not in allowed:
        raise BadValueError(f"{one.key} is {text!r}; it is one of {', '.join(allowed)}{hint(text, allowed)}")
    return _placed(one, text, folder)


def _number(one: Declared, value: Any) -> int | float:
    whole = one.type is int
    if isinstance(value, bool) or not isinstance(value, (int, float)) or (whole and int(value) != value):
        raise BadValueError(f"{one.key} is {value!r}; give {_kind(one)}")
    least, most = one.option.least, one.option.most
    if (least is not None and value < least) or (most is not None and value > most):
        rule = f"at least {least:g}" if most is None else f"within {least or 0:g} and {most:g}"
        raise BadValueError(f"{one.key} is {value}; it must be {rule}")
    return int(value) if whole else float(value)


def takes_table(one: Declared) -> bool:
    """Whether the option may be given as a table, as in ``gamma = {S = 16, R = 4, F = 0}``."""
    return one.option.parse is not None or "=" in (one.option.metavar or "")


def names_file(one: Declared, text: str) -> bool:
    """Whether *text*, a value of the option, may be the path of a file."""
    metavar = one.option.metavar or ""
    return one.type is Path or "FILE" in metavar or "TRACE" in metavar or text.endswith(".json")


def _placed(one: Declared, text: str, folder: Path | None) -> str:
    if folder is not None and names_file(one, text) and (folder / text).exists():
        return str(folder / text)
    return text


def _kind(one: Declared) -> str:
    return {int: "a whole number", float: "a number"}.get(one.type, one.option.metavar or "text")
