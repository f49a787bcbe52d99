from __future__ import annotations

import numpy as np
import pytest

from tests.tokenclass.sessions import CALL, RESULT, conversation, one_turn, say, text_of
from tokenclass.classes import PositionClass, SubClass
from tokenclass.layout import Layout
from tokenclass.mix import S_DETAIL, ClassMix, labels_of
from tokenclass.tagged import BlockPrompt, TaggedAttempt, TaggedSession
from tokenclass.tagger import Tagger, TagOptions, tag_session
from tokenclass.tokenizers import load_tokenizer
from traces.errors import SimtoolError
from traces.model import (
    Attempt,
    HiddenHead,
    LengthPrompt,
    MediaBlock,
    OpaqueBlock,
    ReasoningBlock,
    Session,
    TextBlock,
    Turn,
    Usage,
)

QWEN3 = load_tokenizer("qwen3")
HERMES = Layout.named("hermes")
SECRET = ReasoningBlock()
DONE = TextBlock(text="Done.")
MIX = ClassMix.parse("S=0.5,R=0.2,F=0.3", span_tokens=40, seed=7)


def _tag(session: Session, mix: ClassMix | None = None) -> TaggedSession:
    return tag_session(session, QWEN3, HERMES, TagOptions(class_mix=mix))


def _hidden_run(attempt: TaggedAttempt) -> int:
    assert attempt.ids is not None
    hidden = attempt.ids < 0
    assert (attempt.labels.expand()[hidden] == SubClass.R).all()
    return int(hidden.sum())


def test_reasoning_tokens_as_recorded() -> None:
    tagged = _tag(one_turn(SECRET, DONE, usage=Usage(output_tokens=90, reasoning_tokens=70)))
    attempt = tagged.turns[0].final
    assert text_of(attempt.ids) == "<think>\n" + "." * 70 + "\n</think>\n\nDone.<|im_end|>"
    assert attempt.hidden_reasoning_tokens == _hidden_run(attempt) == 70
    assert any("recorded reasoning tokens" in text for text in tagged.assumptions)


def test_reasoning_tokens_from_the_output_count() -> None:
    """What is rendered around the hidden text counts as visible, so the whole output has the recorded length."""
    attempt = _tag(one_turn(SECRET, DONE, usage=Usage(output_tokens=90))).turns[0].final
    assert attempt.labels.n_tokens == 90
    assert _hidden_run(attempt) == attempt.hidden_reasoning_tokens > 70


@pytest.mark.parametrize("usage", [None, Usage(output_tokens=1), Usage(reasoning_tokens=0)])
def test_hidden_reasoning_is_never_negative(usage: Usage | None) -> None:
    attempt = _tag(one_turn(SECRET, DONE, usage=usage)).turns[0].final
    assert attempt.hidden_reasoning_tokens == 0


def test_several_hidden_blocks_share_what_is_left() -> None:
    output = (ReasoningBlock(tokens=10), SECRET, CALL, SECRET, DONE)
    attempt = _tag(one_turn(*output, usage=Usage(reasoning_tokens=31))).turns[0].final
    assert attempt.hidden_reasoning_tokens == 31
    ids = attempt.ids[attempt.ids < 0].tolist()
    assert [ids.count(value) for value in dict.fromkeys(ids)] == [10, 11, 10]


def test_reasoning_that_only_the_usage_tells_of() -> None:
    tagged = _tag(one_turn(DONE, usage=Usage(output_tokens=90, reasoning_tokens=70)))
    assert text_of(tagged.turns[0].final.ids).startswith("<think>\n" + "." * 70)
    assert any("only the usage" in text for text in tagged.assumptions)


def test_visible_reasoning_is_not_counted_twice() -> None:
    usage = Usage(output_tokens=90, reasoning_tokens=70)
    attempt = _tag(one_turn(ReasoningBlock(text="Hm."), DONE, usage=usage)).turns[0].final
    assert attempt.hidden_reasoning_tokens == 0


def test_hidden_reasoning_continues_within_a_tool_loop() -> None:
    messages = (say("user", "a"), say("assistant", SECRET, CALL), say("tool", RESULT), say("assistant", SECRET, DONE))
    tagged = _tag(conversation(*messages, usage=Usage(reasoning_tokens=30)))
    first, second = tagged.turns
    expected = np.concatenate((tagged.prompt_ids(first), first.final.ids))
    assert tagged.prompt_ids(second)[: expected.size].tolist() == expected.tolist()
    assert second.prompt.segments.tolist()[: len(first.final.segments) + 2][-1] == first.final.segments[-1]
    own = [set(turn.final.ids[turn.final.ids < 0].tolist()) for turn in tagged.turns]
    assert not own[0] & own[1]


def test_labelled_tokens_without_text() -> None:
    output = (OpaqueBlock(tokens=5, label="R"), OpaqueBlock(tokens=4, label="K"), OpaqueBlock(tokens=600, label="S"))
    attempt = _tag(one_turn(*output)).turns[0].final
    assert attempt.opaque_tokens == attempt.labels.n_tokens == 609
    assert attempt.labels.expand()[:9].tolist() == [SubClass.R] * 5 + [SubClass.K] * 4
    assert attempt.labels.class_tokens()[PositionClass.S] == 604
    with pytest.raises(SimtoolError, match="'Q'"):
        _tag(one_turn(OpaqueBlock(tokens=5, label="Q")))


def test_tokens_without_text_or_label_need_a_mix() -> None:
    session = one_turn(OpaqueBlock(tokens=5000))
    with pytest.raises(SimtoolError, match=r"turn t0: 5000 output tokens .* --class-mix"):
        _tag(session)
    attempt = _tag(session, MIX).turns[0].final
    assert attempt.labels.n_tokens == attempt.opaque_tokens == 5000


def test_mix_has_its_shares_and_spans() -> None:
    tokens = 400_000
    labels = MIX.draw(tokens, "a")
    shares = labels_shares(labels)
    assert shares == pytest.approx([0.5, 0.2, 0.3], abs=0.02)
    detail = np.bincount(labels, minlength=8)[:6] / (tokens * shares[0])
    assert detail == pytest.approx([S_DETAIL[SubClass(value)] for value in range(6)], abs=0.01)
    reasoning = (labels == SubClass.R).astype(np.int8)
    spans = int((np.diff(reasoning, prepend=0) == 1).sum())
    merged_mean = 40 / (1 - 0.2)
    assert reasoning.sum() / spans == pytest.approx(merged_mean, rel=0.06)


def labels_shares(labels: np.ndarray) -> list[float]:
    """Shares of S, R and F."""
    counts = np.bincount(labels, minlength=8)
    return [counts[:6].sum() / labels.size, counts[6] / labels.size, counts[7] / labels.size]


def test_mix_depends_on_seed_and_place_only() -> None:
    assert MIX.draw(300, "a").tolist() == MIX.draw(300, "a").tolist()
    assert MIX.draw(300, "a").tolist() != MIX.draw(300, "b").tolist()
    other = ClassMix(shares=MIX.shares, span_tokens=40, seed=8)
    assert MIX.draw(300, "a").tolist() != other.draw(300, "a").tolist()
    assert MIX.draw(0, "a").size == 0
    assert set(labels_of("S", 50, "a").tolist()) <= set(range(6))


@pytest.mark.parametrize("text", ["S=0.5", "S=2,R=-1", "X=1", "S", "S=a", ""])
def test_bad_mixes_are_refused(text: str) -> None:
    with pytest.raises(SimtoolError, match="--class-mix"):
        ClassMix.parse(text)


def test_prompt_known_by_length() -> None:
    prompts = [LengthPrompt(tokens=1200, block_tokens=512, block_ids=ids) for ids in ((1, 2, 3), (1, 2, "x"))]
    turns = tuple(
        Turn(id=str(at), prompt=prompt, attempts=(Attempt(output=(OpaqueBlock(tokens=8, label="F"),)),))
        for at, prompt in enumerate(prompts)
    )
    tagged = _tag(Session(id="s", turns=turns))
    first, second = (turn.prompt for turn in tagged.turns)
    assert isinstance(first, BlockPrompt)
    assert isinstance(second, BlockPrompt)
    assert (first.tokens, first.block_tokens) == (1200, 512)
    assert (first.block_keys == second.block_keys).tolist() == [True, True, False]
    attempt = tagged.turns[0].final
    assert attempt.ids is attempt.segments is tagged.prompt_ids(tagged.turns[0]) is None
    assert attempt.labels.n_tokens == 8


def test_head_that_the_recording_omits() -> None:
    derived = one_turn(DONE, usage=Usage(input_tokens=3000), head=HiddenHead(key="h"))
    tagger = Tagger(QWEN3, HERMES)
    tagger.tag(one_turn(DONE, head=HiddenHead(key="h")))
    tagged = tagger.tag(derived)
    assert tagged.turns[0].prompt.tokens == 3000
    assert any("hidden prompt head" in text for text in tagged.assumptions)
    later = tagger.tag(one_turn(DONE, usage=Usage(input_tokens=9000), head=HiddenHead(key="h")))
    assert later.prompt_keys(later.turns[0])[0][0] == tagged.prompt_keys(tagged.turns[0])[0][0]
    assert later.turns[0].prompt.tokens == 3000
    known = _tag(one_turn(DONE, head=HiddenHead(key="h", tokens=500)))
    visible = _tag(one_turn(DONE)).turns[0].prompt.tokens
    assert known.turns[0].prompt.tokens == 500 + visible
    unknown = _tag(one_turn(DONE, head=HiddenHead(key="h")))
    assert unknown.turns[0].prompt.tokens == visible


def test_parts_of_prompts_without_text() -> None:
    picture = MediaBlock(media_type="image", key="k", tokens=64)
    twice = conversation(say("user", picture, "a"), say("assistant", "b"), say("user", picture), say("assistant", "c"))
    tagged = _tag(twice)
    ids = tagged.prompt_ids(tagged.turns[1])
    hidden = ids[ids < 0]
    assert hidden.size == 128
    assert len(set(hidden.tolist())) == 1
    unknown = conversation(say("user", OpaqueBlock(tokens=3), OpaqueBlock(tokens=3)), say("assistant", "b"))
    other = _tag(unknown)
    assert len(set(other.segments.keys.tolist())) == other.segments.keys.size
    assert (other.prompt_ids(other.turns[0]) < 0).sum() == 6


def test_media_without_a_count_is_noted() -> None:
    picture = MediaBlock(media_type="image", key="k")
    tagged = _tag(conversation(say("user", picture), say("assistant", "b")))
    assert any("media without a token count" in text for text in tagged.assumptions)
