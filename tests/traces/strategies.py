"""Strategies of canonical sessions that satisfy every rule of the form."""

from __future__ import annotations

from hypothesis import strategies as st

from traces.model import (
    Attempt,
    Block,
    HiddenHead,
    LengthPrompt,
    MediaBlock,
    Message,
    MessagePrompt,
    OpaqueBlock,
    Prompt,
    RawBlock,
    ReasoningBlock,
    Session,
    SpawnLink,
    TextBlock,
    Times,
    ToolCallBlock,
    ToolResultBlock,
    ToolSpec,
    ToolWait,
    Turn,
    Usage,
    Verdict,
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_COUNTS = st.integers(0, 1 << 40)
_SECONDS = st.floats(0, 1e12, allow_nan=False)


def _maybe(strategy: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.none() | strategy


_MADE: st.SearchStrategy[Block] = st.one_of(
    st.builds(TextBlock, text=TEXTS),
    st.builds(ReasoningBlock, text=_maybe(TEXTS), tokens=_maybe(_COUNTS)),
    st.builds(ToolCallBlock, name=TEXTS, arguments=TEXTS, call_id=_maybe(TEXTS), free_form=st.booleans()),
    st.builds(RawBlock, text=TEXTS, token_ids=_maybe(st.tuples(_COUNTS, _COUNTS))),
    st.builds(OpaqueBlock, tokens=_COUNTS, label=st.sampled_from([None, "S", "R", "F"]), key=_maybe(TEXTS)),
)
_TOLD: st.SearchStrategy[Block] = st.one_of(
    _MADE,
    st.builds(ToolResultBlock, text=TEXTS, call_id=_maybe(TEXTS), is_error=st.booleans()),
    st.builds(MediaBlock, media_type=TEXTS, key=TEXTS, tokens=_maybe(_COUNTS)),
)
_MESSAGES = st.builds(
    Message,
    role=st.sampled_from(["system", "user", "assistant", "tool"]),
    blocks=st.lists(_TOLD, max_size=3).map(tuple),
    name=_maybe(TEXTS),
)


@st.composite
def usages(draw: st.DrawFn) -> Usage:
    """Usage that keeps its identity."""
    cached, written, fresh, reasoning, rest = draw(st.tuples(*[st.integers(0, 10**6)] * 5))
    full = Usage(
        input_tokens=cached + written + fresh,
        cached_tokens=cached,
        cache_write_tokens=written,
        output_tokens=reasoning + rest,
        reasoning_tokens=reasoning,
    )
    return draw(st.sampled_from([full, Usage(output_tokens=rest), Usage()]))


@st.composite
def _times(draw: st.DrawFn) -> Times:
    sent, first, end = sorted(draw(st.tuples(_SECONDS, _SECONDS, _SECONDS)))
    return draw(st.sampled_from([Times(sent_s=sent, first_token_s=first, end_s=end), Times(end_s=end), Times()]))


_ATTEMPTS = st.builds(
    Attempt,
    output=st.lists(_MADE, max_size=4).map(tuple),
    usage=_maybe(usages()),
    times=_maybe(_times()),
    verdict=st.sampled_from(Verdict),
    finish_reason=_maybe(TEXTS),
    accepted_per_round=_maybe(st.tuples(_COUNTS)),
)


@st.composite
def _prompts(draw: st.DrawFn, messages: int) -> Prompt:
    if messages and draw(st.booleans()):
        end = draw(st.integers(1, messages))
        return MessagePrompt(ranges=((draw(st.integers(0, end - 1)), end),))
    size, ids = draw(st.sampled_from([16, 512])), draw(st.lists(st.integers(0, (1 << 64) - 1) | TEXTS, max_size=3))
    if not ids:
        return LengthPrompt(tokens=draw(_COUNTS))
    return LengthPrompt(tokens=len(ids) * size, block_tokens=size, block_ids=tuple(ids))


@st.composite
def sessions(draw: st.DrawFn, name: str = "s") -> Session:
    """A sound session."""
    messages = draw(st.lists(_MESSAGES, max_size=4))
    turns: list[Turn] = []
    for number in range(draw(st.integers(1, 3))):
        parent = draw(st.sampled_from([None, *(turn.id for turn in turns)]))
        waits = st.builds(ToolWait, name=TEXTS, duration_s=_maybe(_SECONDS), call_id=_maybe(TEXTS))
        turn = Turn(
            id=f"t{number}",
            prompt=draw(_prompts(len(messages))),
            attempts=tuple(draw(st.lists(_ATTEMPTS, min_size=1, max_size=2))),
            parent=parent,
            tool_waits=tuple(draw(st.lists(waits, max_size=2))),
            user_wait_s=draw(_maybe(_SECONDS)),
            model=draw(_maybe(TEXTS)),
            max_tokens=draw(_maybe(_COUNTS)),
        )
        turns.append(turn)
    tool = st.builds(ToolSpec, name=TEXTS, description=TEXTS, parameters=st.just({"type": "object", "x": [1.5, None]}))
    return Session(
        id=name,
        turns=tuple(turns),
        messages=tuple(messages),
        tools=tuple(draw(st.lists(tool, max_size=2))),
        head=draw(_maybe(st.builds(HiddenHead, key=TEXTS, tokens=_maybe(_COUNTS)))),
        parent=draw(_maybe(st.builds(SpawnLink, session_id=TEXTS, turn_id=_maybe(TEXTS)))),
        agent=draw(_maybe(TEXTS)),
        start_s=draw(_maybe(_SECONDS)),
    )
