"""Tokens that the target's prompt layout puts around texts, measured with the tagger itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scenarios.synth.model import Head
from tokenclass.layout import Layout
from tokenclass.tagger import Tagger
from tokenclass.tokenizers import Tokenizer
from traces.model import Attempt, Message, Session, TextBlock, ToolResultBlock, ToolSpec, Turn
from traces.pool import MessagePool

_WORD = TextBlock(text="a")
"""One token."""
_USER = Message(role="user", blocks=(_WORD,))
_REPLY = Message(role="assistant", blocks=(_WORD,))
_RESULT = Message(role="tool", blocks=(ToolResultBlock(text=_WORD.text, call_id=None),))
_SYSTEM = Message(role="system", blocks=(_WORD,))


class Markup:
    """Prompt tokens beyond those of texts, for the target that *tokenizer* and *layout* describe."""

    def __init__(self, tokenizer: Tokenizer, layout: Layout, specs: Mapping[str, ToolSpec]) -> None:
        self._tagger = Tagger(tokenizer, layout)
        self._specs = specs
        self._heads: dict[Head, int] = {}
        before, output = self._tokens([_USER])

        def around(*answers: Message) -> int:
            return self._tokens([_USER, _REPLY, *answers])[0] - before - output - len(answers)

        one, two = around(_RESULT), around(_RESULT, _RESULT)
        self._result, self._more = one, two - one
        self.user = around(_USER)
        """Around an output that prompts repeat, and what the user then says."""

    def results(self, count: int) -> int:
        """Around an output that prompts repeat, and the results of *count* tools that ran after it."""
        return self._result + (count - 1) * self._more

    def head(self, head: Head) -> int:
        """Tokens of *head*, its tools, and around it and what the user first says."""
        if head not in self._heads:
            tools = () if head.hidden else tuple(self._specs[name] for name in head.tools)
            system = [_SYSTEM] if head.tokens and not head.hidden else []
            around = self._tokens([*system, _USER], tools)[0] - len(system) - 1
            self._heads[head] = head.tokens + around
        return self._heads[head]

    def _tokens(self, messages: Sequence[Message], tools: tuple[ToolSpec, ...] = ()) -> tuple[int, int]:
        """Tokens of a prompt of *messages*, and of a reply of one word to it."""
        pool = MessagePool()
        turn = Turn(id="0", prompt=pool.prompt(messages), attempts=(Attempt(output=(_WORD,)),))
        tagged = self._tagger.tag(Session(id="", turns=(turn,), messages=pool.messages, tools=tools)).turns[0]
        return tagged.prompt.tokens, tagged.final.labels.n_tokens
