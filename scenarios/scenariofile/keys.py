"""The keys of scenario files, to be shown."""

from __future__ import annotations

import msgspec

from scenarios.options.option import Declared
from scenarios.options.settings import all_options
from scenarios.scenariofile.values import choices


class KeyRow(msgspec.Struct, frozen=True, kw_only=True):
    """One key of a scenario file."""

    section: str
    key: str
    default: str
    values: str
    flag: str
    variable: str
    about: str


def key_rows() -> list[KeyRow]:
    """Every key, section by section."""
    return [
        KeyRow(
            section=one.option.section.key,
            key=one.key,
            default="none" if one.default in (None, ()) else str(one.default),
            values=_values(one),
            flag="--" + one.key.replace("_", "-"),
            variable=one.env,
            about=one.option.help,
        )
        for one in all_options().values()
    ]


def _values(one: Declared) -> str:
    if choices(one):
        return ", ".join(choices(one))
    kind = {bool: "true or false", int: "whole number", float: "number"}.get(one.type, one.option.metavar or "text")
    least, most = one.option.least, one.option.most
    if least is not None:
        kind += f" from {least:g}" + (f" to {most:g}" if most is not None else "")
    return kind + (", list" if one.repeated else "")
