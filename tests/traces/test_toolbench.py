from __future__ import annotations

from tests.traces.agent_files import call_names, one, outputs, prompt_texts
from traces.model import TextBlock, ToolCallBlock
from traces.readers.toolbench import READER


def _node(kind: str, text: str, *children: object, number: int = 0, seen: str | None = None) -> dict[str, object]:
    node = {"node_type": kind, "description": text, "children": list(children), "expand_num": number}
    return node if seen is None else {**node, "observation": seen}


def _call(name: str, number: int, *children: object, thought: str = "") -> dict[str, object]:
    inputs = _node("Action Input", "{}", *children, number=number, seen=f"saw {name}")
    action = _node("Action", name, inputs)
    return _node("Thought", thought, action) if thought else action


_TREE = _node("Action Input", "", _call("a", 1, _call("b", 2), _call("c", 3, thought="Try c.")))
_TOOLS = [{"name": "a", "parameters": {"type": "object"}}]


def _answer(**more: object) -> dict[str, object]:
    inner = {"query": "find it", "query_count": 3, "function": _TOOLS, **more}
    return {"win": False, "tree": {"tree": _TREE}, "answer_generation": inner}


def test_pruned_branches_are_turns_with_the_prompt_of_their_path() -> None:
    session, log = one(READER, _answer())
    assert call_names(session) == ["a", "b", "c"]
    assert outputs(session.turns[2]) == (TextBlock(text="Try c."), ToolCallBlock(name="c", arguments="{}"))
    path = [("user", "find it"), ("assistant", "a"), ("tool", "saw a")]
    assert prompt_texts(session, session.turns[1]) == path
    assert prompt_texts(session, session.turns[2]) == path
    assert session.head is not None
    assert sum(log.assumptions.values()) == 3


def test_transcripts_give_the_prompts_of_the_chosen_path() -> None:
    start = [{"role": "system", "content": "sys"}, {"role": "user", "content": "find it"}]
    made = [{"role": "assistant", "content": "", "function_call": {"name": name, "arguments": "{}"}} for name in "ab"]
    note = {"role": "user", "content": "not the first try"}
    seen = {"role": "function", "name": "a", "content": "shortened"}
    transcripts = [[*start, note, made[0]], [*start, note, made[0], seen, made[1]]]
    session, _ = one(READER, _answer(train_messages=transcripts))
    assert prompt_texts(session, session.turns[0])[-1] == ("user", "not the first try")
    assert prompt_texts(session, session.turns[1])[-1] == ("tool", "shortened")
    assert prompt_texts(session, session.turns[2])[0] == ("system", "sys")


def test_without_a_tree_the_transcripts_are_the_turns() -> None:
    transcript = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "answer"}]
    session, _ = one(READER, {"answer_generation": {"train_messages": [transcript]}})
    assert prompt_texts(session, session.turns[0]) == [("user", "q")]
    assert outputs(session.turns[0]) == (TextBlock(text="answer"),)
