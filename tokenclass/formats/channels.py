"""Completions made of messages with headers: harmony, Muse and Beam. The header says what the body is."""

from __future__ import annotations

import re
from dataclasses import dataclass

import msgspec

from tokenclass.classes import PositionClass, SubClass, SubSpan
from tokenclass.formats.cursor import Call, Cursor, NotTheGrammar, TextCut
from tokenclass.formats.schema import Tools
from tokenclass.formats.sink import Sink, forced_choice
from tokenclass.formats.wrapper import decoded, skip_blanks
from tokenclass.formats.xml_calls import XmlCalls


class Channels(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a family's messages are headed and what their bodies hold."""

    start: str = "<|start|>"
    message: str = "<|message|>"
    channel: str = "<|channel|>"
    ends: tuple[str, ...] = ("<|end|>", "<|call|>", "<|return|>")
    tool_prefix: str = ""
    """What stands before the tool's name in a recipient."""
    free_recipients: tuple[str, ...] = ()
    """Recipients of prose."""
    thought_recipients: tuple[str, ...] = ()
    """Recipients of reasoning."""
    thought_channels: tuple[str, ...] = ("analysis",)
    """Channels of reasoning when there is no recipient."""
    no_recipient: PositionClass = PositionClass.F
    """Class of a message without recipient and channel."""
    body: XmlCalls | None = None
    """Grammar of a call's body; None: JSON arguments, or a raw text."""
    named_in_body: bool = False
    """Whether the body names the tool again; else it holds the parameters only."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message: its class and, for a call, what is inside."""

    start: int
    end: int
    label: PositionClass
    closed: bool
    """Whether an end token or the next header ends it."""
    subs: tuple[SubSpan, ...] = ()
    calls: tuple[Call, ...] = ()
    forced: tuple[tuple[int, int], ...] = ()


_RECIPIENT = re.compile(r"\bto=(\S+?)(?=\s|<\||$)")
_CHANNEL = re.compile(r"^\s*(\w+)")


class MessageReader:
    """Reads the messages of one text in order."""

    def __init__(self, rules: Channels, tools: Tools) -> None:
        self._rules = rules
        self._tools = tools
        tokens = "|".join(map(re.escape, (rules.channel, rules.message)))
        self._end = re.compile("|".join(map(re.escape, (*rules.ends, rules.start))))
        self._header_stop = re.compile("|".join(map(re.escape, (rules.message, *rules.ends))))
        self._header_token = re.compile(f"{re.escape(rules.start)}|{tokens}")
        recipient = rf"(?:assistant)?\s*to=[^\s<]+[^<\n]*(?={tokens}|$)"
        self._header = re.compile(rf"\s*(?:{self._header_token.pattern}|{recipient}|assistant\s*(?={tokens}))")

    def read(self, text: str, pos: int) -> Message:
        """The message that starts at *pos*; text where a header is expected is prose up to the next one."""
        if not self._header.match(text, pos):
            following = self._header_token.search(text, pos)
            stop = following.start() if following else len(text)
            return Message(pos, stop, PositionClass.F, closed=following is not None)
        head_end = self._header_stop.search(text, pos)
        if head_end is None or head_end[0] != self._rules.message:
            return self._headless(text, pos, head_end)
        return self._body(text, pos, head_end)

    def _headless(self, text: str, pos: int, stop: re.Match[str] | None) -> Message:
        """A header that the text's end or an end token cuts: a call's if it names a recipient."""
        end = stop.end() if stop else len(text)
        label, recipient = self._role(text[pos : stop.start() if stop else end])
        subs: tuple[SubSpan, ...] = ()
        if label is PositionClass.S:
            sink = Sink(schema_known=self._tools.given)
            self._write_header(sink, text, (pos, end), recipient)
            subs = tuple(sink.subs())
        return Message(pos, end, label, stop is not None, subs)

    def _role(self, header: str) -> tuple[PositionClass, str]:
        """The class of a message and the recipient its header names."""
        rules = self._rules
        found = _RECIPIENT.search(header)
        recipient = found[1] if found else ""
        if recipient in rules.thought_recipients and recipient:
            return PositionClass.R, ""
        if recipient and recipient not in rules.free_recipients:
            return PositionClass.S, recipient
        if recipient:
            return PositionClass.F, ""
        _, named, after = header.rpartition(rules.channel)
        channel = _CHANNEL.match(after) if named else None
        if channel is None:
            return rules.no_recipient, ""
        return (PositionClass.R if channel[1] in rules.thought_channels else PositionClass.F), ""

    def _write_header(self, sink: Sink, text: str, span: tuple[int, int], recipient: str) -> str:
        """Write a call header as D with the tool's name as N; returns the name."""
        start, end = span
        name = recipient.removeprefix(self._rules.tool_prefix)
        at = text.find("to=" + recipient, start) + 3 + len(recipient) - len(name)
        sink.add(start, at, SubClass.D)
        sink.force(start + 1, at, delimiter=True)
        sink.add(at, at + len(name), SubClass.N)
        forced_choice(sink, at, name, self._tools.names)
        sink.add(at + len(name), end, SubClass.D)
        sink.force(at + len(name), end, delimiter=True)
        return name

    def _body(self, text: str, pos: int, head_end: re.Match[str]) -> Message:
        label, recipient = self._role(text[pos : head_end.start()])
        if label is not PositionClass.S:
            end = self._end.search(text, head_end.end())
            stop = len(text) if end is None else end.start() if end[0] == self._rules.start else end.end()
            return Message(pos, self._over_blanks(text, stop), label, end is not None)
        cur = Cursor(text, head_end.end(), self._tools)
        name = self._write_header(cur.sink, text, (pos, head_end.end()), recipient)
        closed = False
        try:
            self._call(cur, name)
            closed = self._close(cur)
        except TextCut:
            cur.pos = cur.end
        stop = self._over_blanks(text, cur.pos)
        cur.sink.add(cur.pos, stop, SubClass.P)
        return Message(pos, stop, label, closed, tuple(cur.sink.subs()), tuple(cur.calls), tuple(cur.sink.forced(stop)))

    def _over_blanks(self, text: str, pos: int) -> int:
        """Blanks between messages belong to the one before; a header may begin with one of its own."""
        stop = skip_blanks(text, pos)
        if stop > pos and text[stop - 1] == " " and text.startswith("to=", stop):
            return stop - 1
        return stop

    def _close(self, cur: Cursor) -> bool:
        pos = skip_blanks(cur.text, cur.pos)
        if pos >= cur.end:
            return False
        rest = cur.text[pos : pos + 32]
        if any(rest.startswith(end) or end.startswith(rest) for end in self._rules.ends):
            cur.blanks()
            cur.take(*self._rules.ends)
        return True

    def _call(self, cur: Cursor, name: str) -> None:
        body = self._rules.body
        start, mark = cur.pos, len(cur.calls)
        try:
            if body is None:
                self._json_body(cur, name)
            elif self._rules.named_in_body:
                body.read(cur)
            else:
                cur.add_call(name, body.parameters(cur, cur.tools.shape(name), self._rules.ends))
        except NotTheGrammar:
            del cur.calls[mark:]
            self._raw_body(cur, name, max(start, cur.pos))

    def _json_body(self, cur: Cursor, name: str) -> None:
        pos = skip_blanks(cur.text, cur.pos)
        if pos >= cur.end:
            raise TextCut
        if cur.text[pos] != "{":
            raise NotTheGrammar
        cur.blanks()
        cur.add_call(name, decoded(cur.literal(cur.tools.shape(name))))

    def _raw_body(self, cur: Cursor, name: str, start: int) -> None:
        """A body that is not of the call grammar, such as code, is one free string."""
        end = self._end.search(cur.text, start)
        stop = end.start() if end else cur.end
        tail = 0 if end else max(cur.overlap(token) for token in self._rules.ends)
        cur.sink.add(start, stop - tail, SubClass.T)
        cur.sink.add(stop - tail, stop, SubClass.D)
        if self._rules.body is None and start == cur.pos and not cur.tools.shape(name).known:
            cur.add_call(name, {"": cur.text[start : stop - tail]})
        cur.pos = stop
