"""Langfuse's usage: named buckets, which either add up to the total or stand inside input and output."""

from __future__ import annotations

from traces.model import Usage
from traces.records import Json, as_count

_CACHED = ("cache_read", "cached", "cache_hit")
_WRITTEN = ("cache_creation", "cache_write")
_REASONING = ("reasoning", "thinking", "thoughts")


def langfuse_usage(details: Json, usage: Json, item: Json) -> Usage:
    """Counts of an observation from its usage details, or from the older usage object and flat fields.

    A bucket beside ``input`` and ``output`` adds to them where the total says so, or, without a total, where it
    bears the ``input_`` or ``output_`` prefix that Langfuse gives to buckets apart.
    """
    counts = {key: count for key, value in details.items() if (count := as_count(value)) is not None}
    sent = _first(counts.get("input"), as_count(usage.get("input")), item.get("promptTokens"), item.get("inputUsage"))
    made = _first(
        counts.get("output"), as_count(usage.get("output")), item.get("completionTokens"), item.get("outputUsage")
    )
    parts = {key: count for key, count in counts.items() if key not in ("input", "output", "total")}
    cached, written, thought = (_bucket(parts, names) for names in (_CACHED, _WRITTEN, _REASONING))
    if sent is None or made is None:
        return Usage(input_tokens=sent, output_tokens=made)
    total = _first(counts.get("total"), as_count(usage.get("total")))
    beside = sum(parts.values())
    if total is None:
        apart = any(key.startswith(("input_", "output_", "cache_")) for key in parts)
    else:
        apart = beside > 0 and total == sent + made + beside
    if apart:
        sent += sum(count for key, count in parts.items() if _is_input(key))
        made += sum(count for key, count in parts.items() if not _is_input(key))
    return Usage(
        input_tokens=sent,
        cached_tokens=cached if cached is None or cached <= sent else None,
        cache_write_tokens=written if written is None or written + (cached or 0) <= sent else None,
        output_tokens=made,
        reasoning_tokens=thought if thought is None or thought <= made else None,
    )


def _is_input(key: str) -> bool:
    return key.startswith(("input", "prompt", "cache")) or any(name in key for name in (*_CACHED, *_WRITTEN))


def _bucket(parts: dict[str, int], names: tuple[str, ...]) -> int | None:
    found = [count for key, count in parts.items() if any(name in key for name in names)]
    return sum(found) if found else None


def _first(*values: object) -> int | None:
    return next((count for value in values if (count := as_count(value)) is not None), None)
