"""Inkling calls: one message each, a JSON object or a raw text between special tokens."""

from __future__ import annotations

import re

from tokenclass.classes import SubClass
from tokenclass.formats.cursor import Cursor, NotTheGrammar, TextCut
from tokenclass.formats.grammar import Grammar
from tokenclass.formats.schema import Tools
from tokenclass.formats.sink import forced_choice
from tokenclass.formats.wrapper import Wrapper, decoded

_WRAPPER = Wrapper(args_keys=("args", "arguments", "parameters"))
_HEAD = re.compile(r"[\w.\-]{0,128}")


class InklingCalls(Grammar, frozen=True, tag="inkling"):
    """[`message`] [NAME] `json` {call} `end`, or [`message`] [NAME] `text` raw `end`."""

    message: str = "<|message_model|>"
    json: str = "<|content_invoke_tool_json|>"
    text: str = "<|content_invoke_tool_text|>"
    end: str = "<|end_message|>"

    def openers(self) -> tuple[str, ...]:
        """Literals that a region may start with."""
        return (self.message, self.json, self.text)

    def closers(self) -> tuple[str, ...]:
        """Literals that end a region."""
        return (self.end,)

    def read(self, cur: Cursor) -> None:
        """Read one region."""
        name = self._head(cur) if cur.take(self.message, free=0) else ""
        kind = cur.need(self.json, self.text)
        cur.committed = True
        if kind == self.text:
            body = cur.until(self.end, SubClass.T)
            cur.add_call(name, {"text": body})
            return
        cur.blanks()
        value = cur.literal(_WRAPPER.shape(cur.tools))
        cur.calls.append(self._call(value, name, cur.tools))
        cur.blanks()
        cur.take(self.end)

    def _head(self, cur: Cursor) -> str:
        found = _HEAD.match(cur.text, cur.pos)
        name = found[0] if found else ""
        stop = cur.pos + len(name)
        if not cur.text.startswith("<|", stop) and not (cur.end - stop < 2 and "<|".startswith(cur.text[stop:])):
            raise NotTheGrammar
        cur.sink.add(cur.pos, stop, SubClass.N)
        forced_choice(cur.sink, cur.pos, name, cur.tools.names)
        cur.pos = stop
        if stop >= cur.end:
            raise TextCut
        return name

    @staticmethod
    def _call(value: object, name: str, tools: Tools) -> dict[str, object]:
        call = _WRAPPER.call(value, tools)
        if call is None:
            return {"name": name, "arguments": decoded(value)}
        return call
