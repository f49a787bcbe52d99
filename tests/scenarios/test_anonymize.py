"""Recordings without text: the replay stays, the text goes."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest

from scenarios.options.read import ReadOptions
from scenarios.recordings.anonymize import Anonymizer
from scenarios.recordings.recording import load_workload, open_recording, session_tagger
from tests.scenarios.anonymized import anonymize, assert_replays_the_same, assert_says_nothing
from tests.shared import AGENT_LOOP
from tests.tokenclass.sessions import CALL, RESULT, conversation, one_turn, say
from tokenclass.identity import hashed_name
from traces.model import (
    Attempt,
    LengthPrompt,
    OpaqueBlock,
    ReasoningBlock,
    Session,
    SpawnLink,
    TextBlock,
    Times,
    ToolWait,
    Turn,
    Usage,
    Verdict,
)
from traces.readlog import ReadLog
from traces.registry import read_sessions
from traces.store import write_trace


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("anonymized") / "sample.jsonl"
    anonymize(AGENT_LOOP, target)
    return target


def stripped(*sessions: Session, keep_tool_names: bool = False) -> list[Session]:
    tagger = session_tagger(ReadOptions(output_format="hermes"))
    anonymizer = Anonymizer(tagger, salt=b"", keep_tool_names=keep_tool_names)
    return list(anonymizer.sessions(sessions))


def test_the_sample_says_nothing_and_replays_the_same(sample: Path) -> None:
    assert_says_nothing(AGENT_LOOP, sample)
    assert_replays_the_same(AGENT_LOOP, sample)


@pytest.mark.parametrize("block_size", [32, 48])
def test_engines_with_larger_blocks_find_the_same_prefixes(sample: Path, block_size: int) -> None:
    workloads = [
        load_workload(open_recording([str(path)], ReadOptions()), ReadOptions(), block_size=block_size)
        for path in (AGENT_LOOP, sample)
    ]
    paths = [[path.tolist() for path in workload.paths.paths] for workload in workloads]
    assert sum(map(len, paths[0])) > 0
    names: dict[int, int] = {}
    for first, second in zip(*paths, strict=True):
        assert len(first) == len(second)
        assert all(names.setdefault(one, other) == other for one, other in zip(first, second, strict=True))
    assert len(set(names.values())) == len(names)


def test_ids_cannot_be_confirmed_without_the_salt(sample: Path, tmp_path: Path) -> None:
    plain, salts = sample.read_bytes(), (None, "a", "b")
    found = []
    for salt in salts:
        target = tmp_path / f"{salt}.jsonl"
        anonymize(AGENT_LOOP, target, salt=salt)
        found.append(list(read_sessions([str(target)], ReadLog())))
        written = target.read_bytes()
        anonymize(AGENT_LOOP, target, salt=salt)
        assert target.read_bytes() == written
        assert len(written) == len(plain)
    recorded = list(read_sessions([str(AGENT_LOOP)], ReadLog()))
    guesses = {hashed_name(session.id) for session in recorded}
    names = [{session.id for session in sessions} for sessions in found]
    assert not guesses.intersection(*names)
    assert not set.intersection(*names)
    for sessions in found:
        known = {session.id: {turn.id for turn in session.turns} for session in sessions}
        links = [session.parent for session in sessions if session.parent is not None]
        assert links
        assert all(link.turn_id in known[link.session_id] for link in links)
        assert [len(session.turns) for session in sessions] == [len(session.turns) for session in recorded]


def test_it_is_stripped_once_and_for_all(sample: Path, tmp_path: Path) -> None:
    """An anonymized trace is a trace: stripping it again changes the numbers of blocks at most."""
    again = tmp_path / "again.jsonl"
    anonymize(sample, again)
    assert_replays_the_same(sample, again)


def test_what_is_not_text_stays() -> None:
    usage = Usage(input_tokens=30, cached_tokens=8, output_tokens=12, reasoning_tokens=4)
    times = Times(sent_s=10.0, first_token_s=10.5, end_s=12.0)
    session = conversation(say("user", "Where is it warm?"), say("assistant", CALL), say("tool", RESULT))
    turn = session.turns[0]
    rejected = Attempt(output=(TextBlock(text="No."),), verdict=Verdict.REJECTED, usage=usage, times=times)
    kept = msgspec.structs.replace(turn.final, accepted_per_round=(3, 1), finish_reason="max_tokens")
    turn = msgspec.structs.replace(
        turn,
        attempts=(rejected, kept),
        tool_waits=(ToolWait(name="look_up", duration_s=1.5, call_id="1"),),
        user_wait_s=4.0,
        max_tokens=99,
        model="big-model",
    )
    parent = msgspec.structs.replace(session, turns=(turn,), id="the parent", start_s=9.0)
    child = one_turn(TextBlock(text="Done."), parent=SpawnLink(session_id="the parent", turn_id="t0"), agent="scout")
    first, second = stripped(parent, msgspec.structs.replace(child, id="the child"))
    (found,) = first.turns
    assert [attempt.verdict for attempt in found.attempts] == [Verdict.REJECTED, Verdict.ACCEPTED]
    assert (found.attempts[0].usage, found.attempts[0].times) == (usage, times)
    assert (found.final.accepted_per_round, found.final.finish_reason) == ((3, 1), "length")
    assert found.tool_waits == (ToolWait(name="tool1", duration_s=1.5),)
    assert (found.user_wait_s, found.max_tokens, found.model) == (4.0, 99, "m1")
    assert (first.start_s, first.messages, first.tools) == (9.0, (), ())
    assert second.agent == "a1"
    assert second.parent == SpawnLink(session_id=first.id, turn_id=found.id)
    assert len({first.id, second.id, "the parent", "the child"}) == 4
    assert stripped(parent, keep_tool_names=True)[0].turns[0].tool_waits[0].name == "look_up"


def test_prompts_that_begin_alike_share_the_blocks_of_what_is_alike() -> None:
    long = "A text that both of them begin with, long enough for some blocks of tokens. " * 6
    sessions = [
        msgspec.structs.replace(conversation(say("user", long + end), say("assistant", "Yes.")), id=end)
        for end in ("one", "two")
    ]
    prompts = [session.turns[0].prompt for session in stripped(*sessions)]
    assert all(isinstance(prompt, LengthPrompt) for prompt in prompts)
    first, second = (prompt.block_ids for prompt in prompts if isinstance(prompt, LengthPrompt))
    alike = int(np.argmin([*(a == b for a, b in zip(first, second, strict=False)), False]))
    assert 4 < alike <= min(len(first), len(second))
    assert not set(first[alike:]) & set(second[alike:])


def test_the_blocks_of_a_trace_without_text_keep_their_width_and_sharing() -> None:
    def request(name: str, tokens: int, *ids: int) -> Session:
        prompt = LengthPrompt(tokens=tokens, block_tokens=512, block_ids=ids)
        turn = Turn(id="t", prompt=prompt, attempts=(Attempt(output=(OpaqueBlock(tokens=9),)),))
        return Session(id=name, turns=(turn,))

    text = one_turn(TextBlock(text="Yes."))
    found = stripped(request("x", 1000, 77, 12), request("y", 900, 77, 13), text)
    prompts = [session.turns[0].prompt for session in found if isinstance(session.turns[0].prompt, LengthPrompt)]
    assert [prompt.block_tokens for prompt in prompts] == [512, 512, 16]
    ids = [prompt.block_ids for prompt in prompts]
    assert ids[0][0] == ids[1][0]
    assert len({*ids[0], *ids[1]}) == 3
    assert not {*ids[0], *ids[1]} & {*ids[2], *found[2].turns[0].final.block_ids}
    # Tokens of no known class stay so.
    assert found[0].turns[0].final.output == (OpaqueBlock(tokens=9),)


def test_tokens_of_no_known_class_are_drawn_the_same(tmp_path: Path) -> None:
    source, target = tmp_path / "source.jsonl", tmp_path / "anonymized.jsonl"
    blocks = (OpaqueBlock(tokens=90, key="the plan"), OpaqueBlock(tokens=40))
    turns = [
        Turn(
            id=name,
            prompt=LengthPrompt(tokens=100, block_tokens=50, block_ids=(1, number)),
            attempts=(Attempt(output=blocks),),
        )
        for number, name in enumerate(("plan", "act"))
    ]
    write_trace([Session(id=f"talk {number}", turns=tuple(turns)) for number in range(6)], source, ReadLog())
    anonymize(source, target)
    assert_replays_the_same(source, target)
    assert b"plan" not in target.read_bytes()


def test_hidden_reasoning_keeps_its_length_and_class() -> None:
    session = one_turn(ReasoningBlock(tokens=40), CALL)
    (found,) = stripped(session)
    expected = session_tagger(ReadOptions()).tag(session).turns[0].final.labels
    blocks = [block for block in found.turns[0].final.output if isinstance(block, OpaqueBlock)]
    assert [block.tokens for block in blocks] == expected.lengths.tolist()
    assert session_tagger(ReadOptions()).tag(found).turns[0].final.labels.values.tolist() == expected.values.tolist()


def test_reasons_for_leaving_records_out_are_not_written(tmp_path: Path) -> None:
    source, target = tmp_path / "trace.jsonl", tmp_path / "out.jsonl"
    log = ReadLog()
    lines = [msgspec.json.encode(session) for session in read_sessions([str(AGENT_LOOP)], log)]
    header = {"simtool_trace": 1, "omitted": {"row of type secret-project": 2}, "assumptions": {"of secret-project": 1}}
    source.write_bytes(b"\n".join([json.dumps(header).encode(), *lines]))
    anonymize(source, target)
    assert b"secret" not in target.read_bytes()
