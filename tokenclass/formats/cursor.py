"""A reading position inside one tool call: takes literals, blanks, names and values, and writes sub-spans."""

from __future__ import annotations

from collections.abc import Sequence

from tokenclass.classes import SubClass
from tokenclass.formats.dialect import JSON, Dialect, Outcome, Scanned
from tokenclass.formats.literals import BLANKS, Scanner
from tokenclass.formats.schema import Shape, Tools
from tokenclass.formats.sink import Sink, forced_choice

Call = dict[str, object]
"""A complete call: `name` (str) and `arguments` (object)."""


class TextCut(Exception):  # noqa: N818 - control flow, not an error
    """The text ends where the grammar expects more."""


class NotTheGrammar(Exception):  # noqa: N818 - control flow, not an error
    """The text is not what the grammar allows here."""


class Cursor:
    """Position in *text* while one call region is read."""

    __slots__ = (
        "_found", "calls", "committed", "dead_until", "end", "failed_starts", "pos", "sink", "start", "text", "tools",
    )  # fmt: skip

    def __init__(self, text: str, pos: int, tools: Tools, found: dict[str, tuple[int, int]] | None = None) -> None:
        self._found = {} if found is None else found
        self.text = text
        self.start = self.pos = pos
        self.end = len(text)
        self.tools = tools
        self.sink = Sink(schema_known=tools.given)
        self.calls: list[Call] = []
        self.committed = False
        """Whether enough was read to know that this is a call, whatever follows."""
        self.failed_starts: tuple[int, ...] = ()
        """Where containers begin that were found broken: no call can start there."""
        self.dead_until = pos
        """End of a complete value that is no call: none starts inside it either."""

    def at(self, *literals: str) -> bool:
        """Whether one of *literals* stands here."""
        return self.text.startswith(literals, self.pos)

    def take(self, *literals: str, label: SubClass = SubClass.D, free: int | None = None) -> str | None:
        """Read the first of *literals* that stands here; None if none does.

        All of it counts as forced but the character at *free*, if given, where something else could have begun.
        Raises TextCut when the text ends inside one.
        """
        if self.begins(*literals):
            self.sink.add(self.pos, self.end, label)
            self.pos = self.end
            raise TextCut
        for literal in literals:
            if self.text.startswith(literal, self.pos):
                self.sink.add(self.pos, self.pos + len(literal), label)
                if free is not None:
                    self.sink.force(self.pos, self.pos + free, delimiter=True)
                self.sink.force(self.pos + (0 if free is None else free + 1), self.pos + len(literal), delimiter=True)
                self.pos += len(literal)
                return literal
        return None

    def begins(self, *literals: str) -> bool:
        """Whether the text ends here inside one of *literals*, at least one character in."""
        left = self.end - self.pos
        if left <= 0 or left >= max(map(len, literals), default=0):
            return False
        rest = self.text[self.pos :]
        return any(len(literal) > left and literal.startswith(rest) for literal in literals)

    def need(self, *literals: str, free: int | None = None) -> str:
        """Read one of *literals*; raises NotTheGrammar if none stands here, TextCut at the end of the text."""
        taken = self.take(*literals, free=free)
        if taken is None:
            self.more()
            raise NotTheGrammar
        return taken

    def sequence(self, literals: Sequence[str], *, free: int | None = None) -> None:
        """Read *literals* in order, blanks between them allowed; one that starts with `?` may be absent."""
        for index, literal in enumerate(literals):
            if index:
                self.blanks()
            if literal.startswith("?") and len(literal) > 1:
                self.take(literal[1:], free=free)
            else:
                self.need(literal, free=free)
            free = None

    def find(self, literal: str, pos: int) -> int:
        """Offset of the next *literal* from *pos* on, -1 if none; a repeated search costs nothing."""
        searched_from, at = self._found.get(literal, (self.end + 1, 0))
        if searched_from <= pos and (at < 0 or at >= pos):
            return at
        at = self.text.find(literal, pos)
        self._found[literal] = (pos, at)
        return at

    def overlap(self, literal: str) -> int:
        """How many characters of *literal* the text ends with, from the cursor on; never all of it."""
        return overlap(self.text, self.pos, literal)

    def more(self) -> None:
        """Raise TextCut at the end of the text."""
        if self.pos >= self.end:
            raise TextCut

    def blanks(self, *, escaped: bool = False) -> int:
        """Read white space as P and return its length; with *escaped* a written-out backslash-n counts.

        Raises TextCut if the text ends inside such a backslash-n.
        """
        text, start, pos, end = self.text, self.pos, self.pos, self.end
        while pos < end:
            if text[pos] in BLANKS:
                pos += 1
            elif escaped and text.startswith("\\n", pos):
                pos += 2
            else:
                break
        cut = escaped and pos == end - 1 and text[pos] == "\\"
        self.sink.add(start, pos + cut, SubClass.P)
        self.pos = pos + cut
        if cut:
            raise TextCut
        return pos - start

    def word(self, label: SubClass, stops: str, options: Sequence[str] = ()) -> str:
        """Read up to one of the characters *stops* or white space; raises TextCut if the text ends first."""
        text, start, pos, end = self.text, self.pos, self.pos, self.end
        while pos < end and text[pos] not in stops and text[pos] not in BLANKS:
            pos += 1
        self.sink.add(start, pos, label)
        self.pos = pos
        self.more()
        word = text[start:pos]
        forced_choice(self.sink, start, word, options)
        return word

    def until(self, closer: str, label: SubClass, options: Sequence[str] = ()) -> str:
        """Read up to *closer* and over it; raises TextCut (with what there is) if it does not come."""
        start = self.pos
        at = self.find(closer, start)
        if at < 0:
            tail = overlap(self.text, start, closer)
            self.sink.add(start, self.end - tail, label)
            self.sink.add(self.end - tail, self.end, SubClass.D)
            self.pos = self.end
            raise TextCut
        self.sink.add(start, at, label)
        word = self.text[start:at]
        forced_choice(self.sink, start, word, options)
        self.pos = at
        self.take(closer, free=0)
        return word

    def literal(self, shape: Shape, dialect: Dialect = JSON, *, arguments: bool = False) -> object:
        """Read one literal; raises TextCut or NotTheGrammar with the sub-spans so far written."""
        self.more()
        return self.settle(self.scan(shape, dialect, arguments=arguments))

    def scan(self, shape: Shape, dialect: Dialect = JSON, *, arguments: bool = False) -> Scanned:
        """Read one literal and move behind it, whatever the outcome."""
        scanned = Scanner(self.text, self.sink, dialect, self.end).scan(self.pos, shape, arguments=arguments)
        self.pos = scanned.end
        return scanned

    def settle(self, scanned: Scanned) -> object:
        """The value of a complete scan; otherwise the exception that its outcome stands for."""
        self.failed_starts = scanned.open_starts
        if scanned.outcome is Outcome.CUT:
            raise TextCut
        if scanned.outcome is Outcome.BAD:
            raise NotTheGrammar
        return scanned.value

    def add_call(self, name: object, arguments: object) -> None:
        """Record a complete call; arguments written as a JSON string are decoded, none at all mean {}."""
        self.calls.append({"name": name, "arguments": arguments})


def fork(literal: str, other: str) -> int:
    """Index at which *literal* parts from *other*: the character that is a choice between them."""
    pairs = enumerate(zip(literal, other, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(literal), len(other)))


def overlap(text: str, start: int, literal: str) -> int:
    """Length of the longest proper prefix of *literal* that text[start:] ends with."""
    end = len(text)
    for size in range(min(len(literal) - 1, end - start), 0, -1):
        if text.startswith(literal[:size], end - size):
            return size
    return 0
