"""Contents of string literals: where a quoted string ends, and what its escapes stand for."""

from __future__ import annotations

import json

_SIMPLE = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "b": "\b",
    "f": "\f",
    "/": "/",
    "\\": "\\",
    '"': '"',
    "'": "'",
}
_PYTHON_ONLY = {"a": "\a", "v": "\v", "0": "\0", "\n": ""}
_HEX = frozenset("0123456789abcdefABCDEF")
_HEX_DIGITS = {"x": 2, "u": 4, "U": 8}


def string_end(text: str, start: int, end: int, quote: str) -> int:
    """Offset of the quote that closes the string whose content begins at *start*; -1 if none before *end*.

    A quote after an odd number of backslashes is data. Linear: each run of backslashes is looked at once.
    """
    at = text.find(quote, start, end)
    while at >= 0:
        run = at
        while run > start and text[run - 1] == "\\":
            run -= 1
        if (at - run) % 2 == 0:
            return at
        at = text.find(quote, at + 1, end)
    return -1


def unescape(raw: str, *, python: bool = False) -> str:
    r"""Decode the escapes of *raw*; an escape that the language lacks keeps its backslash.

    JSON is decoded by the standard library where it is valid. With *python* also `\a \v \0 \xHH \UHHHHHHHH`
    and a backslash before a newline count.
    """
    if "\\" not in raw:
        return raw
    if not python:
        try:
            decoded = json.loads(f'"{raw}"', strict=False)
        except ValueError:
            pass
        else:
            return str(decoded)
    return _join_surrogates(_unescape_each(raw, python))


def _unescape_each(raw: str, python: bool) -> str:
    parts: list[str] = []
    pos = 0
    while (at := raw.find("\\", pos)) >= 0 and at + 1 < len(raw):
        parts.append(raw[pos:at])
        piece, pos = _one_escape(raw, at, python)
        parts.append(piece)
    parts.append(raw[pos:])
    return "".join(parts)


def _one_escape(raw: str, at: int, python: bool) -> tuple[str, int]:
    char = raw[at + 1]
    if char in _SIMPLE:
        return _SIMPLE[char], at + 2
    if python and char in _PYTHON_ONLY:
        return _PYTHON_ONLY[char], at + 2
    width = _HEX_DIGITS.get(char, 0)
    digits = raw[at + 2 : at + 2 + width]
    if (python or char == "u") and width and len(digits) == width and _HEX.issuperset(digits):
        code = int(digits, 16)
        if code <= 0x10FFFF:
            return chr(code), at + 2 + width
    return "\\" + char, at + 2


def _join_surrogates(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
