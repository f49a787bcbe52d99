"""Who paid for what: GPU seconds, rounds and drafts by attempt and by token class, from the step ledger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simulator.lane import Segment
from simulator.ledger import StepLedger
from tokenclass.classes import CLASS_OF_SUBCLASS, N_CLASSES, N_SUBCLASSES

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
U8 = npt.NDArray[np.uint8]
U16 = npt.NDArray[np.uint16]

CHUNK_ROUNDS = 1 << 20
"""Rounds looked at together: bounds memory."""


@dataclass(slots=True, kw_only=True, eq=False)
class Attribution:
    """Sums over the rounds that ran. Arrays by sub-class have N_SUBCLASSES entries, by attempt one per attempt."""

    decode_gpu_s: F64
    """Decode seconds, shape (attempts,)."""
    decode_gpu_s_by_subclass: F64
    """Decode seconds by the sub-class of the tokens that a step emitted."""
    rounds: I64
    """Rounds, shape (attempts,)."""
    drafts: I64
    """Rounds that drafted (vLLM's num_drafts), shape (attempts,)."""
    draft_tokens: I64
    """Tokens drafted and verified, shape (attempts,)."""
    accepted_tokens: I64
    """Drafts accepted, shape (attempts,)."""
    decode_gpu_s_by_class: F64
    """Decode seconds by the position class of the tokens emitted, shape (attempts, N_CLASSES)."""
    drafted_by_class: I64
    """Draft positions inside the output by position class, shape (attempts, N_CLASSES)."""
    accepted_by_class: I64
    """Drafts accepted by position class, shape (attempts, N_CLASSES)."""
    rounds_by_subclass: I64
    """Rounds by the sub-class of their first token."""
    round_share_by_subclass: F64
    """Rounds attributed to the tokens that they emit, each divided equally among them."""
    emitted_by_subclass: I64
    """Tokens emitted in rounds; the token that prefill emits is not among them."""
    drafted_by_subclass: I64
    """Draft positions inside the output, by the sub-class of the output token there."""
    accepted_by_subclass: I64
    rejected_by_subclass: I64
    """First rejected position of a round, by the sub-class of the output token there."""
    accepted_per_pos: I64
    """Drafts accepted at each depth, shape (gamma,): vLLM's num_accepted_tokens_per_pos."""
    itl_s: F64
    """Seconds between the emissions of successive steps of one attempt, attempt by attempt: a's are `rounds[a]`."""


def attribute(
    logs: Sequence[tuple[StepLedger, list[Segment]]],
    store: tuple[U16, U16],
    labels: U8,
    offsets: I64,
    first_token_s: F64,
    gamma: int,
) -> Attribution:
    """Add up what the segments of each replica emitted and cost; *logs* has the ledger and segments of each.

    *store* is Outcomes.store(); *labels* and *offsets* are the workload's, *first_token_s* has one time an attempt.
    """
    total = empty(offsets.size - 1, gamma)
    classes = _class_counts(labels)
    gaps = [
        _add_part(total, ledger, part, store, (classes, labels, offsets), first_token_s)
        for ledger, segments in logs
        for part in _parts(sorted(segments))
    ]
    if gaps:
        owners, seconds = (np.concatenate(column) for column in zip(*gaps, strict=True))
        total.itl_s = seconds if len(logs) == 1 else seconds[np.argsort(owners, kind="stable")]
    return total


def _add_part(
    total: Attribution,
    ledger: StepLedger,
    part: list[Segment],
    store: tuple[U16, U16],
    tokens: tuple[npt.NDArray[np.int32], U8, I64],
    first_token_s: F64,
) -> tuple[I64, F64]:
    """Add *part* of the segments of one replica; return the attempt and the seconds of each gap between emissions."""
    classes, labels, offsets = tokens
    attempt, first_step, offset, count, position = np.array(part, dtype=np.int64).T
    attempt_of = np.repeat(attempt, count)
    within = np.arange(attempt_of.size) - np.repeat(np.cumsum(count) - count, count)
    step = np.repeat(first_step, count) + within
    index = np.repeat(offset, count) + within
    emitted, drafted = (column[index].astype(np.int64) for column in store)
    before = np.cumsum(emitted) - emitted
    leads = np.cumsum(count) - count
    start = before + np.repeat(offsets[attempt] + position - before[leads], count)
    _add_rounds(total, attempt_of, ledger.share_s[step], (start, emitted, drafted), classes, offsets, labels)
    return attempt_of, _gaps(attempt_of, ledger.end_s[step], first_token_s)


def empty(n_attempts: int, gamma: int) -> Attribution:
    """Sums of nothing."""
    by_attempt = {name: np.zeros(n_attempts, dtype=np.int64) for name in ("rounds", "drafts", "draft_tokens")}
    by_subclass = {
        name: np.zeros(N_SUBCLASSES, dtype=np.int64)
        for name in (
            "rounds_by_subclass",
            "emitted_by_subclass",
            "drafted_by_subclass",
            "accepted_by_subclass",
            "rejected_by_subclass",
        )
    }
    return Attribution(
        decode_gpu_s_by_class=np.zeros((n_attempts, N_CLASSES)),
        drafted_by_class=np.zeros((n_attempts, N_CLASSES), dtype=np.int64),
        accepted_by_class=np.zeros((n_attempts, N_CLASSES), dtype=np.int64),
        round_share_by_subclass=np.zeros(N_SUBCLASSES),
        decode_gpu_s=np.zeros(n_attempts),
        decode_gpu_s_by_subclass=np.zeros(N_SUBCLASSES),
        accepted_tokens=np.zeros(n_attempts, dtype=np.int64),
        accepted_per_pos=np.zeros(gamma, dtype=np.int64),
        itl_s=np.empty(0),
        **by_attempt,
        **by_subclass,
    )


def _class_counts(labels: U8) -> npt.NDArray[np.int32]:
    """Tokens of each sub-class before each position, shape (N_SUBCLASSES, tokens + 1)."""
    counts = np.zeros((N_SUBCLASSES, labels.size + 1), dtype=np.int32)
    for subclass in range(N_SUBCLASSES):
        np.cumsum(labels == subclass, out=counts[subclass, 1:])
    return counts


def _parts(segments: list[Segment]) -> list[list[Segment]]:
    """Segments in groups of about CHUNK_ROUNDS rounds; those of one attempt stay together."""
    parts: list[list[Segment]] = []
    size = CHUNK_ROUNDS
    for segment in segments:
        if size >= CHUNK_ROUNDS and not (parts and parts[-1][-1].attempt == segment.attempt):
            parts.append([])
            size = 0
        parts[-1].append(segment)
        size += segment.n_rounds
    return parts


def _add_rounds(
    total: Attribution,
    attempt: I64,
    share_s: F64,
    rounds: tuple[I64, ...],
    classes: npt.NDArray[np.int32],
    offsets: I64,
    labels: U8,
) -> None:
    start, emitted, drafted = rounds
    n_attempts = total.rounds.size
    accepted = np.minimum(emitted - 1, drafted)
    end = offsets[attempt + 1]
    total.decode_gpu_s += np.bincount(attempt, share_s, n_attempts)
    total.rounds += np.bincount(attempt, minlength=n_attempts)
    total.drafts += np.bincount(attempt, drafted > 0, n_attempts).astype(np.int64)
    total.draft_tokens += np.bincount(attempt, drafted, n_attempts).astype(np.int64)
    total.accepted_tokens += np.bincount(attempt, accepted, n_attempts).astype(np.int64)
    total.rounds_by_subclass += np.bincount(labels[start], minlength=N_SUBCLASSES)
    per_depth = np.bincount(accepted, minlength=total.accepted_per_pos.size + 1)[1:]
    total.accepted_per_pos += per_depth[::-1].cumsum()[::-1]
    rejected = (accepted < drafted) & (start + emitted < end)
    total.rejected_by_subclass += np.bincount(labels[(start + accepted)[rejected]], minlength=N_SUBCLASSES)
    stops = (start + emitted, np.minimum(start + drafted, end), start + accepted)
    paid_per_token = share_s / emitted
    for subclass, position_class in enumerate(CLASS_OF_SUBCLASS):
        before = classes[subclass]
        n_emitted, n_drafted, n_accepted = (before[stop] - before[start] for stop in stops)
        if not n_drafted.any() and not n_emitted.any():
            continue
        paid = paid_per_token * n_emitted
        total.round_share_by_subclass[subclass] += float((n_emitted / emitted).sum())
        total.emitted_by_subclass[subclass] += int(n_emitted.sum())
        total.drafted_by_subclass[subclass] += int(n_drafted.sum())
        total.accepted_by_subclass[subclass] += int(n_accepted.sum())
        total.decode_gpu_s_by_subclass[subclass] += float(paid.sum())
        total.decode_gpu_s_by_class[:, position_class] += np.bincount(attempt, paid, n_attempts)
        for column, counts in ((total.drafted_by_class, n_drafted), (total.accepted_by_class, n_accepted)):
            column[:, position_class] += np.bincount(attempt, counts, n_attempts).astype(np.int64)


def _gaps(attempt: I64, emitted_s: F64, first_token_s: F64) -> F64:
    """Seconds from the emission before (the first token's, for an attempt's first round) to each one."""
    before = np.empty_like(emitted_s)
    before[1:] = emitted_s[:-1]
    leads = np.concatenate([[True], attempt[1:] != attempt[:-1]])
    before[leads] = first_token_s[attempt[leads]]
    return emitted_s - before
