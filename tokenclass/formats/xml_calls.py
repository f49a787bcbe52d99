"""Calls written as elements: a call element with one parameter element per argument, values not escaped."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from tokenclass.classes import SubClass
from tokenclass.formats.cursor import Cursor, NotTheGrammar, TextCut, fork
from tokenclass.formats.grammar import Grammar
from tokenclass.formats.json_calls import read_value
from tokenclass.formats.schema import Shape
from tokenclass.formats.sink import forced_choice
from tokenclass.formats.values import Typing, ValueEnd, raw_value
from tokenclass.formats.wrapper import Wrapper, decoded, skip_blanks

_CDATA = ("<![CDATA[", "]]>")
_ENTITIES = (("&quot;", '"'), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))
_LONGEST_NAME = 256


class Element(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An element whose start tag carries a name: `open` NAME ... `end`, closed by `close`."""

    open: str
    close: str
    end: str = ">"
    quoted: bool = True
    """Whether the name may stand in quotes and attributes may follow it."""


class XmlCalls(Grammar, frozen=True, tag="xml"):
    """`section` (call element (parameter element)*)* `section_close`."""

    call: Element
    parameter: Element
    section: tuple[str, ...] = ()
    """Openers of a group of calls, any of them; empty: calls stand alone."""
    section_close: tuple[str, ...] = ()
    before_call: tuple[str, ...] = ()
    """Literals before each call element, in order."""
    after_call: tuple[str, ...] = ()
    """Literals behind each call element, in order, each optional."""
    after_section: tuple[str, ...] = ()
    """Literals that may stand behind the whole, in order."""
    bare_call: bool = False
    """Whether a call element with parameters counts without its section."""
    trim_newline: bool = False
    """Whether one newline at each end of a value is markup."""
    cdata: bool = False
    typing: Typing = Typing.SCHEMA
    type_attribute: str = ""
    """Attribute that states the type: `string` (true or false) or `type` (a JSON type)."""
    json_section: bool = False
    """Whether a section may hold a JSON call object instead."""
    entities: bool = False
    """Whether attribute values escape quotes and ampersands."""

    def openers(self) -> tuple[str, ...]:
        """Literals that a region may start with."""
        bare = (self.call.open,) if self.bare_call or not self.section else ()
        return (*self.section, *bare)

    def closers(self) -> tuple[str, ...]:
        """Literals that end a region."""
        return self.section_close or (self.call.close,)

    def read(self, cur: Cursor) -> None:
        """Read one region."""
        in_section = bool(self.section) and cur.take(*self.section, free=0) is not None
        if not in_section:
            self._call(cur, bare=True)
            if self.section_close:
                self._optional(cur, self.section_close[:1])
            return
        cur.blanks()
        if self.json_section and cur.at("{", "["):
            read_value(cur, Wrapper())
        else:
            self._call(cur)
        while True:
            cur.blanks()
            cur.more()
            if cur.take(*self.section_close, free=fork(self.section_close[0], self._call_starts()[0])):
                self._optional(cur, self.after_section)
                return
            if not cur.at(*self._call_starts()) and not cur.begins(*self._call_starts()):
                return
            self._call(cur)

    def _call_starts(self) -> tuple[str, ...]:
        return ((*self.before_call, self.call.open)[0],)

    def _fork(self) -> int:
        return fork(self.parameter.open, self.call.close)

    def _optional(self, cur: Cursor, literals: tuple[str, ...]) -> None:
        for literal in literals:
            pos = skip_blanks(cur.text, cur.pos)
            rest = cur.text[pos : pos + len(literal)]
            if rest == literal or (rest and pos + len(rest) == cur.end and literal.startswith(rest)):
                cur.blanks()
                cur.take(literal)

    def _call(self, cur: Cursor, *, bare: bool = False) -> None:
        for literal in self.before_call:
            cur.need(literal)
            cur.blanks()
        cur.need(self.call.open, free=0 if bare else None)
        name = start_tag(cur, self.call, SubClass.N, cur.tools.names, entities=self.entities)[0]
        if bare and self.section and not self._has_body(cur):
            raise NotTheGrammar
        cur.committed = True
        shape = cur.tools.shape(name)
        cur.blanks()
        if cur.at("{"):
            arguments = cur.literal(shape)
            cur.blanks()
            if not self._implicit_close(cur):
                cur.need(self.call.close)
        else:
            arguments = self.parameters(cur, shape)
        cur.add_call(name, unwrapped(arguments, shape))
        self._optional(cur, self.after_call)

    def _has_body(self, cur: Cursor) -> bool:
        pos = skip_blanks(cur.text, cur.pos)
        if pos >= cur.end:
            raise TextCut
        literals = (self.parameter.open, self.call.close)
        if cur.text.startswith(literals, pos):
            return True
        rest = cur.text[pos : pos + len(self.parameter.open) + len(self.call.close)]
        if pos + len(rest) == cur.end and any(literal.startswith(rest) for literal in literals):
            raise TextCut
        return False

    def parameters(self, cur: Cursor, shape: Shape, ends: tuple[str, ...] = ()) -> dict[str, object]:
        """Read parameter elements up to the call's closer, or up to one of *ends* (left unread) if given."""
        arguments: dict[str, object] = {}
        while True:
            cur.blanks()
            cur.more()
            if ends and (cur.at(*ends) or cur.begins(*ends)):
                return arguments
            if not ends and (self._at_close(cur, shape, arguments) or self._implicit_close(cur)):
                return arguments
            unused = [key for key in shape.keys if key not in arguments]
            cur.need(self.parameter.open, free=None if shape.required - arguments.keys() else self._fork())
            key, attributes = start_tag(cur, self.parameter, SubClass.K, unused, entities=self.entities)
            arguments[key] = self._value(cur, shape.child(key, arguments), attributes, unused, ends)

    def _at_close(self, cur: Cursor, shape: Shape, arguments: dict[str, object]) -> bool:
        exhausted = shape.known and arguments.keys() >= set(shape.keys)
        if cur.begins(self.call.close, self.parameter.open):
            cur.take(self.call.close, self.parameter.open)
        return cur.take(self.call.close, free=None if exhausted else self._fork()) is not None

    def _implicit_close(self, cur: Cursor) -> bool:
        """Whether the call's closer was dropped: the section closes right away."""
        ends = (*self.after_call[:1], *self.section_close)
        return bool(ends) and cur.at(*ends)

    def _value(self, cur: Cursor, shape: Shape, attributes: str, unused: list[str], ends: tuple[str, ...]) -> object:
        typing = self._typing(attributes)
        if self.cdata and cur.take(_CDATA[0]):
            return self._cdata(cur, shape, typing)
        if self.trim_newline and cur.at("\n"):
            cur.sink.add(cur.pos, cur.pos + 1, SubClass.P)
            cur.sink.force(cur.pos, cur.pos + 1, delimiter=True)
            cur.pos += 1
        after = ends or (*self.after_call[:1], *self.section_close) or (self.call.open, self.call.close)
        around = ValueEnd(
            self.parameter.close,
            legal=(self.parameter.open, *(ends or (self.call.close, *after))),
            encloser="" if ends else self.call.close,
            after_encloser=after,
        )
        stop, closed = around.find(cur, [self.parameter.open + key for key in unused if self._plain(key)])
        if stop < 0:
            self._cut_value(cur, shape, typing)
        trimmed = stop - 1 if self.trim_newline and stop > cur.pos and cur.text[stop - 1] == "\n" else stop
        value = raw_value(cur, trimmed, shape, typing)
        cur.sink.add(trimmed, stop, SubClass.P)
        cur.pos = stop
        if closed:
            cur.take(self.parameter.close, free=0)
        return value

    def _plain(self, key: str) -> bool:
        return not self.parameter.quoted and bool(key)

    def _cut_value(self, cur: Cursor, shape: Shape, typing: Typing) -> None:
        """The text ends inside the value, or inside its closer."""
        tail = cur.overlap(self.parameter.close)
        stop = cur.end - tail
        trimmed = stop - 1 if tail and self.trim_newline and stop > cur.pos and cur.text[stop - 1] == "\n" else stop
        raw_value(cur, trimmed, shape, typing, cut=True)
        cur.sink.add(trimmed, stop, SubClass.P)
        cur.sink.add(stop, cur.end, SubClass.D)
        raise TextCut

    def _cdata(self, cur: Cursor, shape: Shape, typing: Typing) -> object:
        closer = _CDATA[1] + self.parameter.close
        at = cur.find(closer, cur.pos)
        if at < 0:
            tail = cur.overlap(closer)
            raw_value(cur, cur.end - tail, shape, typing, cut=True)
            cur.sink.add(cur.end - tail, cur.end, SubClass.D)
            raise TextCut
        value = raw_value(cur, at, shape, typing)
        cur.take(closer, free=0)
        return value

    def _typing(self, attributes: str) -> Typing:
        if not self.type_attribute:
            return self.typing
        stated = re.search(rf"{self.type_attribute}\s*=\s*[\"']?(\w+)", attributes)
        if stated is None:
            return self.typing
        return Typing.TEXT if stated[1] in ("true", "string") else Typing.JSON


def start_tag(
    cur: Cursor, element: Element, label: SubClass, options: Sequence[str], *, entities: bool = False
) -> tuple[str, str]:
    """Read the rest of a start tag behind its opener: the name, and the attributes as written.

    Raises TextCut when the text ends inside the tag, NotTheGrammar when no tag end comes on the same line.
    """
    text = cur.text
    quote = cur.take('"', "'") if element.quoted else None
    start = cur.pos
    at = cur.find(quote or element.end, start)
    line = text[start : min(start + _LONGEST_NAME, cur.end if at < 0 else at)]
    if "\n" in line or len(line) == _LONGEST_NAME:
        raise NotTheGrammar
    if at < 0:
        cur.until(quote or element.end, label)
    raw = line.split(maxsplit=1)[0] if element.quoted and not quote and line.strip() else line
    if not raw or "<" in raw:
        raise NotTheGrammar
    cur.sink.add(start, start + len(raw), label)
    forced_choice(cur.sink, start, raw, options)
    cur.pos = start + len(raw)
    tag_end = cur.find(element.end, cur.pos)
    stop = cur.end if tag_end < 0 else tag_end + len(element.end)
    cur.sink.add(cur.pos, stop, SubClass.D)
    cur.sink.force(cur.pos, stop, delimiter=True)
    attributes = text[cur.pos : stop]
    cur.pos = stop
    if tag_end < 0:
        raise TextCut
    return (_unescaped(raw) if entities else raw), attributes


def _unescaped(raw: str) -> str:
    for entity, char in _ENTITIES:
        raw = raw.replace(entity, char)
    return raw


def unwrapped(arguments: object, shape: Shape) -> object:
    """Arguments that were wrapped once more in a member `arguments` which the tool does not have."""
    if isinstance(arguments, dict) and list(arguments) == ["arguments"] and "arguments" not in shape.keys:
        inner = decoded(arguments["arguments"])
        return inner if isinstance(inner, dict) else arguments
    return arguments
