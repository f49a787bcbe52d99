from __future__ import annotations

from tests.traces.agent_files import call_names, one, outputs, prompt_texts, read
from traces.model import ReasoningBlock, ToolCallBlock, Usage
from traces.readers.openai_agents import READER

_CALL = {"type": "function_call", "id": "i1", "call_id": "c", "name": "look", "arguments": "{}"}
_RESULT = {"type": "function_call_output", "call_id": "c", "output": "found"}
_MESSAGE = {"type": "message", "id": "i2", "role": "assistant", "content": [{"type": "output_text", "text": "ok"}]}


def _state(**more: object) -> dict[str, object]:
    return {"$schemaVersion": "1.10", "original_input": "ask", "current_agent": {"name": "helper"}, **more}


def _items(*raw: object) -> list[dict[str, object]]:
    return [{"type": "item", "raw_item": item} for item in raw]


def test_responses_with_usage_and_results_between_them() -> None:
    usage = {
        "input_tokens": 40,
        "input_tokens_details": [{"cached_tokens": 8}],
        "output_tokens": 12,
        "output_tokens_details": [{"reasoning_tokens": 7}],
    }
    responses = [
        {"response_id": "r1", "output": [{"type": "reasoning", "summary": []}, _CALL], "usage": usage},
        {"response_id": "r2", "output": [_MESSAGE], "usage": {}},
    ]
    session, _ = one(READER, _state(model_responses=responses, generated_items=_items(_CALL, _RESULT, _MESSAGE)))
    first, last = session.turns
    assert outputs(first) == (ReasoningBlock(tokens=7), ToolCallBlock(name="look", arguments="{}", call_id="c"))
    assert first.final.usage == Usage(input_tokens=40, cached_tokens=8, output_tokens=12, reasoning_tokens=7)
    assert prompt_texts(session, last)[-1] == ("tool", "found")
    assert (session.agent, first.id) == ("helper", "r1")


def test_items_without_responses_make_replies_of_neighbours() -> None:
    session, log = one(READER, _state(model_responses=[], generated_items=_items(_CALL, _RESULT, _MESSAGE)))
    assert len(session.turns) == 2
    assert call_names(session) == ["look"]
    assert log.assumptions


def test_items_that_the_input_holds_are_not_read_twice() -> None:
    state = _state(original_input=[_MESSAGE], generated_items=_items(_MESSAGE))
    sessions, log = read(READER, state)
    assert sessions == []
    assert sum(log.duplicates.values()) == 1
