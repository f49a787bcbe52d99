"""Lines as records: what is decoded many lines at a time is what each line gives alone."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from traces import source
from traces.rows import rows
from traces.source import SourceFile


class _Kind(msgspec.Struct):
    a: int
    b: str = ""


_USUAL = st.builds(lambda a, b: msgspec.json.encode({"a": a, "b": b}), st.integers(0, 99), st.text(max_size=5))
_ENDS = st.sampled_from([b"\n", b"\n\n", b"\r\n", b" \n", b"\t"])
_OBJECTS = st.sampled_from(
    [b'{"a":1}', b'{"a":1}{"a":2}', b'{"a":\n1}', b'{"b":{}}', b'{"a":3,"c":[{}\n,{}]}', b'{"a":2.5}']
)
_RUBBISH = st.sampled_from([b'{"a":"}\n{"}', b"{", b"[]", b"}\n{", b"null", b"\xef\xbb\xbf", b"\xff", b"\x00"])
_LINE = st.tuples(_USUAL, st.sampled_from([b"\n", b"\r\n", b"\n", b"\n"])).map(b"".join)
_CONTENT = st.lists(st.one_of(_LINE, _LINE, _ENDS, _OBJECTS, _RUBBISH), max_size=12).map(b"".join)


def _alone(file: SourceFile) -> list[tuple[int, _Kind | bytes]]:
    found: list[tuple[int, _Kind | bytes]] = []
    for number, line in file.lines():
        try:
            found.append((number, msgspec.json.decode(line, type=_Kind)))
        except (msgspec.MsgspecError, UnicodeDecodeError):
            found.append((number, line))
    return found


@given(_CONTENT, st.sampled_from([1, 20, 1 << 15]))
@example(b'{"a":1} {"a":2}\n{"a":\n3}\n', 1 << 15)
@example(b'{"a":1}\n{"a":2}', 1 << 15)
def test_lines_give_what_each_gives_alone(content: bytes, block_bytes: int) -> None:
    file = SourceFile(None, "x", content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "_BLOCK_BYTES", block_bytes)
        assert list(rows(file, _Kind, lambda _, line: line)) == _alone(file)


def test_lines_that_are_left_out_are_counted() -> None:
    file = SourceFile(None, "x", b'{"a":1}\n?\n\n{"a":2}\n')
    assert list(rows(file, _Kind, lambda _number, _line: None)) == [(1, _Kind(1)), (4, _Kind(2))]


def test_usual_lines_are_decoded_together() -> None:
    """Lines of one object each, whatever ends them, are never looked at one by one."""
    content = b'\xef\xbb\xbf{"a":1}\r\n{"a":2}\n{"a":3}'
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("traces.rows._one_by_one", None)
        found = list(rows(SourceFile(None, "x", content), _Kind, lambda _, line: line))
    assert found == [(1, _Kind(1)), (2, _Kind(2)), (3, _Kind(3))]
