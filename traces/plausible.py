"""Recorded counts and times that contradict each other count as not recorded, which is noted."""

from __future__ import annotations

from msgspec.structs import replace

from traces.model import Block, Times, Usage
from traces.readlog import ReadLog


def plausible_usage(usage: Usage | None, output: tuple[Block, ...], log: ReadLog) -> Usage | None:
    """*usage* without counts that contradict each other or *output*; None when nothing is left."""
    if usage is None or usage == Usage():
        return None
    if output and not usage.output_tokens and not usage.input_tokens:
        log.assume("usage of zero tokens for a call with output: counts as not recorded")
        return None
    cached = (usage.cached_tokens or 0) + (usage.cache_write_tokens or 0)
    if usage.input_tokens is not None and cached > usage.input_tokens:
        log.assume("more cached than input tokens: the cached ones count as not recorded")
        usage = replace(usage, cached_tokens=None, cache_write_tokens=None)
    if usage.output_tokens is not None and (usage.reasoning_tokens or 0) > usage.output_tokens:
        log.assume("more reasoning than output tokens: the reasoning ones count as not recorded")
        usage = replace(usage, reasoning_tokens=None)
    return usage


def plausible_times(times: Times | None, log: ReadLog) -> Times | None:
    """*times* without a first token later than the end, and without a start later than what follows it."""
    if times is None:
        return None
    if times.first_token_s is not None and times.end_s is not None and times.first_token_s > times.end_s:
        log.assume("first token dated after the end of its reply: its time counts as not recorded")
        times = replace(times, first_token_s=None)
    later = [at_s for at_s in (times.first_token_s, times.end_s) if at_s is not None]
    if times.sent_s is not None and later and times.sent_s > min(later):
        log.assume("call dated as sent after its reply: the time of sending counts as not recorded")
        return replace(times, sent_s=None)
    return times
