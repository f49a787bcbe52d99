"""Moves the schema share of synthetic traffic by scaling its reasoning and prose."""

from __future__ import annotations

import numpy as np

from scenarios.synth.lengths import LengthWriter
from scenarios.synth.model import SynthModel
from scenarios.synth.plan import Planner
from scenarios.synth.words import Vocabulary
from tokenclass.classes import CLASS_OF_SUBCLASS, PositionClass, SubClass
from tokenclass.layout import Layout
from tokenclass.tokenizers import Tokenizer
from traces.errors import SimtoolError
from traces.model import OpaqueBlock

PILOT_SESSIONS = 400
_ROUNDS = 6
_TOLERANCE = 0.002
_LIMITS = (1e-3, 1e3)
_SCHEMA_LABELS = frozenset({"S", *(label.name for label in SubClass if CLASS_OF_SUBCLASS[label] is PositionClass.S)})


def scale_for(
    model: SynthModel, w_S: float, vocabulary: Vocabulary, tokenizer: Tokenizer, layout: Layout, seed: int
) -> float:
    """Factor on the lengths of reasoning and prose at which traffic of *model* has the schema share *w_S*.

    Found on PILOT_SESSIONS sessions. Raises SimtoolError where no factor gives that share.
    """
    if not 0 < w_S < 1:
        raise SimtoolError(f"--target-w-s {w_S}: a mix needs a share between 0 and 1")
    writer = LengthWriter(model, vocabulary, tokenizer, layout, seed)
    scale, share = 1.0, 0.0
    for _ in range(_ROUNDS):
        schema, rest = _tokens(model, writer, seed, scale)
        share = schema / max(1, schema + rest)
        if abs(share - w_S) < _TOLERANCE:
            return scale
        if not schema or not rest:
            break
        scale = float(np.clip(scale * (schema * (1 - w_S)) / (w_S * rest), *_LIMITS))
    if abs(share - w_S) < 5 * _TOLERANCE:
        return scale
    raise SimtoolError(
        f"--target-w-s {w_S}: scaling reasoning and prose reaches a schema share of {share:.3f} only "
        "(the calls themselves bound it; choose a share nearer to it)"
    )


def _tokens(model: SynthModel, writer: LengthWriter, seed: int, scale: float) -> tuple[int, int]:
    """Tokens of S and of the rest in accepted outputs of the pilot."""
    schema = total = 0
    for session in writer.sessions(Planner(model, seed, scale).sessions(PILOT_SESSIONS)):
        for turn in session.turns:
            for block in turn.final.output:
                if isinstance(block, OpaqueBlock):
                    total += block.tokens

                    schema += block.tokens * (block.label in _SCHEMA_LABELS)
    return schema, total - schema
