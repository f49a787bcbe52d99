"""YAML of unknown origin as plain JSON values: no objects, bounded in size and in nesting."""

from __future__ import annotations

import base64
from datetime import date

import yaml

from traces.errors import TraceError
from traces.source import SourceFile

_MAX_NODES = 5_000_000
"""Values that a document may hold once its aliases are written out."""
_MAX_DEPTH = 200
_PARSE_ERRORS = (
    yaml.YAMLError,
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
    OverflowError,
    RecursionError,
)


class _Loader(yaml.CSafeLoader):
    """Safe types only. Merge keys are not followed: chains of them grow without bound while loading."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Leave merge keys as they are."""


def yaml_document(file: SourceFile) -> object:
    """The one YAML document of *file* with bytes kept as bytes. Raises TraceError for anything unusable."""
    try:
        value = yaml.load(file.read(), Loader=_Loader)  # noqa: S506
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark is not None else None
        reason = f"not valid YAML: {error.problem or error}"
        raise TraceError(file.name, line, reason, "mend the file") from error
    except _PARSE_ERRORS as error:
        raise TraceError(file.name, None, f"not valid YAML: {error}", "mend the file") from error
    return _Copy(file.name).plain(value, 0)


class _Copy:
    """Copies a loaded value, writing aliases out, within the bounds."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._left = _MAX_NODES

    def plain(self, value: object, depth: int) -> object:
        self._left -= 1
        if self._left < 0 or depth > _MAX_DEPTH:
            reason = "nested too deeply, or too large once its aliases are written out"
            raise TraceError(self._name, None, reason, "record without aliases that repeat each other")
        if isinstance(value, dict):
            return {_key(key): self.plain(member, depth + 1) for key, member in value.items()}
        if isinstance(value, (list, tuple, set)):
            members = sorted(value, key=repr) if isinstance(value, set) else value
            return [self.plain(member, depth + 1) for member in members]
        return value.isoformat() if isinstance(value, date) else value


def _key(key: object) -> str:
    if isinstance(key, bytes):
        return base64.b64encode(key).decode()
    return key if isinstance(key, str) else str(key)
