"""Berkeley Function-Calling Leaderboard: result rows, joined with their questions where both are given.

A result and its counts share one nesting: one call, or [turn][step] of calls. Latencies are without a clock and
are not read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from traces.conversation import Conversation
from traces.model import Block, HiddenHead, RawBlock, ReasoningBlock, Session, ToolCallBlock, ToolSpec, Usage
from traces.pool import json_text
from traces.readers.base import JsonReader, finished
from traces.readers.openai_messages import chat_messages
from traces.readers.spoken import add_prompt
from traces.readers.tools import tool_spec
from traces.readlog import ReadLog
from traces.records import Json, as_count, as_dict, as_list, as_text, dicts, documents, first_text
from traces.source import SourceFile

_JSON_TYPES = {"dict": "object", "float": "number", "double": "number", "tuple": "array", "list": "array"}
_JAVA_TYPES = {"string": "string", "boolean": "boolean", "integer": "integer", "long": "integer", "number": "number"}
_JSON_NAMES = ("object", "number", "array", "string", "boolean", "integer", "null")


@dataclass(slots=True)
class _Input:
    """Rows of all files, by what they are."""

    questions: dict[str, Json] = field(default_factory=dict)
    results: list[Json] = field(default_factory=list)


class BfclReader(JsonReader):
    """Reads BFCL results; questions without a result hold prompts and tool schemas but nothing generated."""

    name = "bfcl"
    title = "BFCL results with their questions (JSON lines)"

    def score(self, rows: list[Json]) -> float:
        """Rows of an id with a result, a question or the accepted answers."""
        first = rows[0]
        if not isinstance(first.get("id"), str):
            return 0.9 if _is_tool_doc(first) else 0.0
        if isinstance(first.get("question"), list) or "ground_truth" in first:
            return 0.9
        return 0.8 if "result" in first and ("input_token_count" in first or "latency" in first) else 0.0

    def read(self, files: Sequence[SourceFile], log: ReadLog) -> Iterator[Session]:
        """Yield a session for each result; questions may stand in any of *files*."""
        found = _Input()
        for file in files:
            for number, value in documents(file, log):
                _sort(found, file, number, as_dict(value), log)
        answered = {first_text(row.get("id")) for row in found.results}
        unanswered = sum(1 for key in found.questions if key not in answered)
        if unanswered:
            log.omit("BFCL question without a result (prompts and tool schemas, no model output)", unanswered)
        for row in found.results:
            question = found.questions.get(first_text(row.get("id")) or "", {})
            yield from _session(row, question, log)


READER = BfclReader()


def json_schema(value: object) -> object:
    """A BFCL parameter schema as JSON Schema: its own type names replaced, unknown ones left out."""
    if isinstance(value, list):
        return [json_schema(member) for member in value]
    if not isinstance(value, dict):
        return value
    mapped = {key: json_schema(member) for key, member in value.items() if key != "type"}
    kind = value.get("type")
    if isinstance(kind, str):
        name = _JSON_TYPES.get(kind.lower()) or _JAVA_TYPES.get(kind.lower(), kind)
        return {"type": name, **mapped} if name in _JSON_NAMES else mapped
    return {**mapped, "type": json_schema(kind)} if kind is not None else mapped


def _is_tool_doc(row: Json) -> bool:
    return "name" in row and as_dict(row.get("parameters")).get("type") == "dict"


def _sort(found: _Input, file: SourceFile, number: int | None, row: Json, log: ReadLog) -> None:
    key = first_text(row.get("id"))
    if key is not None and "result" in row:
        found.results.append(row)
    elif key is not None and "question" in row:
        found.questions[key] = row
    elif "ground_truth" in row:
        log.omit("BFCL accepted answer (no model output)")
    elif _is_tool_doc(row):
        log.omit("BFCL tool schema (no model output)")
    else:
        log.invalid(file.name, number, "the row is no BFCL question and no result", kind="row of no BFCL kind")


def _session(row: Json, question: Json, log: ReadLog) -> Iterator[Session]:
    conversation = Conversation(first_text(row.get("id")) or "result", log)
    turns = as_list(question.get("question"))
    result = row.get("result")
    if not question:
        log.assume("BFCL result without its question: its prompt is not recorded")
    if _is_nested(result):
        log.assume("BFCL tool results are not in the result file: prompts of later steps lack them")
        for index, steps in enumerate(as_list(result)):
            _ask(conversation, turns, index, log)
            for step, made in enumerate(as_list(steps)):
                _reply(conversation, row, made, (index, step), log)
    else:
        for index in range(len(turns)):
            _ask(conversation, turns, index, log)
        _reply(conversation, row, result, (), log)
    tools = tuple(spec for item in dicts(question.get("function")) if (spec := _tool(item)) is not None)
    yield from finished(conversation, log, tools=tools, head=None if tools else HiddenHead(key="bfcl tools"))


def _is_nested(result: object) -> bool:
    """Whether *result* is a list of turns, each a list of steps."""
    members = as_list(result)
    return bool(members) and all(isinstance(member, list) for member in members)


def _ask(conversation: Conversation, turns: list[object], index: int, log: ReadLog) -> None:
    for message in chat_messages(turns[index] if index < len(turns) else [], log):
        add_prompt(conversation, message)


def _reply(conversation: Conversation, row: Json, made: object, place: tuple[int, ...], log: ReadLog) -> None:
    thought = as_text(_at(row.get("reasoning_content"), place))
    reasoning: tuple[Block, ...] = (ReasoningBlock(text=thought),) if thought else ()
    blocks = (*reasoning, *_made(made))
    if not blocks:
        log.omit("empty reply")
        return
    usage = Usage(
        input_tokens=as_count(_at(row.get("input_token_count"), place)),
        output_tokens=as_count(_at(row.get("output_token_count"), place)),
    )
    conversation.reply(blocks, usage=usage)


def _made(made: object) -> tuple[Block, ...]:
    """Blocks of one step: raw text, or function calls as {name: arguments}."""
    if isinstance(made, str):
        return (RawBlock(text=made),) if made else ()
    calls = [item for member in as_list(made) for item in as_dict(member).items()]
    return tuple(ToolCallBlock(name=name, arguments=json_text(arguments)) for name, arguments in calls)


def _at(value: object, place: tuple[int, ...]) -> object:
    """The member of a nested *value* at *place*, or None."""
    for index in place:
        members = as_list(value)
        value = members[index] if index < len(members) else None
    return value


def _tool(item: Json) -> ToolSpec | None:
    return tool_spec({**item, "parameters": json_schema(item.get("parameters"))})
