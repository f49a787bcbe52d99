"""Text to labelled tokens: tags sessions one by one and drops their text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import msgspec
import numpy as np

from tokenclass.blockkeys import PromptKeys
from tokenclass.counted import counted_together, tag_counted
from tokenclass.formats.family import ReasoningEnd
from tokenclass.hidden import HiddenHeads, HiddenText
from tokenclass.layout import Layout, PromptLayout
from tokenclass.mix import Mix
from tokenclass.outputs import AttemptTagger, Observe
from tokenclass.parents import parent_places
from tokenclass.pieces import Hidden
from tokenclass.prompts import PromptTagger
from tokenclass.recorded import told
from tokenclass.render import Formats, OutputRenderer, known_families
from tokenclass.segments import SegmentTableBuilder, TokenCache
from tokenclass.tagged import BlockPrompt, SegmentPrompt, TaggedCounts, TaggedSession, TaggedTurn
from tokenclass.tokenizers import Tokenizer
from traces.errors import SimtoolError
from traces.model import LengthPrompt, Message, Session, Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class TagOptions:
    """What a recording leaves open."""

    raw_family: Formats = None
    """Output format of recorded completion text, needed where there is any. Of several, each completion is read in the
    one that explains it best."""
    reasoning_end: ReasoningEnd = ReasoningEnd.STRICT
    """What ends an open reasoning block in it."""
    recording_tokenizer: Tokenizer | None = None
    """Vocabulary of completions recorded as token ids without text; needed where there are any."""
    class_mix: Mix | None = None
    """Classes of output tokens that have neither text nor label; needed where there are any."""


class Tagger:
    """Tags sessions for one target. Keeps the tokens of texts met before, and no text.

    A hidden prompt head without a recorded length takes the length that the first session with its key gives.
    """

    def __init__(self, tokenizer: Tokenizer, layout: Layout, options: TagOptions | None = None) -> None:
        self._layout = layout
        given = options or TagOptions()
        self._options = replace(given, raw_family=known_families(given.raw_family))
        self._cache = TokenCache(tokenizer)
        self._heads = HiddenHeads()
        self._spelled = [tag for tag in layout.form.single_tokens if tag not in tokenizer.special_tokens]

    def tag(self, session: Session, observe: Observe | None = None) -> TaggedSession:
        """The session in numbers; *observe* is shown each output's text before it is dropped.

        Raises SimtoolError for output tokens that nothing classifies and for a parent that is no turn.
        """
        tagged = _SessionTagger(session, self._cache, self._layout, self._options, self._heads, observe).run()
        self._note_spelled(tagged.assumptions, 1)
        return tagged

    def tag_many(self, sessions: Iterable[Session]) -> Iterator[TaggedSession | TaggedCounts]:
        """*sessions* in numbers and in order, those of lengths only together with their neighbours.

        Raises SimtoolError as `tag` does.
        """
        mix = self._options.class_mix
        for group in sessions if mix is None else counted_together(sessions):
            if isinstance(group, Session):
                yield self.tag(group)
            elif mix is not None:
                labelled = tag_counted(group, mix)
                self._note_spelled(labelled.assumptions, len(group.sessions))
                yield labelled

    def _note_spelled(self, assumptions: dict[str, int], sessions: int) -> None:
        if self._spelled:
            assumptions[
                f"markup of {self._layout.form.name} that is no single token of {self._cache.tokenizer.name}, "
                f"hence spelled out: {' '.join(self._spelled)}"
            ] = sessions


def tag_session(
    session: Session, tokenizer: Tokenizer, layout: Layout, options: TagOptions | None = None
) -> TaggedSession:
    """One session in numbers; see `Tagger`, which tags many without tokenizing a text twice."""
    return Tagger(tokenizer, layout, options).tag(session)


def tag_sessions(
    sessions: Iterable[Session], tokenizer: Tokenizer, layout: Layout, options: TagOptions | None = None
) -> Iterator[TaggedSession]:
    """Sessions in numbers, one at a time: memory does not grow with the trace."""
    tagger = Tagger(tokenizer, layout, options)
    for session in sessions:
        yield tagger.tag(session)


class _SessionTagger:
    def __init__(
        self,
        session: Session,
        cache: TokenCache,
        layout: Layout,
        options: TagOptions,
        heads: HiddenHeads,
        observe: Observe | None = None,
    ) -> None:
        self._session = session
        self._cache = cache
        self._layout = layout
        self._options = options
        self._heads = heads
        self._assumptions: dict[str, int] = {}
        self._table = SegmentTableBuilder()
        self._renderer = OutputRenderer(
            layout.form,
            session.tools,
            prompt_tail=layout.prompt_tail,
            raw_family=options.raw_family,
            reasoning_end=options.reasoning_end,
        )
        self._hidden = HiddenText(session.id, options.class_mix, self._assume)
        self._attempts = AttemptTagger(
            self._renderer, cache, self._table, self._hidden, self._assume, options.recording_tokenizer, observe
        )
        self._head: Hidden | None = None
        self._keys = PromptKeys()

    @cached_property
    def _prompts(self) -> PromptTagger:
        """Not needed where prompts are known by their length."""
        session = self._session
        layout = PromptLayout(
            self._layout, self._renderer, session.tools, self._hidden.in_prompt, show_tools=session.head is None
        )
        messages = [_told(message, self._options.recording_tokenizer) for message in session.messages]
        return PromptTagger(layout, messages, self._cache, self._table)

    def run(self) -> TaggedSession:
        session = self._session
        parents = parent_places(session)
        turns = tuple(self._turn(turn, parent) for turn, parent in zip(session.turns, parents, strict=True))
        return TaggedSession(
            id=session.id,
            turns=turns,
            segments=self._table.build(),
            parent=session.parent,
            agent=session.agent,
            start_s=session.start_s,
            reward=session.reward,
            assumptions=self._assumptions,
        )

    def _assume(self, text: str, count: int = 1) -> None:
        self._assumptions[text] = self._assumptions.get(text, 0) + count

    def _turn(self, turn: Turn, parent: int | None) -> TaggedTurn:
        prompt = self._prompt(turn)
        attempts = tuple(self._attempts.tag(turn, *numbered) for numbered in enumerate(turn.attempts))
        return TaggedTurn(
            id=turn.id,
            parent=parent,
            prompt=prompt,
            attempts=attempts,
            tool_waits=turn.tool_waits,
            user_wait_s=turn.user_wait_s,
            max_tokens=turn.max_tokens,
            model=turn.model,
        )

    def _prompt(self, turn: Turn) -> SegmentPrompt | BlockPrompt:
        if isinstance(turn.prompt, LengthPrompt):
            return self._keys.prompt(turn.prompt)
        if any(not 0 <= start <= end <= len(self._session.messages) for start, end in turn.prompt.ranges):
            raise SimtoolError(
                f"session {self._session.id}: the prompt of turn {turn.id} names messages that the session lacks "
                "(correct the trace, or leave the session out)"
            )
        segments, tokens = self._prompts.tag(turn.prompt.ranges)
        head = self._head_of(turn, tokens)
        if head is not None:
            segments = np.concatenate((np.array([self._table.add_hidden(head)], np.int32), segments))
            tokens += head.tokens
        return SegmentPrompt(segments, tokens)

    def _head_of(self, turn: Turn, visible_tokens: int) -> Hidden | None:
        if self._session.head is None:
            return None
        if self._head is None:
            self._head = self._heads.resolve(self._session.head, turn, visible_tokens, self._assume)
        return self._head if self._head.tokens else None


def _told(message: Message, tokenizer: Tokenizer | None) -> Message:
    blocks = told(message.blocks, tokenizer)
    return message if blocks is message.blocks else msgspec.structs.replace(message, blocks=blocks)
