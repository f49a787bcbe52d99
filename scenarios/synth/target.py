"""Moves the schema share of synthetic traffic by scaling its reasoning and prose."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from scenarios.synth.lengths import LengthWriter
from scenarios.synth.model import SynthModel
from scenarios.synth.outputlabels import OutputLabels
from scenarios.synth.plan import PlannedSession, Planner
from scenarios.synth.texts import TextWriter
from scenarios.synth.words import Vocabulary
from tokenclass.classes import CLASS_OF_SUBCLASS, PositionClass, SubClass
from tokenclass.layout import Layout
from tokenclass.tokenizers import Tokenizer
from traces.errors import SimtoolError
from traces.model import OpaqueBlock, Session

PILOT_SESSIONS = 2000
NEAR = 0.005
"""How near to the wanted share traffic comes that is large enough."""
_ROUNDS = 8
_TOLERANCE = 0.0005
_LIMITS = (1e-3, 1e3)
_SCHEMA_LABELS = frozenset({"S", *(label.name for label in SubClass if CLASS_OF_SUBCLASS[label] is PositionClass.S)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """What is to be generated, and for which target."""

    model: SynthModel
    vocabulary: Vocabulary
    tokenizer: Tokenizer
    layout: Layout
    seed: int
    sessions: int
    lengths_only: bool

    def plans(self, scale: float, most: int | None = None) -> Iterator[PlannedSession]:
        """Its sessions, or the first *most*, with reasoning and prose of *scale* times their length."""
        count = self.sessions if most is None else min(most, self.sessions)
        return Planner(self.model, self.seed, scale).sessions(count)

    def written(self, scale: float) -> Iterator[Session]:
        """Its sessions."""
        if self.lengths_only:
            return self.lengths().sessions(self.plans(scale))
        return TextWriter(self.model, self.vocabulary, self.seed).sessions(self.plans(scale))

    def lengths(self) -> LengthWriter:
        """What writes sessions of lengths alone."""
        return LengthWriter(self.model, self.vocabulary, self.tokenizer, self.layout, self.seed)


def scale_for(traffic: Traffic, w_S: float) -> float:
    """Factor on the lengths of reasoning and prose at which *traffic* has the schema share *w_S*.

    Found on its first PILOT_SESSIONS sessions. Raises SimtoolError where no factor gives that share.
    """
    if not 0 < w_S < 1:
        raise SimtoolError(f"--target-w-s {w_S}: a mix needs a share between 0 and 1")
    writer = traffic.lengths()
    written = None if traffic.lengths_only else _schema_tokens(traffic)
    best, share = 1.0, 0.0
    scale = 1.0
    for _ in range(_ROUNDS):
        schema, rest = _tokens(writer, traffic.plans(scale, PILOT_SESSIONS))
        schema = schema if written is None else written
        found = schema / max(1, schema + rest)
        if abs(found - w_S) < abs(share - w_S):
            best, share = scale, found
        if abs(share - w_S) < _TOLERANCE or not schema or not rest:
            break
        scale = float(np.clip(scale * (schema * (1 - w_S)) / (w_S * rest), *_LIMITS))
    if abs(share - w_S) < 2 * NEAR:
        return best
    raise SimtoolError(
        f"--target-w-s {w_S}: the nearest schema share that scaling reasoning and prose reaches is {share:.3f} "
        "(calls keep their lengths, and lengths are whole tokens; choose a share nearer to it, or more --sessions)"
    )


def schema_share(traffic: Traffic, scale: float) -> float | None:
    """Schema share of accepted outputs of the first PILOT_SESSIONS sessions, of lengths alone; None without outputs."""
    schema, rest = _tokens(traffic.lengths(), traffic.plans(scale, PILOT_SESSIONS))
    return schema / (schema + rest) if schema + rest else None


def _schema_tokens(traffic: Traffic) -> int:
    """Tokens of S in the calls of accepted outputs of the pilot, as they are written."""
    writer = TextWriter(traffic.model, traffic.vocabulary, traffic.seed)
    labels = OutputLabels(traffic.tokenizer, traffic.layout, list(writer.specs.values()))
    counted = 0
    for plan in traffic.plans(1.0, PILOT_SESSIONS):
        for attempts in writer.calls(plan):
            if attempts[-1]:
                counted += int(labels.of(attempts[-1]).class_tokens()[PositionClass.S])
    return counted


def _tokens(writer: LengthWriter, plans: Iterator[PlannedSession]) -> tuple[int, int]:
    """Tokens of S and of the rest in accepted outputs."""
    schema = total = 0
    for session in writer.sessions(plans):
        for turn in session.turns:
            for block in turn.final.output:
                if isinstance(block, OpaqueBlock):
                    total += block.tokens
                    schema += block.tokens * (block.label in _SCHEMA_LABELS)
    return schema, total - schema
