"""Calls written as a name followed by key and value elements (GLM and its relatives)."""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from tokenclass.classes import SubClass
from tokenclass.formats.cursor import Cursor, NotTheGrammar, TextCut, fork
from tokenclass.formats.grammar import Grammar
from tokenclass.formats.json_calls import read_value
from tokenclass.formats.schema import Shape
from tokenclass.formats.values import Typing, ValueEnd, raw_value
from tokenclass.formats.wrapper import Wrapper, skip_blanks
from tokenclass.formats.xml_calls import unwrapped

_JSON_TYPES = frozenset({"string", "str", "text"})


class _Tags(msgspec.Struct, frozen=True):
    section: str
    section_close: str
    call: str
    call_close: str
    separator: str
    key: str
    key_close: str
    type: str
    type_close: str
    value: str
    value_close: str


class PairCalls(Grammar, frozen=True, tag="pairs"):
    """`<call>NAME<key>K</key><value>V</value>...</call>`, optionally inside a section."""

    call: str = "tool_call"
    section: str = ""
    separator: str = ""
    """Tag that may follow the name."""
    prefix: str = ""
    """What every tag name begins with."""
    suffix: bool = False
    """Whether tags may carry a `:suffix`, the same in one region."""
    typed: bool = False
    """Whether a type element may stand between key and value."""
    json_calls: bool = False
    """Whether a call element may hold a JSON call object instead."""

    def openers(self) -> tuple[str, ...]:
        """Literals that a region may start with."""
        names = (self.section, self.call) if self.section else (self.call,)
        end = "" if self.suffix else ">"
        return tuple(f"<{self.prefix}{name}{end}" for name in names)

    def closers(self) -> tuple[str, ...]:
        """Literals that end a region."""
        tags = self._tags("")
        return (tags.section_close,) if self.section else (tags.call_close,)

    def pattern(self) -> str:
        """Regular expression of the places where a region may start."""
        end = r"(?::[^<>\s]+)?>" if self.suffix else ""
        return "|".join(re.escape(opener) + end for opener in self.openers())

    def partial(self, tail: str) -> bool:
        """Whether *tail*, at the end of a text, may be the beginning of an opener."""
        if super().partial(tail):
            return True
        return self.suffix and any(re.fullmatch(re.escape(o) + r"(?::[^<>\s]*)?", tail) for o in self.openers())

    def read(self, cur: Cursor) -> None:
        """Read one region."""
        tags = self._tags(self._suffix(cur))
        in_section = bool(self.section) and cur.take(tags.section, free=0) is not None
        if in_section:
            cur.blanks()
        self._call(cur, tags, free=None if in_section else 0)
        while in_section:
            cur.blanks()
            free = fork(tags.section_close, tags.call)
            if cur.take(tags.section_close, free=free) or not (cur.at(tags.call) or cur.begins(tags.call)):
                return
            self._call(cur, tags, free=free)

    def _suffix(self, cur: Cursor) -> str:
        if not self.suffix:
            return ""
        head = re.compile(r"<[\w|]+(:[^<>\s]+)?>").match(cur.text, cur.pos)
        if head is None:
            raise NotTheGrammar
        return head[1] or ""

    def _tags(self, suffix: str) -> _Tags:
        return _tags(self.prefix, self.section, self.call, self.separator, suffix)

    def _call(self, cur: Cursor, tags: _Tags, *, free: int | None) -> None:
        cur.need(tags.call, free=free)
        if self.json_calls and cur.text.startswith("{", skip_blanks(cur.text, cur.pos)):
            cur.blanks()
            read_value(cur, Wrapper())
            cur.blanks()
            cur.need(tags.call_close)
            return
        name = self._name(cur, tags)
        if self.separator:
            cur.take(tags.separator)
        shape = cur.tools.shape(name)
        arguments: dict[str, object] = {}
        while True:
            cur.blanks(escaped=True)
            if cur.begins(tags.call_close, tags.key):
                cur.take(tags.call_close, tags.key)
            exhausted = shape.known and arguments.keys() >= set(shape.keys)
            if cur.take(tags.call_close, free=None if exhausted else fork(tags.call_close, tags.key)):
                break
            self._pair(cur, tags, shape, arguments)
        cur.committed = True
        cur.add_call(name, unwrapped(arguments, shape))

    def _name(self, cur: Cursor, tags: _Tags) -> str:
        """Read the tool name; it must be followed by a pair, the separator or the call's end."""
        cur.blanks()
        start = cur.pos
        name = cur.word(SubClass.N, "<>{\\", cur.tools.names)
        pos = skip_blanks(cur.text, cur.pos)
        while cur.text.startswith("\\n", pos):
            pos = skip_blanks(cur.text, pos + 2)
        follows = (tags.key, *((tags.separator,) if self.separator else ()))
        known = cur.tools.allows(name)
        ends = (*follows, tags.call_close) if known else follows
        rest = cur.text[pos : pos + len(tags.key) + len(tags.separator)]
        if not cur.text.startswith(ends, pos):
            if pos + len(rest) == cur.end and (rest == "\\" or any(end.startswith(rest) for end in ends)):
                cur.committed = True
                return name
            raise NotTheGrammar
        if not name or start == cur.pos:
            raise NotTheGrammar
        cur.committed = True
        return name

    def _pair(self, cur: Cursor, tags: _Tags, shape: Shape, arguments: dict[str, object]) -> None:
        unused = [key for key in shape.keys if key not in arguments]
        cur.need(tags.key, free=None if shape.required - arguments.keys() else fork(tags.key, tags.call_close))
        key = cur.until(tags.key_close, SubClass.K, unused)
        cur.blanks(escaped=True)
        typing = Typing.SCHEMA
        if self.typed and cur.take(tags.type):
            kind = cur.until(tags.type_close, SubClass.V)
            typing = Typing.TEXT if kind in _JSON_TYPES else Typing.JSON
            cur.blanks(escaped=True)
        cur.need(tags.value)
        arguments[key] = self._value(cur, tags, shape.child(key, arguments), typing)

    def _value(self, cur: Cursor, tags: _Tags, shape: Shape, typing: Typing) -> object:
        after = (tags.section_close, tags.call) if self.section else (tags.call,)
        ends = ValueEnd(
            tags.value_close,
            legal=(tags.key, tags.call_close),
            encloser=tags.call_close,
            after_encloser=after,
            escaped_blanks=True,
        )
        stop, closed = ends.find(cur, [tags.key])
        if stop < 0:
            tail = cur.overlap(tags.value_close)
            raw_value(cur, cur.end - tail, shape, typing, cut=True)
            cur.sink.add(cur.end - tail, cur.end, SubClass.D)
            cur.pos = cur.end
            raise TextCut
        value = raw_value(cur, stop, shape, typing)
        if closed:
            cur.take(tags.value_close, free=0)
        return value


@lru_cache(maxsize=256)
def _tags(prefix: str, section: str, call: str, separator: str, suffix: str) -> _Tags:
    def pair(name: str) -> tuple[str, str]:
        return f"<{prefix}{name}{suffix}>", f"</{prefix}{name}{suffix}>"

    arguments = [tag for name in ("arg_key", "arg_type", "arg_value") for tag in pair(name)]
    return _Tags(*pair(section), *pair(call), pair(separator)[0], *arguments)
