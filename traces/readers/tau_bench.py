"""tau-bench results: an array of runs, each with its chat messages in ``traj``."""

from __future__ import annotations

from collections.abc import Iterator

from traces.conversation import Conversation
from traces.lengths import unique
from traces.model import Session
from traces.readers.base import JsonReader, finished
from traces.readers.message_list import add_messages, is_messages
from traces.readlog import ReadLog
from traces.records import Json, as_list, as_number, dicts, documents, head_values
from traces.source import SourceFile

_EXAMPLE = "tau-bench few-shot example: prompt material, its tool calls are not in the file"


class TauBenchReader(JsonReader):
    """Reads a session a run. The simulated user's messages are prompt only: their calls are not recorded."""

    name = "tau-bench"
    title = "tau-bench results JSON (runs with traj)"

    def sniff(self, file: SourceFile, head: bytes) -> float:  # noqa: ARG002
        """Runs are members of one array, or lines."""
        values = head_values(head)
        rows = dicts(values[0]) if values and isinstance(values[0], list) else dicts(list(values))
        return self.score(rows) if rows else 0.0

    def score(self, rows: list[Json]) -> float:
        """Runs hold a task and a traj of messages; examples for prompts, one text."""
        run = isinstance(rows[0].get("traj"), list) and "task_id" in rows[0]
        return 0.97 if run or _is_example(rows[0]) else 0.0

    def read_file(self, file: SourceFile, log: ReadLog) -> Iterator[Session]:
        """Yield the sessions of one results file."""
        taken: set[str] = set()
        for line, value in documents(file, log):
            for number, run in enumerate(as_list(value) if isinstance(value, list) else [value]):
                if isinstance(run, dict) and _is_example(run):
                    log.omit(_EXAMPLE)
                    continue
                if not isinstance(run, dict) or not is_messages(run.get("traj")):
                    log.invalid(file.name, line, f"run {number} has no traj of messages", kind="run without messages")
                    continue
                if not taken:
                    log.assume("tau-bench records no tool definitions: prompts are counted without them")
                name = unique(f"task{run.get('task_id')}-trial{run.get('trial', 0)}", taken)
                conversation = Conversation(name, log)
                conversation.reward = as_number(run.get("reward"))
                add_messages(conversation, dicts(run["traj"]), log)
                yield from finished(conversation, log)


READER = TauBenchReader()


def _is_example(row: Json) -> bool:
    """A conversation printed for people, to be pasted into prompts: calls stand in it as the word None."""
    return isinstance(row.get("messages_display"), str) and "traj" not in row
