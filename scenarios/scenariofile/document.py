"""A YAML or TOML file as plain values, with the line of each key for messages."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from traces.errors import TraceError

KeyPath = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """Content of a scenario file."""

    path: str
    """As the user gave it."""
    content: dict[str, Any]
    lines: dict[KeyPath, int]

    def error(self, keys: KeyPath, reason: str, mend: str = "") -> TraceError:
        """An error at the line of *keys*, or of the nearest key around them."""
        while keys and keys not in self.lines:
            keys = keys[:-1]
        return TraceError(self.path, self.lines.get(keys), reason, mend)


def read_document(path: Path) -> Document:
    """Read *path*, TOML if its name ends so and YAML otherwise. Raises TraceError with the line at fault."""
    name = str(path)
    try:
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise TraceError(name, None, error.strerror or str(error), "give the path of a scenario file") from error
    except UnicodeDecodeError as error:
        raise TraceError(name, None, "is not UTF-8 text", "write a scenario as YAML or TOML") from error
    content, lines = _toml(text, name) if path.suffix == ".toml" else _yaml(text, name)
    if content is None:
        content = {}
    if not isinstance(content, dict):
        raise TraceError(name, 1, "is no table of sections", "see simtool schema scenario")
    return Document(path=name, content=content, lines=lines)


def _toml(text: str, name: str) -> tuple[Any, dict[KeyPath, int]]:
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"at line (\d+)", str(error))
        raise TraceError(name, int(at[1]) if at else None, f"is no TOML: {error}") from error
    lines: dict[KeyPath, int] = {}
    table: KeyPath = ()
    for number, line in enumerate(text.splitlines(), start=1):
        head = re.match(r"\s*\[+\s*([^\]]+?)\s*\]+", line)
        key = re.match(r"\s*([A-Za-z0-9_.\"'-]+)\s*=", line)
        if key is not None:
            lines.setdefault((*table, *_split(key[1])), number)
        elif head is not None:
            table = _split(head[1])
            lines.setdefault(table, number)
    return content, lines


def _split(dotted: str) -> KeyPath:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))


def _yaml(text: str, name: str) -> tuple[Any, dict[KeyPath, int]]:
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        lines: dict[KeyPath, int] = {}
        twice = _yaml_lines(node, (), lines)
        content = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark is not None else None
        raise TraceError(name, line, f"is no YAML: {error.problem}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise TraceError(name, None, f"is no YAML: {error}") from error
    if twice is not None:
        raise TraceError(name, lines[twice], f"{'.'.join(twice)} stands twice", "keep one")
    return content, lines


def _yaml_lines(node: yaml.Node | None, keys: KeyPath, lines: dict[KeyPath, int]) -> KeyPath | None:
    """Fill *lines*; the path of a key that stands twice, if one does."""
    if not isinstance(node, yaml.MappingNode):
        return None
    seen: set[KeyPath] = set()
    for key, value in node.value:
        own = (*keys, str(key.value))
        lines[own] = key.start_mark.line + 1
        if own in seen:
            return own
        seen.add(own)
        deeper = _yaml_lines(value, own, lines)
        if deeper is not None:
            return deeper
    return None
