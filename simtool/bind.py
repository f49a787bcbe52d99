"""Gives a command the options of scenarios.options.settings: one parameter of type Settings becomes all their flags."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from typing import Annotated, Any, get_type_hints

import typer

from scenarios.options.option import Declared
from scenarios.options.settings import all_options, read_keys, settings
from scenarios.scenariofile.values import BadValueError, choices, from_text
from simtool.config import config_parameters, given_by, print_config

_BOOLEAN_PREFIXES = ("enable_", "self_")
"""Switches that have a --no- form, as in vLLM."""
_TYPE_NAMES = {int: "INT", float: "FLOAT"}


def with_settings(
    *, only_reading: bool = False, without: Collection[str] = (), **defaults: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorate a command so that its keyword ``settings: Settings`` is filled from flags.

    Of all options those of reading only, or all but *without*; *defaults* take the place of an option's own. Values
    that cannot be used become usage errors. A command that also declares ``given: dict`` gets the values by key, one
    that declares ``config`` the scenario's name.
    """
    keys = [key for key in all_options() if key not in without and (not only_reading or key in read_keys())]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command).parameters
        hints = get_type_hints(command, include_extras=True)

        def bound(**values: Any) -> None:
            given = _valued({key: values.pop(key) for key in keys}, values["context"])
            context, shown, config = (values.pop(name) for name in ("context", "print_config", "config"))
            if shown:
                print_config(context, given, values.get("traces") or ())
                return
            extra = {name: value for name, value in (("given", given), ("config", config)) if name in own}
            try:
                command(**values, settings=settings(given), **extra)
            except ValueError as error:
                raise _usage_error(str(error)) from None

        flags = [*config_parameters(keys), *(parameter(all_options()[key], defaults.get(key)) for key in keys)]
        parameters: list[inspect.Parameter] = []
        for name, one in own.items():
            if name == "settings":
                parameters.extend(flags)
            elif name not in ("given", "config"):
                parameters.append(one.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY))
        bound.__doc__, bound.__name__ = command.__doc__, command.__name__
        bound.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        bound.__annotations__ = {one.name: one.annotation for one in parameters}
        return bound

    return decorate


def parameter(one: Declared, default: Any = None) -> inspect.Parameter:
    """The command-line parameter of an option; text, but for switches, so that its errors are our own."""
    kind: Any = bool if one.type is bool else list[str] if one.repeated else str
    if one.optional or one.repeated:
        kind = kind | None
    value = one.default if default is None else default
    if one.repeated:
        value = value or None
    elif kind is str:
        value = str(value)
    annotation = Annotated[kind, flag(one.key)]
    return inspect.Parameter(one.key, inspect.Parameter.KEYWORD_ONLY, default=value, annotation=annotation)


def flag(key: str, about: str | None = None) -> Any:
    """The typer.Option of the setting *key*: spellings, variable, panel; *about* where a command means more by it."""
    one = all_options()[key]
    return typer.Option(
        *_spellings(one),
        help=(about or one.option.help).replace("[", "\\["),
        metavar=None if one.type is bool else _metavar(one),
        rich_help_panel=one.option.section.value,
        envvar=one.env,
        show_envvar=False,
        autocompletion=_completion(one),
    )


def _spellings(one: Declared) -> list[str]:
    own = "--" + one.key.replace("_", "-")
    if one.type is bool and one.key.startswith(_BOOLEAN_PREFIXES):
        own = f"{own}/--no-{own.removeprefix('--')}"
    return [own, *one.option.flags]


def _metavar(one: Declared) -> str:
    if one.option.metavar is not None:
        return one.option.metavar
    return "|".join(choices(one)) or _TYPE_NAMES.get(one.type, "TEXT")


def _valued(given: Mapping[str, Any], context: typer.Context) -> dict[str, Any]:
    """*given* with text as values of their options' types."""
    found = dict(given)
    for key, value in given.items():
        if not isinstance(value, str):
            continue
        one = all_options()[key]
        try:
            found[key] = from_text(one, value)
        except BadValueError as error:
            name = one.env if given_by(context, key) == "environment" else "--" + key.replace("_", "-")
            raise _usage_error(f"{name}{str(error).removeprefix(key)}") from None
    return found


def _usage_error(text: str) -> typer.BadParameter:
    from traces.safetext import safe_line

    return typer.BadParameter(safe_line(text))


def _completion(one: Declared) -> Callable[[str], list[str]] | None:
    if one.option.known is None and not choices(one):
        return None

    def complete(incomplete: str) -> list[str]:
        names = choices(one)
        if one.option.known is not None:
            module, function = one.option.known.split(":")
            names = getattr(import_module(module), function)()
        return [name for name in names if name.lower().startswith(incomplete.lower())]

    return complete
