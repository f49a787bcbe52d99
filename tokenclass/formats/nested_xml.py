"""Calls whose arguments are elements named after the parameters, nested for objects and lists (MiniMax M3)."""

from __future__ import annotations

import re

from tokenclass.classes import SubClass
from tokenclass.formats.cursor import Cursor, NotTheGrammar, TextCut, fork
from tokenclass.formats.grammar import Grammar
from tokenclass.formats.schema import Shape
from tokenclass.formats.sink import forced_choice
from tokenclass.formats.values import Typing, raw_value
from tokenclass.formats.wrapper import skip_blanks
from tokenclass.formats.xml_calls import Element, start_tag

_NAME = re.compile(r"[\w.\-]{1,256}")


class _Open:
    """An element whose content is being read."""

    __slots__ = ("name", "shape", "value")

    def __init__(self, name: str, shape: Shape, value: dict[str, object] | list[object]) -> None:
        self.name = name
        self.shape = shape
        self.value = value


class NestedXmlCalls(Grammar, frozen=True, tag="nested_xml"):
    """`section` (`call` NAME `>` (`<key>` value `</key>`)* `call_close`)* `section_close`; tags follow a sentinel."""

    section: str
    section_close: str
    call: str
    call_close: str
    sentinel: str = ""
    item: str = "item"
    """Name of the elements of a list."""

    def openers(self) -> tuple[str, ...]:
        """Literals that a region may start with."""
        return (self.sentinel + self.section,)

    def closers(self) -> tuple[str, ...]:
        """Literals that end a region."""
        return (self.sentinel + self.section_close,)

    def read(self, cur: Cursor) -> None:
        """Read one region."""
        cur.need(*self.openers(), free=0)
        while True:
            cur.blanks()
            another = self.sentinel + self.call
            if cur.take(*self.closers(), free=fork(self.closers()[0], another) if cur.committed else None):
                return
            cur.need(another, free=fork(another, self.closers()[0]) if cur.committed else None)
            name = start_tag(cur, Element(self.call, self.call_close), SubClass.N, cur.tools.names)[0]
            cur.committed = True
            arguments = self._arguments(cur, cur.tools.shape(name))
            cur.add_call(name, arguments)

    def _arguments(self, cur: Cursor, shape: Shape) -> dict[str, object]:
        root: dict[str, object] = {}
        stack = [_Open("", shape, root)]
        while True:
            cur.blanks()
            top = stack[-1]
            if self._closes(cur, top, root=len(stack) == 1):
                stack.pop()
                if not stack:
                    return root
                self._attach(stack[-1], top.name, top.value)
                continue
            name = self._open_tag(cur, top)
            child = self._child_shape(top, name)
            container = self._container(cur, child)
            if container is None:
                self._attach(top, name, self._leaf(cur, name, child))
            else:
                stack.append(_Open(name, child, container))

    def _closes(self, cur: Cursor, top: _Open, *, root: bool) -> bool:
        """Read the closer of *top* if it stands here."""
        if root:
            return cur.take(self.sentinel + self.call_close, free=len(self.sentinel) + 1) is not None
        if not cur.at(f"{self.sentinel}</{top.name}>"):
            return False
        self._named_tag(cur, self.sentinel + "</", top.name)
        return True

    def _named_tag(self, cur: Cursor, head: str, name: str) -> None:
        """Read `head` NAME `>`; a list item's tag is all delimiter."""
        end = cur.pos + len(head) + len(name) + 1
        if name == self.item:
            cur.sink.add(cur.pos, end, SubClass.D)
        else:
            cur.sink.add(cur.pos, cur.pos + len(head), SubClass.D)
            cur.sink.add(cur.pos + len(head), end - 1, SubClass.K)
            cur.sink.add(end - 1, end, SubClass.D)
        closing = head.endswith("/")
        cur.sink.force(cur.pos + closing, end if closing else cur.pos + len(head), delimiter=True)
        cur.pos = end

    def _open_tag(self, cur: Cursor, top: _Open) -> str:
        cur.more()
        head = self.sentinel + "<"
        start = cur.pos
        if not cur.at(head):
            cur.need(head)
        found = _NAME.match(cur.text, start + len(head))
        stop = found.end() if found else start + len(head)
        if stop >= cur.end:
            cur.sink.add(start, start + len(head), SubClass.D)
            cur.sink.add(start + len(head), cur.end, SubClass.K)
            raise TextCut
        if found is None or cur.text[stop] != ">":
            raise NotTheGrammar
        name = found[0]
        self._named_tag(cur, head, name)
        if isinstance(top.value, dict):
            forced_choice(cur.sink, stop - len(name), name, [key for key in top.shape.keys if key not in top.value])
        return name

    def _child_shape(self, top: _Open, name: str) -> Shape:
        return top.shape.item() if isinstance(top.value, list) else top.shape.child(name, top.value)

    def _container(self, cur: Cursor, shape: Shape) -> dict[str, object] | list[object] | None:
        """The container that the element opened just now holds, if it holds elements."""
        pos = skip_blanks(cur.text, cur.pos)
        head = self.sentinel + "<"
        stated = bool(shape.types) and not shape.types & {"object", "array"}
        if stated or not cur.text.startswith(head, pos) or cur.text.startswith("/", pos + len(head)):
            return None
        if pos + len(head) >= cur.end:
            raise TextCut
        return [] if cur.text.startswith(f"{self.item}>", pos + len(head)) else {}

    def _leaf(self, cur: Cursor, name: str, shape: Shape) -> object:
        closer = f"{self.sentinel}</{name}>"
        at = cur.find(closer, cur.pos)
        while at >= 0 and not self._legal(cur, at + len(closer)):
            at = cur.find(closer, at + 1)
        if at < 0:
            tail = cur.overlap(closer)
            raw_value(cur, cur.end - tail, shape, Typing.SCHEMA, cut=True)
            cur.sink.add(cur.end - tail, cur.end, SubClass.D)
            raise TextCut
        if at == cur.pos and shape.types & {"array", "object"}:
            value: object = [] if "array" in shape.types else {}
        else:
            value = raw_value(cur, at, shape, Typing.SCHEMA)
        self._named_tag(cur, self.sentinel + "</", name)
        return value

    def _legal(self, cur: Cursor, pos: int) -> bool:
        pos = skip_blanks(cur.text, pos)
        rest = cur.text[pos : pos + len(self.sentinel) + 1]
        return cur.text.startswith(self.sentinel + "<", pos) or (
            pos + len(rest) == cur.end and (self.sentinel + "<").startswith(rest)
        )

    @staticmethod
    def _attach(parent: _Open, name: str, value: object) -> None:
        if isinstance(parent.value, list):
            parent.value.append(value)
        elif name in parent.value:
            known = parent.value[name]
            parent.value[name] = [*known, value] if isinstance(known, list) else [known, value]
        else:
            parent.value[name] = value
