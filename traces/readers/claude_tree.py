"""The tree of a Claude Code recording: replies put together from their rows, and what each was answered to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from traces.clock import unix_seconds
from traces.model import Message, TextBlock
from traces.readers.anthropic_messages import prompt_messages, tool_results
from traces.readlog import ReadLog
from traces.records import Json, as_count, as_dict, as_list, first_text

MAIN = ""
"""Agent of a session's main thread."""


@dataclass(slots=True, eq=False)
class Reply:
    """One reply of the API, written as several rows of one message id."""

    id: str
    copied: bool
    """Whether another session holds it already."""
    parts: list[object] = field(default_factory=list)
    usage: Json = field(default_factory=dict)
    model: str | None = None
    stop_reason: str | None = None
    first_s: float | None = None
    end_s: float | None = None
    called_s: dict[str, float | None] = field(default_factory=dict)
    returned_s: dict[str, float | None] = field(default_factory=dict)

    def add(self, message: Json, at_s: float | None, log: ReadLog) -> None:
        """Add a row: its blocks, unless they repeat earlier ones, and its usage if it counts more output."""
        content = message.get("content")
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else as_list(content)
        for part in parts:
            if part in self.parts:
                log.duplicate("Claude Code block repeated within a reply")
                continue
            self.parts.append(part)
            call_id = first_text(as_dict(part).get("id"))
            if call_id is not None:
                self.called_s[call_id] = at_s
        usage = as_dict(message.get("usage"))
        if (as_count(usage.get("output_tokens")) or 0) >= (as_count(self.usage.get("output_tokens")) or 0):
            self.usage = usage or self.usage
        self.model = first_text(message.get("model")) or self.model
        self.stop_reason = first_text(message.get("stop_reason")) or self.stop_reason
        self._seen_at(at_s)

    def finish(self, event: Json) -> None:
        """Take the counts of the stream event that ends the reply: those of its rows stand for the start of it."""
        counts = as_dict(event.get("usage"))
        self.usage = self.usage | {key: value for key, value in counts.items() if value is not None}
        self.stop_reason = first_text(as_dict(event.get("delta")).get("stop_reason")) or self.stop_reason

    def _seen_at(self, at_s: float | None) -> None:
        if at_s is not None:
            self.first_s = at_s if self.first_s is None else min(self.first_s, at_s)
            self.end_s = at_s if self.end_s is None else max(self.end_s, at_s)


@dataclass(slots=True, eq=False)
class Node:
    """A step of a thread: a reply, or what was put into the prompt. *tail*: the last result of a reply's calls."""

    thread: Thread
    parent: Node | None
    at_s: float | None = None
    reply: Reply | None = None
    messages: Sequence[Message] = ()
    tail: Node | None = None
    root: Node | None = None
    """The reply whose result this is."""

    @property
    def last(self) -> Node:
        """Where what follows this step hangs: behind all results of the same reply."""
        owner = self.root or self
        return owner.tail or owner


@dataclass(slots=True, eq=False)
class Thread:
    """The main thread of a session, or one sub-agent's."""

    session: str
    agent: str
    replies: dict[str, Node] = field(default_factory=dict)
    calls: dict[str, Node] = field(default_factory=dict)
    tip: Node | None = None
    opening: str | None = None
    """Text of the first user message."""
    streaming: str | None = None
    """Id of the reply whose stream events come."""
    origin: Node | None = None
    """The reply of another thread that the first row of this one hangs from."""


class Tree:
    """The threads of the files of one session; *seen* are the message ids of all sessions read so far."""

    def __init__(self, seen: set[str], log: ReadLog) -> None:
        self.threads: dict[tuple[str, str], Thread] = {}
        self.agent_calls: dict[str, str] = {}
        """Tool call by the sub-agent that it started."""
        self._seen = seen
        self._log = log
        self._nodes: dict[str, Node | None] = {}

    def thread(self, session: str, agent: str) -> Thread:
        """The thread of *agent* in *session*, made when it is first asked for."""
        return self.threads.setdefault((session, agent), Thread(session, agent))

    def sidechain(self, session: str, row: Json) -> Thread:
        """The thread of a side row that names no agent: its parent's, or a new one for a row that begins one."""
        parent = self._nodes.get(first_text(row.get("parentUuid")) or "")
        if parent is not None and parent.thread.agent != MAIN:
            return parent.thread
        side = [thread for key, thread in self.threads.items() if key[0] == session and key[1] != MAIN]
        if side and parent is None and row.get("parentUuid") is not None:
            return side[-1]
        begun = self.thread(session, f"sidechain{len(side) + 1}")
        begun.origin = parent
        return begun

    def repeated(self, row: Json) -> bool:
        """Whether a row of the same uuid was read before."""
        uuid = first_text(row.get("uuid"))
        return uuid is not None and uuid in self._nodes

    def pass_over(self, thread: Thread, row: Json) -> None:
        """Note a row that says nothing to the model, so that rows behind it find its parent."""
        if row.get("subtype") == "compact_boundary":
            thread.tip = None
        uuid = first_text(row.get("uuid"))
        if uuid is not None:
            self._nodes[uuid] = self._nodes.get(first_text(row.get("parentUuid")) or "")

    def reply(self, thread: Thread, row: Json, message: Json, name: str) -> None:
        """Add an assistant row; *name* stands in for a message id."""
        key = first_text(message.get("id"), row.get("requestId"), row.get("uuid")) or name
        at_s = unix_seconds(row.get("timestamp"))
        node = thread.replies.get(key)
        if node is None:
            copied = key in self._seen
            if copied:
                self._log.duplicate("Claude Code reply copied from another session")
            self._seen.add(key)
            node = Node(thread, self._parent(thread, row), at_s, Reply(key, copied))
            thread.replies[key] = node
            thread.tip = node
        if node.reply is not None:
            node.reply.add(message, at_s, self._log)
            for call_id in node.reply.called_s:
                thread.calls.setdefault(call_id, node)
        self._remember(row, node)

    def streamed(self, thread: Thread, event: Json) -> None:
        """Take an event of a reply's stream, which says in the end how many tokens the reply has."""
        if event.get("type") == "message_start":
            thread.streaming = first_text(as_dict(event.get("message")).get("id"))
        node = thread.replies.get(thread.streaming or "")
        if event.get("type") == "message_delta" and node is not None and node.reply is not None:
            node.reply.finish(event)

    def heard(self, thread: Thread, row: Json, message: Json) -> None:
        """Add a user row: what a person said, or what tools returned."""
        at_s = unix_seconds(row.get("timestamp"))
        owner: Node | None = None
        for part in tool_results(message.get("content")):
            call_id = first_text(part.get("tool_use_id"))
            found = thread.calls.get(call_id or "")
            if found is not None and found.reply is not None and call_id is not None:
                owner = found
                found.reply.returned_s.setdefault(call_id, at_s)
                agent = first_text(as_dict(row.get("toolUseResult")).get("agentId"))
                if agent is not None:
                    self.agent_calls[agent] = call_id
        parent = owner.last if owner is not None else self._parent(thread, row)
        node = Node(thread, parent, at_s, messages=prompt_messages(message, self._log), root=owner)
        if owner is not None:
            owner.tail = node
        thread.tip = node
        if thread.opening is None:
            said = [block.text for told in node.messages for block in told.blocks if isinstance(block, TextBlock)]
            thread.opening = first_text(*said)
        self._remember(row, node)

    def _remember(self, row: Json, node: Node) -> None:
        uuid = first_text(row.get("uuid"))
        if uuid is not None:
            self._nodes[uuid] = node

    def _parent(self, thread: Thread, row: Json) -> Node | None:
        """What *row* follows: the row it names, or the one before it where that is not in the recording."""
        if row.get("isCompactSummary") is True:
            return None
        uuid = first_text(row.get("parentUuid"))
        if uuid is not None and uuid not in self._nodes:
            self._log.assume("Claude Code row whose parent is not recorded follows the row before it")
            return thread.tip
        named = self._nodes.get(uuid or "")
        if named is None:
            if uuid is None and thread.tip is not None and "parentUuid" in row:
                self._log.assume("Claude Code row without a parent inside a session follows the row before it")
            return thread.tip
        if named.thread is thread or named.thread.agent == thread.agent == MAIN:
            return named.last
        return thread.tip
