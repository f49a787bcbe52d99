from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tokenclass.sessions import CALL, RESULT, THOUGHT, TOOLS, conversation, one_turn, say, text_of
from tests.tokenclass.strategies import texts
from tokenclass.classes import CLASS_OF_SUBCLASS, SubClass
from tokenclass.layout import Layout
from tokenclass.outputs import label_tokens
from tokenclass.pieces import Piece
from tokenclass.segments import encode_pieces
from tokenclass.tagged import LabelRuns, TaggedSession
from tokenclass.tagger import Tagger, TagOptions, tag_session, tag_sessions
from tokenclass.tokenizers import Encoded, load_tokenizer
from traces.errors import SimtoolError
from traces.model import (
    Attempt,
    Message,
    MessagePrompt,
    RawBlock,
    Session,
    TextBlock,
    ToolCallBlock,
    ToolWait,
    Turn,
    Verdict,
)

QWEN3 = load_tokenizer("qwen3")
HERMES = Layout.named("hermes")
LOOP = (
    say("system", "Be brief."),
    say("user", "Weather in Ulm?"),
    say("assistant", THOUGHT, TextBlock(text="One moment."), CALL),
    say("tool", RESULT),
    say("assistant", THOUGHT, TextBlock(text="It is 12 degrees.")),
    say("user", "Thanks."),
    say("assistant", TextBlock(text="Bye.")),
)


def _tag(session: Session, layout: Layout = HERMES, options: TagOptions | None = None) -> TaggedSession:
    return tag_session(session, QWEN3, layout, options)


def test_labels_of_one_output() -> None:
    attempt = _tag(one_turn(TextBlock(text="Looking."), CALL)).turns[0].final
    assert text_of(attempt.ids) == (
        'Looking.\n<tool_call>\n{"name": "look_up", "arguments": {"city": "Ulm"}}\n</tool_call><|im_end|>'
    )
    tokens = [QWEN3.token_bytes(token).decode() for token in attempt.ids.tolist()]
    labels = [SubClass(value) for value in attempt.labels.expand()]
    found = dict(zip(tokens, labels, strict=True))
    assert found["Looking"] is found[".\n"] is SubClass.F
    assert found["<tool_call>"] is found["</tool_call>"] is found["<|im_end|>"] is SubClass.D
    assert found["city"] is SubClass.K
    assert found["_up"] is SubClass.N
    assert [token for token, label in zip(tokens, labels, strict=True) if label is SubClass.T] == ["U", "lm"]


label_arrays = st.lists(st.integers(0, 7), max_size=60).map(lambda values: np.array(values, np.uint8))


@given(labels=label_arrays)
def test_runs_hold_the_labels(labels: np.ndarray) -> None:
    runs = LabelRuns.of(labels)
    assert runs.expand().tolist() == labels.tolist()
    assert (runs.lengths > 0).all()
    assert all(a != b for a, b in pairwise(runs.values.tolist()))
    assert runs.subclass_tokens().tolist() == [int((labels == sub).sum()) for sub in SubClass]
    classes = [CLASS_OF_SUBCLASS[label] for label in labels]
    assert runs.expand_classes().tolist() == classes
    assert runs.class_tokens().tolist() == [classes.count(cls) for cls in range(3)]


pieces = st.lists(st.builds(Piece, texts.filter(bool), st.sampled_from(SubClass)), min_size=1, max_size=6)


@settings(max_examples=150, deadline=None)
@given(pieces=pieces)
def test_a_token_has_the_class_of_its_first_byte(pieces: list[Piece]) -> None:
    """Against a label for every byte, looked up one token at a time."""
    encoded = encode_pieces(QWEN3, pieces)
    labels, straddling = label_tokens(encoded, pieces)
    of_byte = [piece.label for piece in pieces for _ in piece.text.encode("utf-8", "surrogatepass")]
    spans = list(zip(encoded.starts.tolist(), encoded.ends.tolist(), strict=True))
    assert labels.expand().tolist() == [of_byte[min(start, len(of_byte) - 1)] for start, _ in spans]
    crossed = [len({CLASS_OF_SUBCLASS[label] for label in of_byte[start:end]}) > 1 for start, end in spans]
    assert straddling == sum(crossed)


def test_a_token_over_a_border_is_counted_once() -> None:
    encoded = Encoded(np.array([1, 2, 3], np.int32), np.array([2, 5, 6]))
    labels, straddling = label_tokens(encoded, [Piece("abc", SubClass.F), Piece("def", SubClass.D)])
    assert labels.expand().tolist() == [SubClass.F, SubClass.F, SubClass.D]
    assert straddling == 1


def test_a_border_between_sub_classes_is_no_straddling() -> None:
    encoded = Encoded(np.array([1], np.int32), np.array([6]))
    assert label_tokens(encoded, [Piece("abc", SubClass.K), Piece("def", SubClass.P)])[1] == 0


def test_prompt_is_laid_out_as_the_template_does() -> None:
    tagged = _tag(conversation(*LOOP, tools=TOOLS))
    assert text_of(tagged.prompt_ids(tagged.turns[1])) == (
        "<|im_start|>system\nBe brief.\n\n# Tools\n\nYou may call one or more functions to assist with the user "
        "query.\n\nYou are provided with function signatures within <tools></tools> XML tags:\n<tools>\n"
        '{"type": "function", "function": {"name": "look_up", "description": "Weather", "parameters": '
        '{"type": "object", "properties": {}}}}\n</tools>\n\nFor each function call, return a json object with '
        "function name and arguments within <tool_call></tool_call> XML tags:\n<tool_call>\n"
        '{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call><|im_end|>\n'
        "<|im_start|>user\nWeather in Ulm?<|im_end|>\n"
        "<|im_start|>assistant\n<think>\nI should look it up.\n</think>\n\nOne moment.\n"
        '<tool_call>\n{"name": "look_up", "arguments": {"city": "Ulm"}}\n</tool_call><|im_end|>\n'
        "<|im_start|>user\n<tool_response>\n12 degrees\n</tool_response><|im_end|>\n<|im_start|>assistant\n"
    )


def test_reasoning_before_the_last_user_message_is_dropped() -> None:
    tagged = _tag(conversation(*LOOP))
    assert text_of(tagged.prompt_ids(tagged.turns[2])) == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nWeather in Ulm?<|im_end|>\n"
        "<|im_start|>assistant\nOne moment.\n<tool_call>\n"
        '{"name": "look_up", "arguments": {"city": "Ulm"}}\n</tool_call><|im_end|>\n'
        "<|im_start|>user\n<tool_response>\n12 degrees\n</tool_response><|im_end|>\n"
        "<|im_start|>assistant\nIt is 12 degrees.<|im_end|>\n<|im_start|>user\nThanks.<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def test_results_side_by_side_share_one_user_turn() -> None:
    blocks = (RESULT, RESULT, TextBlock(text="And now?"))
    as_one = conversation(say("user", "a"), say("assistant", CALL), say("user", *blocks), say("assistant", "b"))
    apart = conversation(
        say("user", "a"),
        say("assistant", CALL),
        say("tool", RESULT),
        say("tool", RESULT),
        say("user", "And now?"),
        say("assistant", "b"),
    )
    one, two = _tag(as_one), _tag(apart)
    result = "\n<tool_response>\n12 degrees\n</tool_response>"
    text = text_of(one.prompt_ids(one.turns[1]))
    assert text == text_of(two.prompt_ids(two.turns[1]))
    assert f"<|im_start|>user{result}{result}<|im_end|>\n<|im_start|>user\nAnd now?<|im_end|>" in text


def _continues(tagged: TaggedSession, at: int) -> bool:
    """Whether the prompt after turn *at* begins with that turn's prompt and output, segment for segment."""
    before, after = tagged.turns[at], tagged.turns[at + 1]
    expected = [*before.prompt.segments.tolist(), *before.final.segments]
    same = after.prompt.segments.tolist()[: len(expected)] == expected
    tokens = np.concatenate((tagged.prompt_ids(before), before.final.ids))
    assert same == np.array_equal(tagged.prompt_ids(after)[: tokens.size], tokens)
    return same


@pytest.mark.parametrize("tail", ["", "<think>\n"])
def test_prompts_continue_through_outputs_that_they_repeat(tail: str) -> None:
    tagged = _tag(conversation(*LOOP), Layout.named("hermes", tail))
    assert _continues(tagged, 0)
    assert not _continues(tagged, 1)


def test_an_empty_think_block_in_the_tail_breaks_the_prefix() -> None:
    tagged = _tag(conversation(*LOOP), Layout.named("hermes", "<think>\n\n</think>\n\n"))
    assert not _continues(tagged, 0)


POOL = (*LOOP, say("user", RESULT, "And?"), say("system", "New rules."), say("user", "x"), say("tool", RESULT))
ranges = st.lists(st.tuples(st.integers(0, len(POOL)), st.integers(0, 5)), max_size=3).map(
    lambda spans: tuple((start, min(start + length, len(POOL))) for start, length in spans)
)


@settings(max_examples=150, deadline=None)
@given(prompts=st.lists(ranges, min_size=2, max_size=4), extended=st.integers(0, 4))
def test_a_prompt_does_not_depend_on_the_ones_before(prompts: list[tuple[tuple[int, int], ...]], extended: int) -> None:
    """Each prompt of a session is what it is when it stands alone."""
    if prompts[-1]:
        *rest, (start, end) = prompts[-1]
        prompts.append((*rest, (start, min(end + extended, len(POOL)))))
    attempts = (Attempt(output=(TextBlock(text="a"),)),)
    turns = tuple(
        Turn(id=str(at), prompt=MessagePrompt(ranges=prompt), attempts=attempts) for at, prompt in enumerate(prompts)
    )
    together = _tag(Session(id="s", turns=turns, messages=POOL, tools=TOOLS))
    for turn, tagged in zip(turns, together.turns, strict=True):
        alone = _tag(Session(id="s", turns=(turn,), messages=POOL, tools=TOOLS))
        keys, tokens = alone.prompt_keys(alone.turns[0])
        assert together.prompt_keys(tagged)[0].tolist() == keys.tolist()
        assert tagged.prompt.tokens == tokens.sum()


plain_words = st.text("ab \n<é漢🏳️‍🌈", min_size=1, max_size=12).map(lambda text: "x" + text)


@settings(max_examples=40, deadline=None)
@given(said=st.lists(st.tuples(plain_words, plain_words), min_size=2, max_size=4))
def test_prose_always_continues(said: list[tuple[str, str]]) -> None:
    messages = [message for a, b in said for message in (say("user", a), say("assistant", b))]
    tagged = _tag(conversation(*messages))
    assert all(_continues(tagged, at) for at in range(len(said) - 1))


def test_segments_are_stored_once_and_known_across_sessions() -> None:
    tagger = Tagger(QWEN3, HERMES)
    first, second = tagger.tag(conversation(*LOOP)), tagger.tag(conversation(*LOOP[:2], say("assistant", "Hm.")))
    keys, tokens = first.prompt_keys(first.turns[0])
    others, _ = second.prompt_keys(second.turns[0])
    assert keys.tolist() == others.tolist()
    assert len(set(first.segments.keys.tolist())) == len(first.segments.keys)
    assert tokens.sum() == first.turns[0].prompt.tokens == first.prompt_ids(first.turns[0]).size
    assert first.segments.tokens.tolist() == [ids.size for ids in first.segments.ids]


def test_equal_ids_have_equal_keys_only() -> None:
    table = _tag(conversation(*LOOP)).segments
    contents = [tuple(ids.tolist()) for ids in table.ids]
    assert len(set(contents)) == len(contents)


def test_one_session_gives_the_same_bytes_alone_and_after_others() -> None:
    tagger = Tagger(QWEN3, HERMES)
    sessions = [conversation(*LOOP), one_turn(CALL), conversation(*LOOP)]
    together = [pickle.dumps(tagged) for tagged in tag_sessions(sessions, QWEN3, HERMES)]
    assert together[0] == together[2] == pickle.dumps(tagger.tag(sessions[0]))


def test_no_text_is_kept() -> None:
    tagged = _tag(conversation(*LOOP, tools=TOOLS))
    kept = pickle.dumps(tagged)
    assert not [word for word in (b"Ulm", b"degrees", b"Weather", b"look_up") if word in kept]


def test_quoted_markup_is_ordinary_text() -> None:
    attempt = _tag(one_turn(TextBlock(text="Write <tool_call> here."))).turns[0].final
    assert QWEN3.special_tokens["<tool_call>"] not in attempt.ids
    assert set(attempt.labels.values.tolist()) == {SubClass.F}


def test_every_attempt_is_tagged_and_the_rest_carried_over() -> None:
    rejected = Attempt(output=(TextBlock(text="No."),), verdict=Verdict.REJECTED)
    session = one_turn(TextBlock(text="Yes."), start_s=5.0, agent="helper")
    wait = ToolWait(name="look_up", duration_s=2.0)
    turn = session.turns[0]
    turns = (
        Turn(id="a", prompt=turn.prompt, attempts=(rejected, turn.final), tool_waits=(wait,), max_tokens=9),
        Turn(id="b", prompt=turn.prompt, attempts=turn.attempts, parent="a", user_wait_s=3.0),
    )
    tagged = _tag(Session(id="s", turns=turns, messages=session.messages, start_s=5.0, agent="helper"))
    first, second = tagged.turns
    assert [attempt.verdict for attempt in first.attempts] == [Verdict.REJECTED, Verdict.ACCEPTED]
    assert [text_of(attempt.ids) for attempt in first.attempts] == ["No.<|im_end|>", "Yes.<|im_end|>"]
    assert (first.parent, second.parent) == (None, 0)
    assert (first.tool_waits, first.max_tokens, second.user_wait_s) == ((wait,), 9, 3.0)
    assert (tagged.start_s, tagged.agent) == (5.0, "helper")


def test_a_cut_output_has_no_end_of_turn() -> None:
    session = one_turn(TextBlock(text="And then"))
    turn = session.turns[0]
    cut = Attempt(output=turn.final.output, finish_reason="length")
    tagged = _tag(
        Session(id="s", turns=(Turn(id="t", prompt=turn.prompt, attempts=(cut,)),), messages=session.messages)
    )
    assert text_of(tagged.turns[0].final.ids) == "And then"


def test_completion_text_is_labelled_as_its_blocks_are() -> None:
    blocks = (THOUGHT, TextBlock(text="One moment."), CALL)
    from_blocks = _tag(one_turn(*blocks)).turns[0].final
    raw = RawBlock(text=text_of(from_blocks.ids))
    from_text = _tag(one_turn(raw), options=TagOptions(raw_family="hermes")).turns[0].final
    assert from_text.ids.tolist() == from_blocks.ids.tolist()
    assert from_text.labels.expand().tolist() == from_blocks.labels.expand().tolist()


def test_completion_text_in_later_prompts_continues() -> None:
    thinking = RawBlock(
        text='<think>\nHm.\n</think>\n\nSee.\n<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'
    )
    messages = (
        say("user", "a"),
        say("assistant", thinking),
        say("tool", RESULT),
        say("assistant", "b"),
        say("user", "c"),
    )
    options = TagOptions(raw_family="hermes")
    tagged = _tag(conversation(*messages, say("assistant", "d")), options=options)
    assert _continues(tagged, 0)
    assert "Hm." not in text_of(tagged.prompt_ids(tagged.turns[2]))


def _recorded_one_by_one(text: str) -> RawBlock:
    """The text as a model might sample it: not in the tokens that encoding the text gives."""
    ids = [token for char in text for token in QWEN3.encode(char).ids.tolist()]
    return RawBlock(text=text, token_ids=tuple(ids))


def test_recorded_token_ids_are_kept() -> None:
    raw = _recorded_one_by_one("It is warm.")
    attempt = _tag(one_turn(raw), options=TagOptions(raw_family="hermes")).turns[0].final
    assert tuple(attempt.ids[:-1].tolist()) == raw.token_ids
    assert text_of(attempt.ids) == "It is warm.<|im_end|>"
    assert attempt.labels.n_tokens == attempt.ids.size


def test_token_ids_of_another_vocabulary_are_not() -> None:
    raw = RawBlock(text="It is warm.", token_ids=(1, 2, 3))
    attempt = _tag(one_turn(raw), options=TagOptions(raw_family="hermes")).turns[0].final
    assert attempt.ids[:-1].tolist() == QWEN3.encode("It is warm.").ids.tolist()


def test_token_ids_without_text_need_their_vocabulary() -> None:
    ids = load_tokenizer("qwen3.5").encode("<think>\nHm.\n</think>\n\nYes.").ids.tolist()
    session = conversation(
        say("user", "a"),
        say("assistant", RawBlock(text="", token_ids=tuple(ids))),
        say("user", "b"),
        say("assistant", "c"),
    )
    with pytest.raises(SimtoolError, match="--recording-tokenizer"):
        _tag(session, options=TagOptions(raw_family="hermes"))
    options = TagOptions(raw_family="hermes", recording_tokenizer=load_tokenizer("qwen3.5"))
    tagged = _tag(session, options=options)
    assert text_of(tagged.turns[0].final.ids) == "<think>\nHm.\n</think>\n\nYes.<|im_end|>"
    assert "<|im_start|>assistant\nYes.<|im_end|>" in text_of(tagged.prompt_ids(tagged.turns[1]))
    bad = one_turn(RawBlock(text="", token_ids=(999_999,)))
    with pytest.raises(SimtoolError, match="999999 is not in the vocabulary"):
        _tag(bad, options=options)


def test_assumptions_are_counted() -> None:
    tagged = _tag(conversation(*LOOP), Layout.named("mistral"))
    assert tagged.assumptions == {
        "output rendered for the target in mistral format": 3,
        "markup of mistral that is no single token of qwen3, hence spelled out: [TOOL_CALLS] [ARGS] </s>": 1,
    }


def test_parent_that_is_no_turn() -> None:
    session = one_turn(CALL)
    turn = Turn(id="t", prompt=session.turns[0].prompt, attempts=session.turns[0].attempts, parent="x")
    with pytest.raises(SimtoolError, match="turn t waits for 'x'"):
        _tag(Session(id="s", turns=(turn,), messages=session.messages))


def test_prompt_of_messages_that_are_not_there() -> None:
    with pytest.raises(SimtoolError, match="turn t0 names messages"):
        _tag(Session(id="s", turns=one_turn(CALL).turns))


def test_completion_text_needs_a_known_format() -> None:
    with pytest.raises(SimtoolError, match="--output-format"):
        _tag(one_turn(RawBlock(text="a")))
    with pytest.raises(SimtoolError, match="--output-format"):
        Tagger(QWEN3, HERMES, TagOptions(raw_family="no such format"))


def test_an_empty_output_is_its_end_of_turn() -> None:
    attempt = _tag(one_turn()).turns[0].final
    assert text_of(attempt.ids) == "<|im_end|>"
    assert attempt.labels.values.tolist() == [SubClass.F]


def test_a_prompt_of_no_messages_is_its_header() -> None:
    tagged = _tag(Session(id="s", turns=one_turn(CALL).turns[:1], messages=(Message(role="user", blocks=()),)))
    assert text_of(tagged.prompt_ids(tagged.turns[0])) == "<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\n"


def test_arguments_that_are_not_json_are_free_text() -> None:
    attempt = _tag(one_turn(ToolCallBlock(name="look_up", arguments='{"city": "Ul'))).turns[0].final
    assert '{"city": "Ul' in text_of(attempt.ids)
    assert attempt.labels.subclass_tokens()[SubClass.T] == len(QWEN3.encode(' {"city": "Ul')) - 1
