"""Agent Trajectory Interchange Format (ATIF), as Harbor writes it: steps of user, system and agent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from traces.clock import unix_seconds
from traces.conversation import Conversation
from traces.model import Block, HiddenHead, ReasoningBlock, Session, SpawnLink, Times, ToolCallBlock, Usage
from traces.parts import content_blocks, content_text
from traces.pool import json_text
from traces.readers.base import JsonReader, finished, stem
from traces.readers.tools import tool_specs
from traces.readlog import ReadLog
from traces.records import Json, as_count, as_dict, dicts, documents, first_text
from traces.source import SourceFile


@dataclass(frozen=True, slots=True)
class _Trajectory:
    id: str
    content: Json


class HarborReader(JsonReader):
    """Reads ATIF documents. Copied steps are prompt only; recorded token ids and logprobs are not used."""

    name = "harbor"
    title = "Agent Trajectory Interchange Format (ATIF, Harbor)"

    def score(self, rows: list[Json]) -> float:
        """The schema's name, or numbered steps with a source beside an agent."""
        first = rows[0]
        if str(first.get("schema_version")).startswith("ATIF"):
            return 0.95
        steps = dicts(first.get("steps"))
        numbered = bool(steps) and all("step_id" in step and "source" in step for step in steps)
        return 0.85 if numbered and "agent" in first else 0.0

    def read(self, files: Sequence[SourceFile], log: ReadLog) -> Iterator[Session]:
        """Yield a session for each trajectory; those that another one refers to are its sub-agents."""
        found: list[_Trajectory] = []
        for file in files:
            for number, value in documents(file, log):
                content = as_dict(value)
                if not isinstance(content.get("steps"), list):
                    log.invalid(file.name, number, "the trajectory holds no steps", kind="trajectory without steps")
                    continue
                found += _with_inner(content, stem(file))
        parents: dict[str, SpawnLink] = {}
        sessions: list[Session] = []
        for trajectory in found:
            sessions += _session(trajectory, parents, log)
        for session in sessions:
            link = parents.get(session.id)
            is_child = link is not None and link.session_id != session.id
            yield replace(session, parent=link) if is_child else session


READER = HarborReader()


def _with_inner(content: Json, name: str) -> list[_Trajectory]:
    """A trajectory and the sub-agents' ones inside it."""
    key = first_text(content.get("trajectory_id"), content.get("session_id")) or name
    found = [_Trajectory(key, content)]
    for number, inner in enumerate(dicts(content.get("subagent_trajectories")), start=1):
        found += _with_inner(inner, f"{key}/{number}")
    return found


def _session(trajectory: _Trajectory, parents: dict[str, SpawnLink], log: ReadLog) -> Iterator[Session]:
    conversation = Conversation(trajectory.id, log)
    agent = as_dict(trajectory.content.get("agent"))
    spoke_system = False
    for step in dicts(trajectory.content.get("steps")):
        source, at_s = step.get("source"), unix_seconds(step.get("timestamp"))
        if source == "agent":
            _agent_step(conversation, step, first_text(agent.get("model_name")), at_s, parents, log)
        elif source in ("user", "system"):
            spoke_system = spoke_system or source == "system"
            conversation.say(str(source), content_blocks(step.get("message"), log), at_s)
            _observe(conversation, step, parents)
        else:
            log.omit("ATIF step of no known source")
    tools = tool_specs(agent.get("tool_definitions"))
    name = first_text(agent.get("name"))
    head = None if spoke_system and tools else HiddenHead(key=f"harbor {name} {first_text(agent.get('version'))}")
    yield from finished(conversation, log, tools=tools, head=head, agent=name)


def _agent_step(
    conversation: Conversation,
    step: Json,
    model: str | None,
    at_s: float | None,
    parents: dict[str, SpawnLink],
    log: ReadLog,
) -> None:
    blocks = _output(step, log)
    metrics = as_dict(step.get("metrics"))
    if step.get("is_copied_context") is True or step.get("llm_call_count") == 0:
        log.omit("ATIF agent step that no model call made here")
        conversation.say("assistant", blocks)
    elif blocks or metrics:
        conversation.reply(
            blocks,
            turn_id=None if step.get("step_id") is None else f"step {step['step_id']}",
            usage=_usage(metrics),
            times=None if at_s is None else Times(end_s=at_s),
            model=first_text(step.get("model_name")) or model,
        )
    else:
        log.omit("empty reply")
    _observe(conversation, step, parents)


def _output(step: Json, log: ReadLog) -> tuple[Block, ...]:
    reasoning = first_text(step.get("reasoning_content"))
    blocks: list[Block] = [ReasoningBlock(text=reasoning)] if reasoning else []
    blocks += content_blocks(step.get("message"), log)
    for call in dicts(step.get("tool_calls")):
        name = first_text(call.get("function_name")) or "unknown"
        call_id = first_text(call.get("tool_call_id"))
        blocks.append(ToolCallBlock(name=name, arguments=json_text(call.get("arguments")), call_id=call_id))
    return tuple(blocks)


def _observe(conversation: Conversation, step: Json, parents: dict[str, SpawnLink]) -> None:
    """Add the results of a step, and note the sub-agents that it started."""
    for result in dicts(as_dict(step.get("observation")).get("results")):
        conversation.result(content_text(result.get("content")), first_text(result.get("source_call_id")))
        for reference in dicts(result.get("subagent_trajectory_ref")):
            key = first_text(reference.get("trajectory_id"), reference.get("session_id"))
            if key is not None:
                parents.setdefault(key, SpawnLink(session_id=conversation.id, turn_id=conversation.last_id))


def _usage(metrics: Json) -> Usage:
    """Usage; prompt tokens include the cached ones."""
    extra = as_dict(metrics.get("extra"))
    return Usage(
        input_tokens=as_count(metrics.get("prompt_tokens")),
        cached_tokens=as_count(metrics.get("cached_tokens")),
        output_tokens=as_count(metrics.get("completion_tokens")),
        reasoning_tokens=as_count(extra.get("reasoning_tokens")),
    )
