"""Harmony conversations as rendered text, and completions as token ids."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from traces.conversation import Conversation
from traces.errors import TraceError
from traces.model import RawBlock, Session, TextBlock
from traces.readers.base import finished, stem
from traces.readlog import ReadLog
from traces.source import SourceFile

_START, _MESSAGE = "<|start|>", "<|message|>"
_MESSAGE_ID, _CHANNEL_ID = "200008", "200005"
_ENDS = re.compile(r"<\|(?:end|call|return)\|>")
_IDS = re.compile(rb"[0-9\s]+")
_ROLES = ("system", "developer", "user", "assistant")
_MAX_TOKEN_ID = 1 << 31


@dataclass(frozen=True, slots=True)
class _Part:
    """One message as rendered, from its start tag (if any) to its end tag."""

    role: str
    text: str
    body: str
    is_call: bool


class HarmonyReader:
    """Reads rendered Harmony text and files of Harmony token ids; a file is one session."""

    name = "harmony"
    title = "Harmony (gpt-oss) rendered conversations and token id files"

    def sniff(self, file: SourceFile, head: bytes) -> float:  # noqa: ARG002
        """Text that starts with a Harmony tag, or numbers with Harmony's own tokens among them."""
        text = head.removeprefix(b"\xef\xbb\xbf").strip()
        if text.startswith((b"<|start|>", b"<|channel|>")):
            return 0.95
        numbers = text.split()
        is_ids = _IDS.fullmatch(text) is not None and _MESSAGE_ID.encode() in numbers
        return 0.95 if is_ids and _CHANNEL_ID.encode() in numbers else 0.0

    def read(self, files: Sequence[SourceFile], log: ReadLog) -> Iterator[Session]:
        """Yield the one session of each file that holds a completion."""
        for file in files:
            conversation = Conversation(stem(file), log)
            data = file.read()
            if _IDS.fullmatch(data):
                _read_ids(conversation, file, data, log)
            else:
                _read_text(conversation, _decoded(file, data), log)
            if conversation.turns:
                yield from finished(conversation, log)
            else:
                log.omit("Harmony prompt without a completion")


READER = HarmonyReader()


def _decoded(file: SourceFile, data: bytes) -> str:
    try:
        return data.decode().rstrip("\r\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TraceError(file.name, line, "not valid UTF-8", "save the file as UTF-8") from error


def _read_ids(conversation: Conversation, file: SourceFile, data: bytes, log: ReadLog) -> None:
    """Add a completion known by its token ids; its text needs the tokenizer's vocabulary."""
    words = data.split()
    if any(len(word) > 10 or int(word) >= _MAX_TOKEN_ID for word in words):
        log.invalid(file.name, None, "a number is no token id", kind="number that is no token id")
        return
    if words:
        log.assume("Harmony completion recorded as token ids: its text is left to the tokenizer")
        conversation.reply((RawBlock(text="", token_ids=tuple(int(word) for word in words)),))


def _read_text(conversation: Conversation, text: str, log: ReadLog) -> None:
    """Add a rendered conversation; the assistant's messages up to a call, or to another's message, are a reply."""
    pending: list[_Part] = []
    for part in _parts(text):
        if part.role == "assistant":
            pending.append(part)
            if part.is_call:
                _reply(conversation, pending)
                pending = []
            continue
        _reply(conversation, pending)
        pending = []
        if part.role in _ROLES:
            conversation.say(part.role, (TextBlock(text=part.body),) if part.body else ())
        else:
            conversation.result(part.body, name=part.role)
    _reply(conversation, pending)
    if text.endswith((_START + "assistant", _START)):
        log.omit("Harmony prompt that ends where a completion would start")


def _reply(conversation: Conversation, parts: list[_Part]) -> None:
    if parts:
        text = "".join(part.text for part in parts).removeprefix(_START + "assistant")
        conversation.reply((RawBlock(text=text),))


def _parts(text: str) -> Iterator[_Part]:
    """Messages of a rendered conversation; a text that starts without a tag is a completion."""
    pieces = text.split(_START)
    for index, piece in enumerate(pieces):
        header, found, rest = piece.partition(_MESSAGE)
        if not found:
            continue
        tag = _START if index else ""
        role = re.split(r"[\s<]", header, maxsplit=1)[0] if index else "assistant"
        body = _ENDS.split(rest, maxsplit=1)[0]
        yield _Part(role or "assistant", tag + piece, body, "<|call|>" in rest)
