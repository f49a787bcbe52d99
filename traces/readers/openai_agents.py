"""OpenAI Agents SDK run states: the model responses of a run, with what its tools returned."""

from __future__ import annotations

from collections.abc import Iterator

from traces.conversation import Conversation
from traces.model import Block, HiddenHead, Session, Usage
from traces.parts import content_blocks
from traces.readers.base import JsonReader, finished, stem
from traces.readers.openai_messages import chat_usage
from traces.readers.response_items import add_input, is_output, is_result, output_blocks
from traces.readlog import ReadLog
from traces.records import Json, as_dict, dicts, documents, first_text
from traces.source import SourceFile


class OpenAIAgentsReader(JsonReader):
    """Reads serialised run states of the OpenAI Agents SDK."""

    name = "openai-agents"
    title = "OpenAI Agents SDK run states (JSON)"

    def score(self, rows: list[Json]) -> float:
        """The schema's version beside its lists."""
        first = rows[0]
        known = {"model_responses", "generated_items", "original_input", "current_agent"} & set(first)
        return 0.95 if "$schemaVersion" in first and known else 0.0

    def read_file(self, file: SourceFile, log: ReadLog) -> Iterator[Session]:
        """Yield the one session of a run state."""
        for number, value in documents(file, log):
            state = as_dict(value)
            if "$schemaVersion" not in state:
                log.invalid(file.name, number, "the document is no run state", kind="document of no run state")
                continue
            conversation = Conversation(stem(file), log)
            known = _input(conversation, state.get("original_input"), log)
            items = [as_dict(item.get("raw_item")) for item in dicts(state.get("generated_items"))]
            fresh = [item for item in items if first_text(item.get("id")) not in known]
            if len(fresh) < len(items):
                log.duplicate("run item that the input already holds", len(items) - len(fresh))
            responses = dicts(state.get("model_responses"))
            if responses:
                _responses(conversation, responses, fresh, log)
            else:
                _items(conversation, fresh, log)
            agent = first_text(as_dict(state.get("current_agent")).get("name"))
            yield from finished(conversation, log, head=HiddenHead(key=f"openai-agents {agent}"), agent=agent)


READER = OpenAIAgentsReader()


def _input(conversation: Conversation, value: object, log: ReadLog) -> set[str | None]:
    """Add the run's input; return the ids of its items."""
    if isinstance(value, str):
        conversation.say("user", content_blocks(value, log))
        return set()
    items = dicts(value)
    for item in items:
        if is_output(item):
            conversation.say("assistant", output_blocks(item, log))
        else:
            add_input(conversation, item, log)
    return {key for item in items if (key := first_text(item.get("id"))) is not None}


def _responses(conversation: Conversation, responses: list[Json], items: list[Json], log: ReadLog) -> None:
    """Add each response, then the results of its calls as the run's items give them."""
    results = {first_text(item.get("call_id")): item for item in items if is_result(item)}
    for response in responses:
        made = dicts(response.get("output"))
        output = [item for item in made if is_output(item)]
        blocks = tuple(block for item in output for block in output_blocks(item, log))
        if not blocks:
            log.omit("empty reply")
            continue
        key = first_text(response.get("response_id"), response.get("referenceable_id"))
        conversation.reply(blocks, turn_id=key, usage=_usage(as_dict(response.get("usage"))))
        returned = {first_text(item.get("call_id")): item for item in made if is_result(item)}
        for item in output:
            call_id = first_text(item.get("call_id"))
            result = returned.get(call_id) or results.get(call_id)
            if call_id is not None and result is not None:
                add_input(conversation, result, log)


def _items(conversation: Conversation, items: list[Json], log: ReadLog) -> None:
    """Add runs of model-made items as replies, where the state holds no responses."""
    pending: list[Block] = []
    for item in [*items, {}]:
        if item and is_output(item):
            pending += output_blocks(item, log)
            continue
        if pending:
            log.assume("run state without model responses: neighbouring items count as one reply")
            conversation.reply(tuple(pending))
            pending = []
        if item and not add_input(conversation, item, log):
            log.omit("run item that is no message, call or result")


def _usage(counts: Json) -> Usage | None:
    """Usage, whose details some versions write as a list of one object."""
    details = {key: _first(counts.get(key)) for key in ("input_tokens_details", "output_tokens_details")}
    return chat_usage({**counts, **details})


def _first(value: object) -> Json:
    return (dicts(value) or [as_dict(value)])[0]
