"""Sessions out of the threads of a Claude Code recording."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from traces.model import Attempt, HiddenHead, Message, Session, SpawnLink, Times, ToolCallBlock, ToolWait, Turn
from traces.pool import MessagePool
from traces.readers.anthropic_messages import anthropic_usage, output_blocks
from traces.readers.claude_tree import MAIN, Node, Reply, Thread, Tree
from traces.readlog import ReadLog
from traces.records import as_dict, first_text

_UNKNOWN_KIND = "sub-agent"


@dataclass(frozen=True, slots=True)
class _Spawn:
    thread: Thread
    node: Node
    kind: str


def tree_sessions(tree: Tree, named: Callable[[str], str], log: ReadLog) -> Iterator[Session]:
    """Yield a session a thread with replies of its own, main threads first; *named* makes ids unique."""
    threads = sorted(tree.threads.values(), key=lambda thread: thread.agent != MAIN)
    with_turns = [thread for thread in threads if any(not _of(node).copied for node in thread.replies.values())]
    ids = {id(thread): named(_id_of(thread)) for thread in with_turns}
    for thread in with_turns:
        spawn = _spawn(tree, thread) if thread.agent != MAIN else None
        kind = None if thread.agent == MAIN else spawn.kind if spawn is not None else _UNKNOWN_KIND
        yield _Builder(thread, log).session(ids[id(thread)], kind, _link(tree, thread, spawn, ids, log))


def _id_of(thread: Thread) -> str:
    return thread.session if thread.agent == MAIN else f"{thread.session}/{thread.agent}"


def _of(node: Node) -> Reply:
    if node.reply is None:
        raise AssertionError("a thread lists replies only")
    return node.reply


def _link(tree: Tree, thread: Thread, spawn: _Spawn | None, ids: dict[int, str], log: ReadLog) -> SpawnLink | None:
    if thread.agent == MAIN:
        return None
    if spawn is not None and id(spawn.thread) in ids:
        turn_id = None if _of(spawn.node).copied else _of(spawn.node).id
        return SpawnLink(session_id=ids[id(spawn.thread)], turn_id=turn_id)
    root = tree.threads.get((thread.session, MAIN))
    if root is not None and id(root) in ids:
        log.assume("sub-agent whose start is not recorded: tied to its session, not to a turn")
        return SpawnLink(session_id=ids[id(root)])
    log.assume("sub-agent whose session is not in the input starts by itself")
    return None


def _spawn(tree: Tree, thread: Thread) -> _Spawn | None:
    """The call that started *thread*: by the recorded id, or by the prompt that it opens with."""
    call_id = tree.agent_calls.get(thread.agent, thread.agent)
    for other in tree.threads.values():
        if other is not thread and other.session == thread.session:
            for node in other.replies.values():
                for part in map(as_dict, _of(node).parts):
                    given = as_dict(part.get("input"))
                    by_prompt = thread.opening is not None and given.get("prompt") == thread.opening
                    if part.get("type") == "tool_use" and (part.get("id") == call_id or by_prompt):
                        return _Spawn(other, node, first_text(given.get("subagent_type")) or _UNKNOWN_KIND)
    origin = thread.origin
    return _Spawn(origin.thread, origin, _UNKNOWN_KIND) if origin is not None and origin.reply is not None else None


@dataclass(slots=True)
class _Builder:
    """Turns of one thread in the order of their first rows."""

    thread: Thread
    log: ReadLog
    pool: MessagePool = field(default_factory=MessagePool)
    turns: list[Turn] = field(default_factory=list)
    _said: dict[int, list[Message]] = field(default_factory=dict)
    _path: list[Node] = field(default_factory=list)

    def session(self, name: str, kind: str | None, parent: SpawnLink | None) -> Session:
        nodes = [node for node in self.thread.replies.values() if not _of(node).copied]
        asked = [self._add(node, after) for node, after in zip(nodes, [*nodes[1:], None], strict=True)]
        first = _of(nodes[0])
        model = next((turn.model for turn in self.turns if turn.model), "unknown model")
        return Session(
            id=name,
            turns=tuple(self.turns),
            messages=self.pool.messages,
            head=HiddenHead(key=f"claude-code {model} {kind or 'main'}"),
            parent=parent,
            agent=kind,
            start_s=asked[0] if asked[0] is not None else first.first_s,
        )

    def _add(self, node: Node, after: Node | None) -> float | None:
        """Append the turn of *node* and return when its prompt was complete."""
        reply = _of(node)
        path = self._walk(node.parent)
        asked_s = _asked_s(node)
        output = output_blocks(reply.parts, self.log)
        self._said[id(node)] = [Message(role="assistant", blocks=output)] if output else []
        usage = anthropic_usage(reply.usage)
        if usage is not None and output and not usage.input_tokens and not usage.output_tokens:
            self.log.assume("usage of zero tokens for a call with output: counts as not recorded")
            usage = None
        calls = [block for block in output if isinstance(block, ToolCallBlock)]
        waits = tuple(
            ToolWait(name=call.name, duration_s=self._tool_s(reply, call.call_id), call_id=call.call_id)
            for call in calls
        )
        self.turns.append(
            Turn(
                id=reply.id,
                prompt=self.pool.prompt(message for step in path for message in self._messages(step)),
                attempts=(
                    Attempt(
                        output=output, usage=usage, times=self._times(reply, asked_s), finish_reason=reply.stop_reason
                    ),
                ),
                parent=self.turns[-1].id if self.turns else None,
                tool_waits=waits,
                user_wait_s=None if calls or after is None else self._span(reply.end_s, _asked_s(after), "user row"),
                model=reply.model,
            )
        )
        return asked_s

    def _walk(self, node: Node | None) -> list[Node]:
        """The steps from the root to *node*; the part shared with the walk before is not walked again."""
        place = {id(step): index for index, step in enumerate(self._path)}
        added: list[Node] = []
        while node is not None and id(node) not in place:
            added.append(node)
            node = node.parent
        kept = self._path[: place[id(node)] + 1] if node is not None else []
        self._path = [*kept, *reversed(added)]
        return self._path

    def _messages(self, node: Node) -> list[Message]:
        if node.reply is None:
            return list(node.messages)
        known = self._said.get(id(node))
        if known is None:
            blocks = output_blocks(node.reply.parts, self.log)
            known = self._said[id(node)] = [Message(role="assistant", blocks=blocks)] if blocks else []
        return known

    def _times(self, reply: Reply, asked_s: float | None) -> Times | None:
        if reply.first_s is None:
            return None
        sent_s = asked_s
        if sent_s is not None and sent_s > reply.first_s:
            self.log.assume("reply dated before its prompt: the time it was sent counts as not recorded")
            sent_s = None
        elif sent_s is not None:
            self.log.assume("Claude Code call taken as sent when the last row of its prompt was written")
        return Times(sent_s=sent_s, end_s=reply.end_s)

    def _tool_s(self, reply: Reply, call_id: str | None) -> float | None:
        key = call_id or ""
        return self._span(reply.called_s.get(key), reply.returned_s.get(key), "tool result")

    def _span(self, start_s: float | None, end_s: float | None, what: str) -> float | None:
        if start_s is None or end_s is None:
            return None
        if end_s < start_s:
            self.log.assume(f"{what} dated before its cause: the wait counts as not recorded")
            return None
        return end_s - start_s


def _asked_s(node: Node) -> float | None:
    """When the last row between the reply before *node* and *node* was written."""
    times: list[float] = []
    step = node.parent
    while step is not None and step.reply is None:
        times += [step.at_s] if step.at_s is not None else []
        step = step.parent
    return max(times, default=None)
