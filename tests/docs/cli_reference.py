"""The reference of the commands, made from the command line itself."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import typer

from scenarios.options.settings import all_options, read_keys
from simtool.app import app
from tests.docs.markdown import cell, code, table

_KINDS: dict[Any, str] = {int: "INT", float: "FLOAT", Path: "PATH"}


def leaves() -> Iterator[tuple[str, Any]]:
    """Every command with its full name."""
    yield from _leaves(typer.main.get_command(app), "simtool")


def _leaves(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    inner = getattr(command, "commands", None)
    if not inner:
        yield name, command
        return
    for key, one in inner.items():
        yield from _leaves(one, f"{name} {key}")


def commands() -> str:
    """A section a command: usage, what it does, its own options, and which shared ones it takes."""
    return "\n".join(_section(name, command) for name, command in leaves())


def _section(name: str, command: Any) -> str:
    own = [one for one in command.params if not shared(one) and one.name != "help"]
    arguments = [one for one in own if one.param_type_name == "argument"]
    options = [one for one in own if one.param_type_name == "option"]
    usage = " ".join([name, *(_usage(one) for one in arguments), *(["[OPTIONS]"] if command.params else [])])
    parts = [f"### {name}\n", f"`{usage}`\n", _about(command.help)]
    if arguments:
        parts.append(table(["argument", "meaning"], ([code(_metavar(one)), cell(one.help or "")] for one in arguments)))
    if options:
        parts.append(table(["option", "default", "meaning"], (_row(one) for one in options)))
    if taken := _taken(command):
        parts.append(f"{taken}\n")
    return "\n".join(part for part in parts if part)


def _usage(argument: Any) -> str:
    return _metavar(argument) if argument.required else f"[{_metavar(argument)}]"


def _about(text: str | None) -> str:
    paragraphs = (text or "").strip().split("\n\n")
    return "".join(" ".join(line.strip() for line in one.splitlines()) + "\n" for one in paragraphs)


def shared(parameter: Any) -> bool:
    """Whether a parameter is one of the options that scenario files have too, and not only of the same name."""
    one = all_options().get(parameter.name)
    return one is not None and parameter.param_type_name == "option" and _plain(parameter.help) == one.option.help


def _taken(command: Any) -> str:
    """Which of the shared options a command takes, and the defaults that are its own."""
    has = {one.name: one for one in command.params if shared(one)}
    if not has:
        return ""
    every, reading = set(all_options()), set(read_keys())
    if len(has) > len(every) / 2:
        text = "Takes the [options of a replay](#options)"
        if left := sorted(every - set(has)):
            text += ", but not " + ", ".join(_flag(key) for key in left)
    elif reading <= set(has):
        text = "Takes the [options of the section Recording](#recording) and `--seed`"
        if more := sorted(set(has) - reading):
            text += ", and " + ", ".join(_flag(key) for key in more)
    else:
        text = "Takes " + ", ".join(_flag(key) for key in has)
    differing = [
        f"{_flag(key)} is {code(str(one.default))} here"
        for key, one in has.items()
        if one.default is not None and str(one.default) != str(all_options()[key].default)
    ]
    return text + "".join(f"; {one}" for one in differing) + "."


def _flag(key: str) -> str:
    return code("--" + key.replace("_", "-"))


def _row(one: Any) -> list[str]:
    names = ", ".join([*one.opts, *one.secondary_opts])
    shown = "" if one.is_flag else f" {_metavar(one)}"
    default = "" if one.default is None or one.is_flag or one.multiple else cell(_default(one.default))
    return [code(names + shown), "required" if one.required else default, cell(_plain(one.help))]


def _default(value: Any) -> str:
    return str(getattr(value, "value", value))


def _metavar(one: Any) -> str:
    if one.metavar:
        return str(one.metavar)
    if one.param_type_name == "argument":
        return one.name.upper()
    kind = one.type_descriptor.annotation
    if isinstance(kind, type) and issubclass(kind, Enum):
        return "|".join(_default(value) for value in kind)
    return _KINDS.get(kind, "TEXT")


def _plain(text: str | None) -> str:
    return (text or "").replace("\\[", "[")
