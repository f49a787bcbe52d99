"""Calls written as JSON objects or arrays that carry the tool's name inside, with or without delimiters."""

from __future__ import annotations

from tokenclass.classes import SubClass
from tokenclass.formats.cursor import Cursor, NotTheGrammar, TextCut
from tokenclass.formats.dialect import Outcome, Scanned
from tokenclass.formats.grammar import Grammar
from tokenclass.formats.literals import BLANKS, Scanner
from tokenclass.formats.sink import Sink
from tokenclass.formats.wrapper import ListOf, Wrapper, skip_blanks

_FENCES = ("```json", "```")
_LONGEST_HEAD = 24


class JsonCalls(Grammar, frozen=True, tag="json"):
    """`opener` `{...}` or `[{...}, ...]` `closer`; one region holds one object, one array or several objects."""

    opener: tuple[str, ...]
    closer: tuple[str, ...] = ()
    wrapper: Wrapper = Wrapper()
    separators: tuple[str, ...] | None = None
    """What may stand between objects of one region besides blanks; None: one object only."""
    known_names: bool = False
    """Whether the opener is too weak a sign: then every name must be a tool's."""

    def openers(self) -> tuple[str, ...]:
        """Literals that a region may start with."""
        return self.opener

    def closers(self) -> tuple[str, ...]:
        """Literals that end a region."""
        return self.closer

    def read(self, cur: Cursor) -> None:
        """Read one region."""
        cur.need(*self.opener, free=0)
        cur.blanks()
        while True:
            read_value(cur, self.wrapper, known_names=self.known_names)
            if self.separators is None or not self._another(cur):
                break
        self._close(cur)

    def _another(self, cur: Cursor) -> bool:
        """Move to the next object of the region, if there is one."""
        pos = skip_blanks(cur.text, cur.pos)
        for separator in self.separators or ():
            if cur.text.startswith(separator, pos):
                pos = skip_blanks(cur.text, pos + len(separator))
                break
        if self.wrapper.starts(cur.text, pos) is False or pos >= cur.end:
            return False
        cur.sink.add(cur.pos, pos, SubClass.P)
        cur.pos = pos
        return True

    def _close(self, cur: Cursor) -> None:
        """Read the closer; stray brackets or quotes before it are part of the call."""
        if not self.closer:
            return
        cur.blanks()
        if cur.take(*self.closer):
            return
        pos = cur.pos
        while pos < cur.end and pos - cur.pos < 8 and cur.text[pos] in "}]\"' \n":
            pos += 1
        if pos > cur.pos and cur.text.startswith(self.closer, pos):
            cur.sink.add(cur.pos, pos, SubClass.P)
            cur.pos = pos
            cur.take(*self.closer)


class BareJson(Grammar, frozen=True, tag="bare_json"):
    """Calls without delimiters of their own: a JSON array or object whose names are all known tools."""

    wrapper: Wrapper = Wrapper()
    array: bool = True
    """Whether calls come as an array; otherwise as objects."""
    separators: tuple[str, ...] | None = None
    fence: bool = False
    """Whether a markdown fence around the calls belongs to them."""

    def openers(self) -> tuple[str, ...]:
        """Literals that a region may start with."""
        return _FENCES[:1] if self.fence else ()

    def pattern(self) -> str:
        """Regular expression of the places where a region may start."""
        start = r"\[(?=\s*\{)" if self.array else r"\{(?=\s*\")"
        return rf"```(?:json)?(?=\s*\[\s*\{{)|{start}" if self.fence else start

    def partial(self, tail: str) -> bool:
        """Whether *tail*, at the end of a text, may be the beginning of an opener."""
        bracket = "[" if self.array else "{"
        if self.fence and tail.startswith("`"):
            rest = tail.removeprefix(_FENCES[0]).removeprefix("```").strip()
            return _FENCES[0].startswith(tail) or (tail.startswith("```") and rest in ("", bracket))
        return tail[0] == bracket and not tail[1:].strip()

    def accepts_cut(self, cur: Cursor) -> bool:
        """Whether a region cut before it is certain counts as one: brackets alone do not."""
        return cur.committed

    def read(self, cur: Cursor) -> None:
        """Read one region."""
        fence = cur.take(*_FENCES) if self.fence and cur.at("`") else None
        cur.blanks()
        read_value(cur, self.wrapper, known_names=True, strict=True)
        while self.separators is not None and self._another(cur):
            read_value(cur, self.wrapper, known_names=True, strict=True)
        if fence:
            cur.blanks()
            cur.take("```")

    def _another(self, cur: Cursor) -> bool:
        pos = skip_blanks(cur.text, cur.pos)
        separator = next((s for s in self.separators or () if cur.text.startswith(s, pos)), None)
        if separator is None:
            return False
        pos = skip_blanks(cur.text, pos + len(separator))
        if self.wrapper.starts(cur.text, pos) is not True:
            return False
        cur.sink.add(cur.pos, pos, SubClass.P)
        cur.pos = pos
        return True


class ArgumentsOnly(Grammar, frozen=True, tag="arguments_only"):
    """The argument object alone, as a forced tool choice generates it: the name comes from the request.

    Without a stated choice the tool is the one whose parameters cover the keys.
    """

    def openers(self) -> tuple[str, ...]:
        """Literals that a region may start with."""
        return ()

    def pattern(self) -> str:
        """Regular expression of the places where a region may start."""
        return r"\{"

    def partial(self, tail: str) -> bool:
        """Whether *tail*, at the end of a text, may be the beginning of an opener."""
        return tail == "{"

    def accepts_cut(self, cur: Cursor) -> bool:
        """Whether a region cut before it is certain counts as one: brackets alone do not."""
        return cur.committed

    def read(self, cur: Cursor) -> None:
        """Read one region."""
        before = cur.start
        while before > 0 and cur.text[before - 1] in BLANKS:
            before -= 1
        if before > 0 and cur.text[before - 1] not in ">]":
            raise NotTheGrammar
        trial = Scanner(cur.text, Sink()).scan(cur.pos)
        keys = list(trial.value) if isinstance(trial.value, dict) else []
        name = cur.tools.infer(keys)
        if name is None or trial.outcome is Outcome.BAD:
            cur.failed_starts = trial.open_starts
            raise NotTheGrammar
        cur.committed = True
        cur.add_call(name, cur.literal(cur.tools.shape(name)))


def read_value(cur: Cursor, wrapper: Wrapper, *, known_names: bool = False, strict: bool = False) -> None:
    """Read one call object or array of them, recording the complete calls.

    With *known_names* a name that is no tool's makes it no call; with *strict* a broken literal does, too.
    """
    cur.more()
    array = cur.at("[")
    if array:
        inner = skip_blanks(cur.text, cur.pos + 1)
        start = True if cur.text.startswith("]", inner) and not strict else wrapper.starts(cur.text, inner)
    else:
        start = wrapper.starts(cur.text, cur.pos)
    if start is False:
        raise NotTheGrammar
    if start and not known_names:
        cur.committed = True
    shape = wrapper.shape(cur.tools)
    scanned = cur.scan(ListOf(shape) if array else shape)
    _record(cur, wrapper, scanned, array=array, known_names=known_names)
    if known_names and not (strict and scanned.outcome is Outcome.BAD):
        cur.committed = True
    if not strict or scanned.outcome is not Outcome.CUT:
        cur.settle(scanned)
        return
    if not _cut_is_plausible(cur):
        cur.committed = False
        cur.failed_starts = scanned.open_starts
    raise TextCut


def _record(cur: Cursor, wrapper: Wrapper, scanned: Scanned, *, array: bool, known_names: bool) -> None:
    complete = scanned.outcome is Outcome.COMPLETE
    values = scanned.value if array else [scanned.value] if complete else []
    for value in values if isinstance(values, list) else []:
        call = wrapper.call(value, cur.tools)
        if known_names and (call is None or not cur.tools.allows(call["name"]) or not wrapper.has_arguments(value)):
            cur.committed = False
            cur.dead_until = cur.pos if complete else cur.start
            cur.failed_starts = scanned.open_starts
            raise NotTheGrammar
        if call is not None:
            cur.calls.append(call)


def _cut_is_plausible(cur: Cursor) -> bool:
    """Whether the unfinished last call may become one: its name so far begins a tool's name."""
    names = [sub for sub in cur.sink.subs() if sub.label is SubClass.N]
    if not names:
        return cur.end - cur.start <= _LONGEST_HEAD and not cur.text[: cur.start].strip()
    name = cur.text[names[-1].start : names[-1].end]
    if names[-1].end < cur.end:
        return cur.tools.allows(name)
    return not cur.tools.given or any(known.startswith(name) for known in cur.tools.names)
