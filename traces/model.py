"""The canonical trace: Trace > Session > Turn > Attempt.

A session holds each distinct message once; a turn's prompt names ranges of that list, so a long agent loop
costs memory in proportion to what was said, not to the sum of its prompts. Times are seconds on one clock
(Unix time where the recording has it); token counts are the recording's own, in its own tokenizer.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

import msgspec

from traces.idrun import IdRun

SCHEMA_VERSION = 1
"""Version of the canonical form; raised when a reader of the older one would misread the newer."""


class _Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """Base of the canonical records: immutable, by keyword, strict about unknown fields."""


class TextBlock(_Record, frozen=True, tag="text"):
    """Prose, or a prompt message's text."""

    text: str


class ReasoningBlock(_Record, frozen=True, tag="reasoning"):
    """Extended reasoning."""

    text: str | None = None
    """None: the recording hides the text (only its tokens count)."""
    tokens: int | None = None
    """Tokens of a hidden text as the recording reports them; None: derive them from the usage."""


class ToolCallBlock(_Record, frozen=True, tag="tool_call"):
    """A tool call as an API reports it."""

    name: str
    arguments: str = ""
    """The argument text as recorded: JSON for function tools, raw text for free-form tools."""
    call_id: str | None = None
    free_form: bool = False
    """True: *arguments* is raw text by the tool's own definition, not JSON."""


class RawBlock(_Record, frozen=True, tag="raw"):
    """Completion text as the model emitted it, tags and special tokens included, not yet parsed."""

    text: str
    token_ids: tuple[int, ...] | None = None
    """Recorded ids of the text in the recording model's vocabulary."""


class ToolResultBlock(_Record, frozen=True, tag="tool_result"):
    """What a tool returned; stands in prompts only."""

    text: str
    call_id: str | None = None
    is_error: bool = False


class MediaBlock(_Record, frozen=True, tag="media"):
    """An image, file or audio part: its identity and size, never its bytes."""

    media_type: str
    key: str
    """Equal keys mean equal content."""
    tokens: int | None = None


class OpaqueBlock(_Record, frozen=True, tag="opaque"):
    """Tokens whose text is not in the trace."""

    tokens: int
    label: str | None = None
    """Sub-class letter (D N K V T P R F), position class (S R F), or None when unknown."""
    key: str | None = None
    """Identity of the hidden content: equal keys mean equal tokens. None: unique, or known by block ids."""
    block_tokens: int | None = None
    """Tokens a block id stands for."""
    block_ids: tuple[int | str, ...] = ()
    """Identity of each *block_tokens* of the tokens, in place of a key; the last block may be partial, and is equal to
    one of the same size only."""


Block = TextBlock | ReasoningBlock | ToolCallBlock | RawBlock | ToolResultBlock | MediaBlock | OpaqueBlock


class Message(_Record, frozen=True):
    """One prompt message. *role*: system, developer, user, assistant or tool."""

    role: str
    blocks: tuple[Block, ...]
    name: str | None = None


class ToolSpec(_Record, frozen=True):
    """A tool that the model could call; *parameters* is JSON Schema."""

    name: str
    description: str = ""
    parameters: dict[str, object] = {}


class MessagePrompt(_Record, frozen=True, tag="messages"):
    """A prompt as messages: half-open ranges into Session.messages, in order."""

    ranges: tuple[tuple[int, int], ...]


class LengthPrompt(_Record, frozen=True, tag="length"):
    """A prompt as a length with an identity of its prefix, for traces without text."""

    tokens: int
    block_tokens: int | None = None
    """Tokens a block id stands for; None with no ids: nothing is known to be shared."""
    block_ids: tuple[int | str, ...] | IdRun = ()
    """Identity of each block of *block_tokens*; equal leading ids mean equal leading tokens, the last block
    may be partial. Ids that count up by one may be given as their first and their number."""


Prompt = MessagePrompt | LengthPrompt

SOLVED = 1 - 1e-6
"""Least reward of a solved task: 1, whatever rounding left of it."""


class Usage(_Record, frozen=True):
    """Token counts of one model call, reconciled to one meaning whatever the recording's own.

    Identity: ``input_tokens`` includes ``cached_tokens`` and ``cache_write_tokens``;
    ``output_tokens`` includes ``reasoning_tokens``. None: not recorded.
    """

    input_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None


class Times(_Record, frozen=True):
    """Clock times of one model call in seconds; None: not recorded."""

    sent_s: float | None = None
    first_token_s: float | None = None
    end_s: float | None = None


class Verdict(StrEnum):
    """What became of an attempt."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"


class TokenLogprob(_Record, frozen=True):
    """Natural logarithms of the probability of an output token and of the likeliest ones in its place."""

    token: str
    """Its text in the recording's own vocabulary, as far as it is text."""
    logprob: float
    top: tuple[float, ...] = ()
    """Those of the likeliest tokens, falling; empty: not recorded. The token itself may be among them."""
    reasoning: bool = False
    """Whether it is of reasoning that the recording keeps apart from the reply."""


class Attempt(_Record, frozen=True):
    """One draw of a turn's output: blocks in the order of generation."""

    output: tuple[Block, ...]
    usage: Usage | None = None
    times: Times | None = None
    verdict: Verdict = Verdict.ACCEPTED
    finish_reason: str | None = None
    accepted_per_round: tuple[int, ...] | None = None
    """Draft tokens accepted in each speculative round, where the engine recorded them."""
    logprobs: tuple[TokenLogprob, ...] = ()
    """Token by token what the model generated, where the recording has its probabilities."""
    block_ids: tuple[int | str, ...] = ()
    """Under a prompt with block ids: identity of the blocks after the prompt's, which its end and this output fill."""


class ToolWait(_Record, frozen=True):
    """A tool run that the next turn waits for; *duration_s* None: not recorded."""

    name: str
    duration_s: float | None = None
    call_id: str | None = None


class Turn(_Record, frozen=True):
    """One model call of a session, with all its attempts; the last attempt is the one that counts."""

    id: str
    prompt: Prompt
    attempts: tuple[Attempt, ...]
    parent: str | None = None
    """Turn of this session that this one waits for; None: it waits for the session's start only."""
    tool_waits: tuple[ToolWait, ...] = ()
    """Tools that run after this turn, side by side; its children wait for the slowest."""
    user_wait_s: float | None = None
    """Seconds until a person (or the calling program) sent the next turn, where no tool was waited for."""
    model: str | None = None
    max_tokens: int | None = None

    @property
    def final(self) -> Attempt:
        """The attempt that counts."""
        return self.attempts[-1]


class SpawnLink(_Record, frozen=True):
    """Where a sub-agent's session was started from."""

    session_id: str
    turn_id: str | None = None


class HiddenHead(_Record, frozen=True):
    """A prompt head that every turn sends but the recording omits (system prompt, tool schemas)."""

    key: str
    """Equal keys mean equal content, also across sessions."""
    tokens: int | None = None
    """None: derive from the first turn's recorded input tokens."""


class Session(_Record, frozen=True):
    """A conversation or agent run: turns in the order they were sent."""

    id: str
    turns: tuple[Turn, ...]
    messages: tuple[Message, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    head: HiddenHead | None = None
    parent: SpawnLink | None = None
    agent: str | None = None
    start_s: float | None = None
    """When the session was started on the recording's clock; None: not recorded."""
    reward: float | None = None
    """What the recording's own evaluation gave the task, 1 if solved; None: not recorded."""


def prompt_messages(session: Session, turn: Turn) -> Iterator[Message]:
    """Yield the messages of *turn*'s prompt in order; nothing for a prompt known by length only."""
    if isinstance(turn.prompt, MessagePrompt):
        for start, end in turn.prompt.ranges:
            yield from session.messages[start:end]
