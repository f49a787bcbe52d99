"""ToolBench answers: a search tree of tried calls, with transcripts of those on the chosen path."""

from __future__ import annotations

from collections.abc import Iterator

from traces.conversation import Conversation
from traces.model import Block, HiddenHead, Message, Session, TextBlock, ToolCallBlock, ToolResultBlock
from traces.readers.base import JsonReader, finished, stem
from traces.readers.openai_messages import assistant_blocks, chat_messages
from traces.readers.tools import tool_specs
from traces.readlog import ReadLog
from traces.records import Json, as_count, as_dict, as_list, dicts, documents, first_text
from traces.source import SourceFile

_Outputs = tuple[tuple[Block, ...], ...]


class ToolBenchReader(JsonReader):
    """Reads ToolBench answers; calls of pruned branches are turns too, in the order they were made."""

    name = "toolbench"
    title = "ToolBench answers (search trees)"

    def score(self, rows: list[Json]) -> float:
        """An answer generation beside its search tree or chain."""
        answer = as_dict(rows[0].get("answer_generation"))
        root = as_dict(as_dict(rows[0].get("tree")).get("tree"))
        return 0.95 if "node_type" in root or "train_messages" in answer else 0.0

    def read_file(self, file: SourceFile, log: ReadLog) -> Iterator[Session]:
        """Yield the one session of an answer."""
        for number, value in documents(file, log):
            answer = as_dict(as_dict(value).get("answer_generation"))
            if not answer:
                log.invalid(
                    file.name, number, "the file holds no answer_generation", kind="ToolBench file of no answer"
                )
                continue
            conversation = Conversation(stem(file), log)
            transcripts = [dicts(transcript) for transcript in as_list(answer.get("train_messages"))]
            root = as_dict(as_dict(as_dict(value).get("tree")).get("tree"))
            if root:
                _read_tree(conversation, root, _base(answer, transcripts, log), _known(transcripts, log), log)
            else:
                _read_transcripts(conversation, transcripts, log)
            head = None if transcripts else HiddenHead(key="toolbench")
            yield from finished(conversation, log, tools=tool_specs(answer.get("function")), head=head)


READER = ToolBenchReader()


def _read_transcripts(conversation: Conversation, transcripts: list[list[Json]], log: ReadLog) -> None:
    for transcript in transcripts:
        if transcript and transcript[-1].get("role") == "assistant":
            conversation.history = chat_messages(transcript[:-1], log)
            conversation.reply(assistant_blocks(transcript[-1], log), remember=False)


def _known(transcripts: list[list[Json]], log: ReadLog) -> dict[_Outputs, list[Message]]:
    """Recorded prompts by the outputs on the path down to, and with, the reply."""
    found: dict[_Outputs, list[Message]] = {}
    for transcript in transcripts:
        outputs = tuple(assistant_blocks(m, log) for m in transcript if m.get("role") == "assistant")
        if outputs and transcript[-1].get("role") == "assistant":
            found[outputs] = chat_messages(transcript[:-1], log)
    return found


def _base(answer: Json, transcripts: list[list[Json]], log: ReadLog) -> list[Message]:
    """What every prompt starts with: the system prompt, where a transcript has it, and the query."""
    for transcript in transcripts:
        head = [message for message in transcript[:2] if message.get("role") in ("system", "user")]
        if head:
            return chat_messages(head, log)
    query = first_text(answer.get("query"))
    return [Message(role="user", blocks=(TextBlock(text=query),))] if query else []


def _read_tree(
    conversation: Conversation,
    root: Json,
    base: list[Message],
    known: dict[_Outputs, list[Message]],
    log: ReadLog,
) -> None:
    """Add the tree's calls in the order of their numbers; a call is a thought, an action and its input."""
    calls: list[tuple[int, _Outputs, list[Message]]] = []
    stack: list[tuple[Json, tuple[Block, ...], _Outputs, list[Message]]] = [(root, (), (), base)]
    while stack:
        node, pending, outputs, prompt = stack.pop()
        pending = _with_node(node, pending)
        number = as_count(node.get("expand_num"))
        if number and pending:
            outputs = (*outputs, pending)
            calls.append((number, outputs, prompt))
            prompt = [*prompt, Message(role="assistant", blocks=pending), *_observed(node, pending)]
            pending = ()
        stack += [(child, pending, outputs, prompt) for child in reversed(dicts(node.get("children")))]
    for _, outputs, prompt in sorted(calls, key=lambda call: call[0]):
        if outputs not in known:
            log.assume("ToolBench call off the recorded transcripts: its prompt lacks the note on failed siblings")
        conversation.history = known.get(outputs, prompt)
        conversation.reply(outputs[-1], remember=False)


def _with_node(node: Json, pending: tuple[Block, ...]) -> tuple[Block, ...]:
    kind, text = node.get("node_type"), first_text(node.get("description")) or ""
    if kind == "Thought":
        return (*pending, TextBlock(text=text)) if text else pending
    if kind == "Action" and text:
        return (*pending, ToolCallBlock(name=text))
    if kind == "Action Input" and pending and isinstance(pending[-1], ToolCallBlock):
        return (*pending[:-1], ToolCallBlock(name=pending[-1].name, arguments=text))
    return pending


def _observed(node: Json, output: tuple[Block, ...]) -> list[Message]:
    observation = node.get("observation")
    last = output[-1]
    if not isinstance(observation, str) or not isinstance(last, ToolCallBlock):
        return []
    return [Message(role="tool", blocks=(ToolResultBlock(text=observation),), name=last.name)]
