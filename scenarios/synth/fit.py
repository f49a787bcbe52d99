"""Fits a model of synthetic traffic to recorded sessions; lengths, counts, names and schemas are kept, text is not."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from scenarios.synth.blocks import spoken_blocks
from scenarios.synth.empirical import Choice, Empirical
from scenarios.synth.fitprompts import PromptFit
from scenarios.synth.fittools import ToolFits
from scenarios.synth.model import CALL, OPAQUE, RUN, SEPARATOR, Head, SessionKind, SynthModel
from scenarios.synth.words import Vocabulary
from tokenclass.tokenizers import Tokenizer
from traces.errors import SimtoolError
from traces.model import Attempt, Block, OpaqueBlock, ReasoningBlock, Session, TextBlock, ToolCallBlock, Turn, Verdict

START = "first"
INNER = "inner"
LAST = "last"


class _Seen(NamedTuple):
    """One turn: the codes of its blocks and tools, the tools that run after it, and the lengths of its blocks."""

    codes: tuple[str, ...]
    tools: list[str]
    lengths: list[tuple[str, int]]


class Fitter:
    """Gathers what a model needs, session by session."""

    def __init__(self, tokenizer: Tokenizer, raw_family: str | None = None) -> None:
        self._tokenizer = tokenizer
        self._raw_family = raw_family
        self._vocabulary = Vocabulary(tokenizer)
        self._tools = ToolFits(tokenizer)
        self._prompts = PromptFit(tokenizer)
        self._skeletons: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._block_tokens: defaultdict[str, list[int]] = defaultdict(list)
        self._turns: dict[bool, defaultdict[str, list[int]]] = {sub: defaultdict(list) for sub in (False, True)}
        self._attempts: Counter[str] = Counter()
        self._starts: list[float] = []
        self._user_waits: list[float] = []

    def add(self, session: Session) -> None:
        """Count *session*."""
        if not session.turns:
            return
        is_sub = session.parent is not None
        if not is_sub and (start := _start(session)) is not None:
            self._starts.append(start)
        self._tools.add_session(session)
        turns = [self._turn(session, turn) for turn in session.turns]
        style = _style(turns)
        self._turns[is_sub][style].append(len(turns))
        last_tool = ""
        for at, turn in enumerate(turns):
            phase = START if at == 0 else LAST if at + 1 == len(turns) else INNER
            skeleton = SEPARATOR.join(turn.codes)
            self._skeletons[style + phase][skeleton] += 1
            self._skeletons[f"{style}{phase}|{last_tool}"][skeleton] += 1
            last_tool = turn.tools[-1] if turn.tools else ""
            for key, tokens in turn.lengths:
                self._block_tokens[style + key].append(tokens)
                self._block_tokens[f"{style}{phase}|{key}"].append(tokens)
        self._prompts.add(session, self._tools, style)

    def model(self) -> SynthModel:
        """The model of all sessions added. Raises SimtoolError without any turn."""
        kinds = {sub: self._kind(sub=sub) for sub in (False, True)}
        root = kinds[False] or kinds[True]
        if root is None:
            raise SimtoolError("the recording holds no turns to fit synthetic traffic to (give another recording)")
        gaps = np.diff(np.sort(np.array(self._starts)))
        return SynthModel(
            root=root,
            sub=kinds[True] if kinds[False] else None,
            tools=self._tools.models(self._vocabulary),
            skeletons={key: Choice.of(dict(sorted(seen.items()))) for key, seen in sorted(self._skeletons.items())},
            block_tokens={
                key: found
                for key, lengths in sorted(self._block_tokens.items())
                if (found := Empirical.of(lengths)) is not None
            },
            attempts=Choice.of(dict(sorted(self._attempts.items()))),
            second_user_tokens=Empirical.of(self._prompts.second_user),
            later_user_tokens=Empirical.of(self._prompts.later_user or self._prompts.second_user),
            reset_share=len(self._prompts.resets) / max(1, self._prompts.continued),
            reset_tokens=Empirical.of(self._prompts.resets),
            user_wait_s=Empirical.of(self._user_waits),
            gap_s=Empirical.of(gaps),
        )

    def _turn(self, session: Session, turn: Turn) -> _Seen:
        """What the turn's accepted output consists of, and the tools that run after it."""
        rejected = sum(attempt.verdict is Verdict.REJECTED for attempt in turn.attempts[:-1])
        self._attempts[str(1 + rejected)] += 1
        if turn.user_wait_s is not None:
            self._user_waits.append(turn.user_wait_s)
        blocks = spoken_blocks(turn.final, session.tools, self._raw_family)
        run = self._tools.add_turn(session, turn, blocks)
        called = [block.name for block in blocks if isinstance(block, ToolCallBlock)] or run
        with_call = "+" if called else "-"
        parts: list[str] = []
        lengths = []
        for block in blocks:
            code, tokens = self._block(turn.final, block)
            if code.startswith(CALL):
                parts.append(code)
            elif tokens:
                parts.append(code)
                lengths.append((f"{code}{with_call}", tokens))
        parts += [f"{RUN}{name}" for name in run]
        return _Seen(tuple(parts), called, lengths)

    def _block(self, attempt: Attempt, block: Block) -> tuple[str, int]:
        if isinstance(block, ToolCallBlock):
            return f"{CALL}{block.name}", 0
        if isinstance(block, ReasoningBlock):
            hidden = block.tokens or (attempt.usage.reasoning_tokens if attempt.usage is not None else None) or 0
            return "R", hidden if block.text is None else len(self._tokenizer.encode(block.text))
        if isinstance(block, TextBlock):
            return "F", len(self._tokenizer.encode(block.text))
        if isinstance(block, OpaqueBlock):
            return f"{OPAQUE}{block.label or ''}", block.tokens
        return "F", 0

    def _kind(self, *, sub: bool) -> SessionKind | None:
        turns = Empirical.of([count for counts in self._turns[sub].values() for count in counts])
        if turns is None:
            return None
        by_style = {style: Empirical.of(counts) for style, counts in sorted(self._turns[sub].items())}
        heads = self._prompts.heads[sub]
        return SessionKind(
            turns=turns,
            heads=tuple(
                Head(weight=count, tokens=key.tokens, tools=key.tools, hidden=key.hidden, style=key.style)
                for key, count in heads.items()
            ),
            first_user_tokens=Empirical.of(self._prompts.first_user[sub]),
            turns_by_style={style: found for style, found in by_style.items() if found is not None},
        )


def fit(sessions: Iterable[Session], tokenizer: Tokenizer, raw_family: str | None = None) -> SynthModel:
    """The model of *sessions*; completions recorded as text are in the format *raw_family*."""
    fitter = Fitter(tokenizer, raw_family)
    for session in sessions:
        fitter.add(session)
    return fitter.model()


def _style(turns: Sequence[_Seen]) -> str:
    """What sessions of one kind have in common: which kinds of blocks they hold at all, and about how many turns.

    A recording may mix agents that call tools with others that write actions in prose, or chat; and long sessions are
    about other things than short ones. Lengths of sessions are told apart by powers of two.
    """
    codes = {code for turn in turns for code in turn.codes}
    kinds = [("c", CALL), ("a", RUN), ("r", "R")]
    letters = "".join(letter for letter, kind in kinds if any(code.startswith(kind) for code in codes))
    return f"{letters}{len(turns).bit_length()}/"


def _start(session: Session) -> float | None:
    if session.start_s is not None:
        return session.start_s
    times = session.turns[0].attempts[0].times
    return times.sent_s if times is not None else None
