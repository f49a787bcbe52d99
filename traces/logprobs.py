"""Log probabilities of output tokens as chat and text completions give them."""

from __future__ import annotations

from math import isfinite

from traces.model import TokenLogprob
from traces.readlog import ReadLog
from traces.records import Json, as_dict, as_list, dicts

_ROUNDING = 1e-3
"""By how much a printed logarithm of a probability may exceed 0."""


def token_logprobs(value: object, log: ReadLog) -> tuple[TokenLogprob, ...]:
    """The tokens of a choice's *logprobs*: ``content`` entries, or ``tokens`` and ``token_logprobs`` side by side.

    Values that are no logarithms of probabilities are omitted and counted.
    """
    fields = as_dict(value)
    thought = [_entry(one) for one in dicts(fields.get("reasoning_content"))]
    entries = [*thought, *map(_entry, dicts(fields.get("content")))] or _columns(fields)
    found = []
    for at, (token, logprob, top) in enumerate(entries):
        if logprob is None or any(one is None for one in top):
            log.omit("token logprob that is no logarithm of a probability")
            continue
        known = sorted((one for one in top if one is not None), reverse=True)
        found.append(TokenLogprob(token=token, logprob=logprob, top=tuple(known), reasoning=at < len(thought)))
    return tuple(found)


def _entry(fields: Json) -> tuple[str, float | None, list[float | None]]:
    top = [_number(one.get("logprob")) for one in dicts(fields.get("top_logprobs"))]
    return _text(fields.get("token")), _number(fields.get("logprob")), top


def _columns(fields: Json) -> list[tuple[str, float | None, list[float | None]]]:
    tops = as_list(fields.get("top_logprobs"))
    pairs = zip(as_list(fields.get("tokens")), as_list(fields.get("token_logprobs")), strict=False)
    return [
        (_text(token), _number(logprob), [_number(one) for one in as_dict(tops[at]).values()] if at < len(tops) else [])
        for at, (token, logprob) in enumerate(pairs)
        if logprob is not None  # the first token of an echoed prompt has none
    ]


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or value > _ROUNDING:
        return None
    return min(float(value), 0.0)
