"""Which tokens of a rendered output its grammar and the tools' schemas leave no choice about."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tokenclass.classes import CLASS_OF_SUBCLASS, PositionClass
from tokenclass.formats.family import Family, ReasoningEnd
from tokenclass.formats.schema import Tools
from tokenclass.outputs import OutputRun
from tokenclass.parse import assemble, segmenter

_STAND_IN = "…"
"""Stands for a hidden block in the text that is parsed."""


def forced_tokens(
    runs: Sequence[OutputRun], family: Family, tools: Tools, prompt_tail: str = ""
) -> NDArray[np.bool_] | None:
    """Whether each token of the output lies wholly in a forced run; shape (tokens,).

    None where that is not known: without tools, for a family without a grammar of its text, and where the text,
    read back, has calls in other places than the recording says.
    """
    if not tools.given or family.api is not None:
        return None
    texts = [_STAND_IN if run.hidden is not None else "".join(piece.text for piece in run.pieces) for run in runs]
    parsed = assemble(segmenter(family, tools, prompt_tail, ReasoningEnd.STRICT).run("".join(texts), final=True))
    if _calls(runs) != [(span.start, span.end) for span in parsed.spans if span.label is PositionClass.S]:
        return None
    masks: list[NDArray[np.bool_]] = []
    offset = 0
    for run, text in zip(runs, texts, strict=True):
        masks.append(_mask(run, text, offset, parsed.forced))
        offset += len(text)
    return np.concatenate([np.empty(0, np.bool_), *masks])


def byte_offsets(text: str, positions: Sequence[int]) -> NDArray[np.int64]:
    """Byte offsets in *text*'s UTF-8 form of ascending code point *positions*; shape (positions,)."""
    if text.isascii():
        return np.array(positions, np.int64)
    steps = [text[a:b].encode("utf-8", "surrogatepass") for a, b in zip([0, *positions], positions, strict=False)]
    return np.cumsum([len(step) for step in steps], dtype=np.int64)


def _calls(runs: Sequence[OutputRun]) -> list[tuple[int, int]]:
    """Stretches of S as the recording has them, in code points of the text that is parsed."""
    found: list[tuple[int, int]] = []
    at = 0
    for run in runs:
        if run.hidden is not None:
            at += len(_STAND_IN)
            continue
        for text, label, _ in run.pieces:
            if CLASS_OF_SUBCLASS[label] is PositionClass.S:
                if found and found[-1][1] == at:
                    found[-1] = (found[-1][0], at + len(text))
                else:
                    found.append((at, at + len(text)))
            at += len(text)
    return found


def _mask(run: OutputRun, text: str, offset: int, forced: Sequence[tuple[int, int]]) -> NDArray[np.bool_]:
    mask = np.zeros(run.ids.size, np.bool_)
    if run.ends is None:
        return mask
    starts = np.concatenate(([0], run.ends[:-1]))
    inside = [
        (max(a - offset, 0), min(b - offset, len(text))) for a, b in forced if offset < b and a < offset + len(text)
    ]
    borders = byte_offsets(text, [border for pair in inside for border in pair])
    for start, end in zip(borders[::2], borders[1::2], strict=True):
        first = int(np.searchsorted(starts, start))
        last = int(np.searchsorted(run.ends, end, side="right"))
        mask[first : max(first, last)] = True
    return mask
