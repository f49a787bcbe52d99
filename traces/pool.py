"""Builds a session's list of distinct messages and the prompts that refer to it."""

from __future__ import annotations

import json
from collections.abc import Iterable

from traces.model import Message, MessagePrompt


class MessagePool:
    """Distinct messages of one session in order of first use.

    A prompt that repeats an earlier one and adds to it costs one range; a prompt whose history was changed
    (compaction, dropped reasoning) keeps the shared parts and adds the changed messages.
    """

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._index: dict[Message, int] = {}

    @property
    def messages(self) -> tuple[Message, ...]:
        """The distinct messages so far."""
        return tuple(self._messages)

    def prompt(self, messages: Iterable[Message]) -> MessagePrompt:
        """The prompt made of *messages* in order; messages not seen before join the pool."""
        ranges: list[tuple[int, int]] = []
        for message in messages:
            index = self._position(message, ranges[-1][1] if ranges else 0)
            if ranges and ranges[-1][1] == index:
                ranges[-1] = (ranges[-1][0], index + 1)
            else:
                ranges.append((index, index + 1))
        return MessagePrompt(ranges=tuple(ranges))

    def _position(self, message: Message, expected: int) -> int:
        if expected < len(self._messages) and self._messages[expected] == message:
            return expected
        index = self._index.setdefault(message, len(self._messages))
        if index == len(self._messages):
            self._messages.append(message)
        return index


def json_text(value: object) -> str:
    """Tool arguments as text: strings as they stand, None as an empty string, other values as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return json.dumps(value, ensure_ascii=False)
