"""Calls whose name stands outside the JSON: `call opener` NAME `name end` {arguments} `call closer`."""

from __future__ import annotations

from tokenclass.classes import SubClass
from tokenclass.formats.cursor import Cursor, NotTheGrammar, fork
from tokenclass.formats.grammar import Grammar
from tokenclass.formats.wrapper import decoded, skip_blanks

_ID_TAIL_CHARS = "0123456789"


class NamedJson(Grammar, frozen=True, tag="named_json"):
    """One call or a section of them. A literal that starts with `?` may be missing."""

    call_open: tuple[str, ...]
    """Literals before the name, in order."""
    name_end: tuple[str, ...] = ()
    """Literals between the name and the arguments, in order."""
    call_close: tuple[str, ...] = ()
    """Literals behind the arguments, in order, each optional."""
    section: tuple[str, ...] = ()
    """Openers of a group of calls, any of them; calls without a group are accepted."""
    section_close: tuple[str, ...] = ()
    fence: bool = False
    """Whether a markdown fence stands around the arguments."""
    counted_id: bool = False
    """Whether the name is part of an id such as `functions.NAME:3`; without a name it follows from the keys."""

    def openers(self) -> tuple[str, ...]:
        """Literals that a region may start with."""
        return (*self.section, self.call_open[0])

    def closers(self) -> tuple[str, ...]:
        """Literals that end a region."""
        return self.section_close or tuple(literal.removeprefix("?") for literal in self.call_close[-1:])

    def read(self, cur: Cursor) -> None:
        """Read one region."""
        in_section = bool(self.section) and cur.take(*self.section, free=0) is not None
        if in_section:
            cur.blanks()
        self._call(cur, free=None if in_section else 0)
        while in_section:
            cur.blanks()
            free = fork(self.section_close[0], self.call_open[0])
            if cur.take(*self.section_close, free=free):
                return
            if not cur.at(self.call_open[0]) and not cur.begins(self.call_open[0]):
                return
            self._call(cur, free=free)

    def _call(self, cur: Cursor, *, free: int | None) -> None:
        cur.sequence(self.call_open, free=free)
        cur.blanks()
        name = self._id(cur) if self.counted_id else self._name(cur)
        if self.name_end:
            cur.blanks()
            cur.sequence(self.name_end)
        cur.blanks()
        if self.fence and cur.take("```json", "```"):
            cur.blanks()
        cur.more()
        if not cur.at("{"):
            raise NotTheGrammar
        cur.committed = True
        arguments = cur.literal(cur.tools.shape(name))
        if name is None:
            name = cur.tools.infer(list(arguments)) if isinstance(arguments, dict) else None
        cur.add_call(name or "", decoded(arguments))
        self._close(cur)

    def _close(self, cur: Cursor) -> None:
        literals = ("```", *self.call_close) if self.fence else self.call_close
        for literal in literals:
            bare = literal.removeprefix("?")
            pos = skip_blanks(cur.text, cur.pos)
            if cur.text.startswith(bare, pos) or (pos < cur.end and bare.startswith(cur.text[pos : pos + len(bare)])):
                cur.blanks()
                cur.take(bare)

    def _name(self, cur: Cursor) -> str:
        stops = "{" + "".join(literal.removeprefix("?")[0] for literal in self.name_end)
        name = cur.word(SubClass.N, stops, cur.tools.names)
        if not name:
            raise NotTheGrammar
        return name

    def _id(self, cur: Cursor) -> str | None:
        """Read `functions.NAME:3`, `functions_NAME_3`, `NAME:3` or a bare counter (None: no name in it)."""
        start = cur.pos
        stop = cur.text.find(self.name_end[0], start)
        if stop < 0:
            return cur.until(self.name_end[0], SubClass.N)
        raw = cur.text[start:stop]
        if "\n" in raw or len(raw) > 256:
            raise NotTheGrammar
        head, name, tail = split_id(raw.rstrip(), cur.tools.names)
        cur.sink.add(start, start + head, SubClass.D)
        cur.sink.force(start, start + head, delimiter=True)
        cur.sink.add(start + head, start + tail, SubClass.N)
        cur.sink.add(start + tail, stop, SubClass.D)
        cur.pos = stop
        return name or None


def split_id(raw: str, known: tuple[str, ...]) -> tuple[int, str, int]:
    """Where the name lies in a call id: its start, the name, its end. A bare counter has an empty name."""
    head = next((len(p) for p in ("functions.", "functions_") if raw.startswith(p)), 0)
    if raw[head:] in known:
        return head, raw[head:], len(raw)
    digits = len(raw)
    while digits > head and raw[digits - 1] in _ID_TAIL_CHARS:
        digits -= 1
    if digits == head:
        return len(raw), "", len(raw)
    counted = digits < len(raw) and (
        raw[digits - 1] == ":" or (raw[digits - 1] == "_" and (head > 0 or raw[: digits - 1] in known))
    )
    tail = digits - 1 if counted else len(raw)
    return head, raw[head:tail], tail


class MistralCalls(Grammar, frozen=True, tag="mistral"):
    """`[TOOL_CALLS]` NAME [`[CALL_ID]` id] [`[ARGS]`] {arguments}."""

    opener: str = "[TOOL_CALLS]"
    call_id: str = "[CALL_ID]"
    args: str = "[ARGS]"

    def openers(self) -> tuple[str, ...]:
        """Literals that a region may start with."""
        return (self.opener,)

    def read(self, cur: Cursor) -> None:
        """Read one region."""
        cur.need(self.opener, free=0)
        cur.blanks()
        name = cur.word(SubClass.N, "[{", cur.tools.names)
        if not name:
            raise NotTheGrammar
        cur.blanks()
        if cur.take(self.call_id):
            cur.word(SubClass.V, "[{")
        cur.take(self.args)
        cur.blanks()
        cur.more()
        if not cur.at("{"):
            raise NotTheGrammar
        cur.committed = True
        cur.add_call(name, decoded(cur.literal(cur.tools.shape(name))))
