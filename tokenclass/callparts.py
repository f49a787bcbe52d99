"""Which call, and which of its arguments, each character of a labelled output belongs to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from tokenclass.classes import CLASS_OF_SUBCLASS, PositionClass, SubClass
from tokenclass.pieces import Piece

_TAG_STARTS = "<["
_VALUES = (SubClass.V, SubClass.T, SubClass.K)


class CallPart(NamedTuple):
    """An argument of a call, or what a call has beside its arguments. Offsets are code points, *end* exclusive."""

    start: int
    end: int
    call: int
    """Number of the call in the output, from 0."""
    key: str | None
    """Name of the argument as written: it, its value and the punctuation up to the next. None: the call's own."""


class _Placed(NamedTuple):
    start: int
    end: int
    text: str
    label: SubClass


def call_parts(pieces: Sequence[Piece]) -> tuple[list[str | None], list[CallPart]]:
    """The tool of each call in order, and parts that cover exactly the S characters of the joined *pieces*.

    A call begins with what the first one of its group begins with, delimiters of the group included. Arguments
    inside arguments belong to the outer one. A group in which no tool is named is one call of tool None.
    """
    tools: list[str | None] = []
    parts: list[CallPart] = []
    for group in _groups(pieces):
        names = [piece for piece in group if piece.label is SubClass.N]
        starts = _starts(group, names)
        for at, (start, end) in enumerate(pairwise([*starts, group[-1].end])):
            name = names[at] if names else None
            parts += _parts(_clipped(group, start, end), name, len(tools))
            tools.append(None if name is None else name.text)
    return tools, parts


def _groups(pieces: Sequence[Piece]) -> Iterator[list[_Placed]]:
    """The stretches of S, as pieces with offsets."""
    group: list[_Placed] = []
    at = 0
    for text, label, _ in pieces:
        if CLASS_OF_SUBCLASS[label] is PositionClass.S:
            group.append(_Placed(at, at + len(text), text, label))
        elif group:
            yield group
            group = []
        at += len(text)
    if group:
        yield group


def _starts(group: Sequence[_Placed], names: Sequence[_Placed]) -> list[int]:
    """Where each call of a group begins."""
    first = group[0].start
    text = "".join(piece.text for piece in group)
    lead = text[: names[0].start - first] if names else ""
    starts = [first]
    for before, name in pairwise(names):
        room = text[before.end - first : name.start - first]
        same = 0
        while same < min(len(room), len(lead)) and room[-1 - same] == lead[-1 - same]:
            same += 1
        start = name.start - same
        inside = next((p for p in group if p.label is SubClass.D and p.start < start < p.end), None)
        starts.append(start if inside is None else _next_tag(inside, start))
    return starts


def _next_tag(delimiter: _Placed, at: int) -> int:
    """Where the next tag of *delimiter* begins from *at* on: closer and opener may end alike."""
    found = (delimiter.text.find(mark, at - delimiter.start) for mark in _TAG_STARTS)
    return delimiter.start + min((at for at in found if at >= 0), default=len(delimiter.text))


def _clipped(group: Sequence[_Placed], start: int, end: int) -> list[_Placed]:
    clipped = []
    for piece in group:
        low, high = max(piece.start, start), min(piece.end, end)
        if low < high:
            clipped.append(_Placed(low, high, piece.text[low - piece.start : high - piece.start], piece.label))
    return clipped


def _parts(call: Sequence[_Placed], name: _Placed | None, number: int) -> Iterator[CallPart]:
    """The parts of one call in order."""
    at, end = call[0].start, call[-1].end
    for start, stop, key in _arguments(call, name):
        if at < start:
            yield CallPart(at, start, number, None)
        yield CallPart(start, stop, number, key)
        at = stop
    if at < end:
        yield CallPart(at, end, number, None)


def _arguments(call: Sequence[_Placed], name: _Placed | None) -> Iterator[tuple[int, int, str]]:
    """Start, end and key of each argument.

    Arguments lie one bracket deeper than the name where the name is itself the value of a key, else as deep as
    the least deep key.
    """
    depths = _depths(call)
    keys = [index for index, piece in enumerate(call) if piece.label is SubClass.K]
    if not keys:
        return
    level = min(depths[index] for index in keys)
    if name is not None and call[keys[0]].start < name.start:
        level = 1 + next(depth for piece, depth in zip(call, depths, strict=True) if piece.end >= name.end)
    own = [index for index in keys if depths[index] == level]
    for index, following in zip(own, [*own[1:], len(call)], strict=False):
        end = _end(call, depths, level, index, following)
        yield call[index].start, end, call[index].text


def _depths(call: Sequence[_Placed]) -> list[int]:
    """Open brackets before each piece; only punctuation holds brackets of the grammar."""
    depths = []
    depth = 0
    for piece in call:
        depths.append(depth)
        if piece.label is SubClass.P:
            depth += sum(1 if char in "{[" else -1 for char in piece.text if char in "{}[]")
    return depths


def _end(call: Sequence[_Placed], depths: Sequence[int], level: int, index: int, following: int) -> int:
    """Where the argument of the key at *index* ends: before the next key, the closing bracket or the closing tags."""
    for piece, depth_before in zip(call[index:following], depths[index:following], strict=True):
        depth = depth_before
        for offset, char in enumerate(piece.text if piece.label is SubClass.P else ""):
            depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(char, 0)
            if depth < level:
                return piece.start + offset
    inside = range(index, following)
    last = max(at for at in inside if call[at].label in _VALUES or (call[at].label is SubClass.P and _ink(call[at])))
    closer = next((at for at in inside if at > last and call[at].label is SubClass.D), None)
    return call[following - 1].end if closer is None else call[closer].end


def _ink(piece: _Placed) -> bool:
    return bool(piece.text.strip())
