"""tau2-bench simulations: messages of an agent and of a simulated user, which is another model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from traces.clock import scaled, unix_seconds
from traces.conversation import Conversation, text_blocks
from traces.lengths import unique
from traces.model import Block, HiddenHead, Session, SpawnLink, TextBlock, Times, ToolCallBlock, Usage
from traces.parts import content_blocks, content_text
from traces.pool import json_text
from traces.readers.base import JsonReader, finished, stem
from traces.readers.openai_messages import assistant_blocks, chat_usage, completion
from traces.readlog import ReadLog
from traces.records import Json, as_dict, as_number, dicts, documents, first_text
from traces.source import SourceFile

_SIMULATION = ("termination_reason", "reward_info", "trial", "task_id", "user_cost")


class Tau2Reader(JsonReader):
    """Reads the agent's calls, a session a simulation; those of the simulated user only if the log asks for them."""

    name = "tau2"
    title = "tau2-bench results or single simulations JSON"

    def score(self, rows: list[Json]) -> float:
        """A results file, or a simulation by itself."""
        row = rows[0]
        if "simulations" in row or ("tasks" in row and "environment_info" in as_dict(row.get("info"))):
            return 0.95
        spoken = "messages" in row or "ticks" in row
        return 0.95 if spoken and sum(key in row for key in _SIMULATION) >= 2 else 0.0

    def read_file(self, file: SourceFile, log: ReadLog) -> Iterator[Session]:
        """Yield the sessions of one file."""
        taken: set[str] = set()
        for line, value in documents(file, log):
            results = as_dict(value)
            if "simulations" in results or "tasks" in results:
                simulations = dicts(results.get("simulations"))
            else:
                simulations = [results]
            if not simulations:
                log.omit("tau2 results file without simulations in it (tasks and settings only)")
            info = as_dict(results.get("info"))
            tasks = {str(task.get("id")): task for task in dicts(results.get("tasks"))}
            for simulation in simulations:
                name = _name(simulation) or stem(file)
                if dicts(simulation.get("messages")):
                    run = _Run(simulation, info, unique(name, taken))
                    yield from _session(run, log)
                    if log.simulated_users:
                        yield from _user_session(run, tasks.get(str(simulation.get("task_id")), {}), log)
                elif "ticks" in simulation:
                    log.omit("voice simulation, recorded as ticks without messages")
                else:
                    log.invalid(file.name, line, f"simulation {name} has no messages", kind="run without messages")


READER = Tau2Reader()


def _name(simulation: Json) -> str | None:
    task = simulation.get("task_id")
    if isinstance(task, (str, int)) and task != "":
        return f"task{task}-trial{simulation.get('trial', 0)}"
    return first_text(simulation.get("id"))


@dataclass(frozen=True, slots=True)
class _Run:
    """A simulation with what its results file says of it."""

    simulation: Json
    info: Json
    name: str

    def model(self, side: str) -> str | None:
        return first_text(as_dict(self.info.get(f"{side}_info")).get("llm"))

    def talk(self) -> Iterator[tuple[int, Json]]:
        """The messages with their places, tool results one by one."""
        for index, message in enumerate(dicts(self.simulation.get("messages"))):
            nested = dicts(message.get("tool_messages"))
            yield from ((index, member) for member in nested or [message])


def _session(run: _Run, log: ReadLog) -> Iterator[Session]:
    """The session of the agent."""
    agent, place = as_dict(run.info.get("agent_info")), as_dict(run.info.get("environment_info"))
    conversation = Conversation(run.name, log)
    conversation.seen_at(unix_seconds(run.simulation.get("start_time")))
    conversation.reward = as_number(as_dict(run.simulation.get("reward_info")).get("reward"))
    asked_s: float | None = None
    for index, message in run.talk():
        at_s = unix_seconds(message.get("timestamp"))
        if message.get("role") == "assistant" and (index or as_dict(message.get("usage"))):
            _reply(conversation, message, run.model("agent"), asked_s, log)
        else:
            _heard(conversation, message, at_s, log)
        asked_s = at_s if at_s is not None else asked_s
    kind = [first_text(place.get("domain_name")), first_text(agent.get("implementation"))]
    head = HiddenHead(key=" ".join(["tau2", *(part for part in kind if part)]))
    yield from finished(conversation, log, head=head)


def _user_session(run: _Run, task: Json, log: ReadLog) -> Iterator[Session]:
    """The session of the simulated user, to whom the agent's words are a user's."""
    conversation = Conversation(f"{run.name}-user", log)
    conversation.seen_at(unix_seconds(run.simulation.get("start_time")))
    guide = first_text(as_dict(run.info.get("user_info")).get("global_simulation_guidelines"))
    scenario = task.get("user_scenario")
    parts = [guide, json_text(scenario) if scenario else None]
    conversation.say("system", text_blocks(*parts))
    asked_s: float | None = None
    for _, message in run.talk():
        role, at_s = message.get("role"), unix_seconds(message.get("timestamp"))
        if role == "user":
            _reply(conversation, message, run.model("user"), asked_s, log)
        elif role == "assistant" and not dicts(message.get("tool_calls")):
            conversation.say("user", content_blocks(message.get("content"), log), at_s)
        elif role == "tool" and message.get("requestor") == "user":
            _result(conversation, message, at_s)
        else:
            continue
        asked_s = at_s if at_s is not None else asked_s
    if guide or scenario:
        log.assume("prompt of the simulated user: its guidelines and its scenario, as far as the file has them")
    head = None if guide or scenario else HiddenHead(key=f"tau2 user of {run.name}")
    yield from finished(conversation, log, head=head, parent=SpawnLink(session_id=run.name), agent="simulated user")


def _heard(conversation: Conversation, message: Json, at_s: float | None, log: ReadLog) -> None:
    """Add what the agent was told; the user's own tools and their results are not."""
    role = first_text(message.get("role"))
    if role == "tool":
        if message.get("requestor") == "user":
            if not log.simulated_users:
                log.omit("tool result of the simulated user")
            return
        _result(conversation, message, at_s)
        return
    if role == "user" and not log.simulated_users:
        log.omit("call of the simulated user, another model")
    elif role == "assistant":
        log.omit("canned greeting, which no model made")
    elif role is None:
        log.omit("message without a role")
        return
    conversation.say(role, content_blocks(message.get("content"), log), at_s)


def _result(conversation: Conversation, message: Json, at_s: float | None) -> None:
    text, failed = content_text(message.get("content")), message.get("error") is True
    conversation.result(text, first_text(message.get("id")), is_error=failed, at_s=at_s)


def _reply(conversation: Conversation, message: Json, model: str | None, asked_s: float | None, log: ReadLog) -> None:
    recorded = completion(as_dict(message.get("raw_data")), log)
    usage: Usage | None = chat_usage(message.get("usage"))
    output: tuple[Block, ...] = assistant_blocks(message, log)
    finish = None
    if recorded is not None:
        usage, finish = recorded.usage or usage, recorded.finish_reason
        model = recorded.model or model
        if _said(recorded.output) == _said(output):
            output = recorded.output
    if not output:
        log.omit("reply without content")
        return
    end_s = unix_seconds(message.get("timestamp"))
    took_s = scaled(message.get("generation_time_seconds"), 1.0)
    sent_s = asked_s
    if end_s is not None and took_s is not None and took_s >= 0:
        sent_s = end_s - took_s
    elif sent_s is not None and end_s is not None and sent_s > end_s:
        sent_s = None
    times = Times(sent_s=sent_s, end_s=end_s) if end_s is not None else None
    conversation.reply(output, usage=usage, times=times, model=model, finish_reason=finish)


def _said(blocks: tuple[Block, ...]) -> tuple[str, int]:
    """The text and the number of calls: what the benchmark's own record keeps of a reply."""
    text = "".join(block.text for block in blocks if isinstance(block, TextBlock))
    return text, sum(isinstance(block, ToolCallBlock) for block in blocks)
