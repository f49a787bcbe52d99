"""Scenarios by name or path, with what they extend, checked key by key."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from scenarios.options.option import Section
from scenarios.options.settings import Settings, all_options, settings
from scenarios.scenariofile.document import Document, read_document
from scenarios.scenariofile.places import Places
from scenarios.scenariofile.values import BadValueError, checked
from traces.choice import did_you_mean
from traces.errors import SimtoolError

ABOUT_KEYS = ("name", "about", "extends")
SWEEP = "sweep"
TRACE_FILES = "files"
SUFFIXES = (".toml", ".yaml", ".yml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What a question is asked with."""

    name: str
    about: str = ""
    traces: tuple[str, ...] = ()
    values: dict[str, Any] = field(default_factory=dict)
    """Options by key, those not given left out."""
    sweep: dict[str, Any] = field(default_factory=dict)
    """The section about sweeps, as written."""
    sweep_places: Places = field(default_factory=Places)
    """Where its keys stand."""

    def settings(self, **over: Any) -> Settings:
        """The settings, options of *over* in place of the scenario's own. Raises OptionError."""
        return settings({**self.values, **over})


def shipped() -> list[str]:
    """Names of the scenarios that come with simtool."""
    folder = files("scenarios.scenariofile") / "shipped"
    return sorted(Path(one.name).stem for one in folder.iterdir() if Path(one.name).suffix in SUFFIXES)


def load_scenario(reference: str) -> Scenario:
    """The scenario at a path, or a shipped one by its name.

    Raises TraceError with the line at fault, SimtoolError for a name that is neither.
    """
    return _load(_find(reference, None), ())


def _find(reference: str, folder: Path | None) -> Path:
    """Where a scenario is: a path (from *folder*), or the name of a shipped one."""
    path = Path(reference) if folder is None else folder / reference
    if path.is_file() or path.suffix in SUFFIXES:
        return path
    for suffix in SUFFIXES:
        inside = Path(str(files("scenarios.scenariofile") / "shipped" / f"{reference}{suffix}"))
        if inside.is_file():
            return inside
    near = difflib.get_close_matches(reference, shipped(), n=1)
    hint = f"did you mean {near[0]}?" if near else f"shipped are {', '.join(shipped())}"
    raise SimtoolError(f"{reference}: no scenario file of this path and none shipped of this name ({hint})")


def _load(path: Path, extending: tuple[Path, ...]) -> Scenario:
    document = read_document(path)
    here = path.resolve()
    if here in extending:
        raise document.error(("extends",), "scenarios extend each other in a circle", "take one extends out")
    parent = Scenario(name="")
    base = document.content.get("extends")
    if base is not None:
        if not isinstance(base, str):
            raise document.error(("extends",), f"extends is {base!r}", "give one name or path")
        try:
            found = _find(base, path.parent)
        except SimtoolError as error:
            raise document.error(("extends",), str(error)) from error
        parent = _load(found, (*extending, here))
    return _merged(document, parent, path)


def _merged(document: Document, parent: Scenario, path: Path) -> Scenario:
    values, sweep, traces = dict(parent.values), dict(parent.sweep), parent.traces
    places = dict(parent.sweep_places.known)
    for key, content in document.content.items():
        if key in ABOUT_KEYS:
            if not isinstance(content, str):
                raise document.error((key,), f"{key} is {content!r}", "give text")
            continue
        sections = {section.key for section in Section}
        if key not in sections | {SWEEP}:
            raise document.error((key,), f"{key!r} is no section", _nearest(key, [*ABOUT_KEYS, *sections, SWEEP]))
        if not isinstance(content, dict):
            raise document.error((key,), f"section {key} is {content!r}", "give it keys")
        if key == SWEEP:
            sweep = {**sweep, **content}
            places = {where: at for where, at in places.items() if where[:1] not in {(name,) for name in content}}
            places |= {keys[1:]: (document.path, line) for keys, line in document.lines.items() if keys[0] == SWEEP}
            continue
        content = dict(content)
        if key == Section.TRACE.key and TRACE_FILES in content:
            traces = _traces(document, content.pop(TRACE_FILES), path.parent)
        values.update(_section(document, key, content, path.parent))
    return Scenario(
        name=document.content.get("name") or path.stem,
        about=document.content.get("about") or parent.about,
        traces=traces,
        values=values,
        sweep=sweep,
        sweep_places=Places(name=document.path, known=places),
    )


def _section(document: Document, section: str, content: dict[str, Any], folder: Path) -> dict[str, Any]:
    known = all_options()
    found = {}
    for name, value in content.items():
        key = str(name).lower().replace("-", "_")
        one = known.get(key)
        if one is None:
            mine = [key for key, one in known.items() if one.option.section.key == section]
            raise document.error((section, str(name)), f"{name!r} is no key of {section}", _nearest(key, mine))
        own = one.option.section.key
        if own != section:
            raise document.error((section, str(name)), f"{name!r} is a key of {own}, not of {section}", "move it")
        try:
            found[key] = checked(one, value, folder)
        except BadValueError as error:
            raise document.error((section, str(name)), str(error), f"see simtool scenarios keys {section}") from error
    return found


def _traces(document: Document, value: Any, folder: Path) -> tuple[str, ...]:
    items = value if isinstance(value, list) else [value]
    if not items or not all(isinstance(item, str) for item in items):
        raise document.error((Section.TRACE.key, TRACE_FILES), f"files is {value!r}", "give paths")
    return tuple(str(folder / item) if (folder / item).exists() else item for item in items)


def _nearest(key: str, known: list[str]) -> str:
    return did_you_mean(key, known, f"known are {', '.join(sorted(known))}")
