"""Strategies that break recordings, and the check that a reader answers with errors of its own kind only."""

from __future__ import annotations

import copy
import json

from hypothesis import strategies as st

from traces.errors import SimtoolError
from traces.model import Session
from traces.readlog import ReadLog
from traces.registry import Reader
from traces.source import SourceFile

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.sampled_from([-1, 1 << 63, 10**30, 1e308, "", "\x00", "[trimmed]", "assistant", "2024-01-01T00:00:00Z"]),
    st.text(max_size=8),
)
JSON_VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def broken(draw: st.DrawFn, values: list[object], *, lines: bool) -> bytes:
    """A recording of *values* with a few members replaced, removed or repeated, and perhaps cut short.

    With *lines* each value is a line; without, the first one is the whole document.
    """
    changed = copy.deepcopy(values)
    for _ in range(draw(st.integers(1, 4))):
        _change(draw, changed)
    kept = changed if lines else changed[:1]
    data = b"\n".join(_dumped(value) for value in kept)
    if draw(st.booleans()):
        return data
    cut = draw(st.integers(0, len(data)))
    return data[:cut] + draw(st.sampled_from([b"", b"\x00", b"\xff\xfe", b"\n42\n", b"\n{}\n", b"[" * 2000]))


def survive(reader: Reader, data: bytes, name: str = "fuzz.jsonl") -> list[Session]:
    """The sessions that *reader* makes of *data* when it skips what is invalid.

    Fails when sniffing raises, or reading raises anything but a SimtoolError.
    """
    file = SourceFile(None, name, data)
    assert 0 <= reader.sniff(file, file.head()) <= 1
    found: list[Session] = []
    for skip in (False, True):
        try:
            found = list(reader.read([file], ReadLog(skip_invalid=skip)))
        except SimtoolError:
            continue
    return found


def _change(draw: st.DrawFn, root: list[object]) -> None:
    """Walk down from *root* at random and change one member of what is reached."""
    node: object = root
    while True:
        keys = _keys(node)
        if not keys:
            return
        key = draw(st.sampled_from(keys))
        inner = node[key]  # type: ignore[index]
        if not _keys(inner) or draw(st.integers(0, 3)) == 0:
            break
        node = inner
    action = draw(st.sampled_from(["replace", "replace", "remove", "repeat"]))
    if action == "replace":
        node[key] = draw(JSON_VALUES)  # type: ignore[index]
    elif action == "remove":
        del node[key]  # type: ignore[attr-defined]
    elif isinstance(node, list):
        node.insert(key, copy.deepcopy(inner))


def _keys(node: object) -> list[object]:
    if isinstance(node, dict):
        return list(node)
    return list(range(len(node))) if isinstance(node, list) else []


def _dumped(value: object) -> bytes:
    return json.dumps(value).encode("utf-8", "surrogatepass")
