"""Who paid for what: GPU seconds, rounds and drafts by attempt and by token class, from the step ledger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from simulator.longcolumns import let_go_all, zeros_apart
from tokenclass.classes import CLASS_OF_SUBCLASS, N_CLASSES, N_SUBCLASSES

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]
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


def attribute(
    logs: Sequence[tuple[F64, I64]], store: tuple[U16, U16, U16], labels: U8, offsets: I64, gamma: int
) -> Attribution:
    """Add up what the segments of each replica emitted and cost.

    *logs* has what a sequence pays for each step (see StepLedger.take) and the rows of the SegmentLog of each, *store*
    is Outcomes.store(); *labels* and *offsets* are the workload's.
    """
    total = empty(offsets.size - 1, gamma)
    for share_s, segments in logs:
        for part in _parts(segments):
            _add_part(total, share_s, part, store, labels, offsets)
            let_go_all()
    return total


class _Rounds(NamedTuple):
    """Rounds of some attempts; tokens are numbered over the outputs of these attempts alone."""

    owner: I64
    """Which of the attempts each round is of."""
    share_s: F64
    start: I64
    """Its first token."""
    end: I64
    """The end of its output."""
    emitted: I32
    drafted: I32
    accepted: I32


def _add_part(
    total: Attribution, share_s: F64, part: I64, store: tuple[U16, U16, U16], labels: U8, offsets: I64
) -> None:
    """Add *part* of the segments of one replica."""
    attempt, first_step, offset, count, position = part.T
    fresh = np.concatenate([[True], attempt[1:] != attempt[:-1]])
    owner = np.cumsum(fresh) - 1
    attempts = attempt[fresh]
    own_labels, bounds = _outputs_of(attempts, labels, offsets)
    leads = np.cumsum(count) - count
    number = np.arange(int(count.sum()))
    emitted, verified, undrafted = (
        column[np.repeat(offset - leads, count) + number].astype(np.int32) for column in store
    )
    drafted = verified - undrafted
    before = np.cumsum(emitted, dtype=np.int64) - emitted
    rounds = _Rounds(
        owner=np.repeat(owner, count),
        share_s=share_s[np.repeat(first_step - leads, count) + number],
        start=before + np.repeat(bounds[owner] + position - before[leads], count),
        end=np.repeat(bounds[owner + 1], count),
        emitted=emitted,
        drafted=drafted,
        # what a round emits by force is among its undrafted tokens; a round of idle width accepts nothing
        accepted=np.clip(emitted - 1 - undrafted, 0, drafted),
    )
    _add_rounds(total, attempts, rounds)
    _add_labels(total, attempts, rounds, own_labels)


def _outputs_of(attempts: I64, labels: U8, offsets: I64) -> tuple[U8, I64]:
    """Labels of the outputs of *attempts* end to end, and where each output begins and the last one ends."""
    lengths = offsets[attempts + 1] - offsets[attempts]
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    if attempts[-1] - attempts[0] + 1 == attempts.size:
        return labels[offsets[attempts[0]] : offsets[attempts[-1] + 1]], bounds
    return labels[np.repeat(offsets[attempts] - bounds[:-1], lengths) + np.arange(bounds[-1])], bounds


def empty(n_attempts: int, gamma: int) -> Attribution:
    """Sums of nothing."""
    by_attempt: dict[str, Any] = zeros_apart(n_attempts, _BY_ATTEMPT)
    by_class: dict[str, Any] = zeros_apart(n_attempts * N_CLASSES, _BY_CLASS)
    by_subclass: dict[str, Any] = {
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
        round_share_by_subclass=np.zeros(N_SUBCLASSES),
        decode_gpu_s_by_subclass=np.zeros(N_SUBCLASSES),
        accepted_per_pos=np.zeros(gamma, dtype=np.int64),
        **by_attempt,
        **{name: column.reshape(n_attempts, N_CLASSES) for name, column in by_class.items()},
        **by_subclass,
    )


_BY_ATTEMPT = {
    "decode_gpu_s": np.float64,
    "rounds": np.int64,
    "drafts": np.int64,
    "draft_tokens": np.int64,
    "accepted_tokens": np.int64,
}
_BY_CLASS = {"decode_gpu_s_by_class": np.float64, "drafted_by_class": np.int64, "accepted_by_class": np.int64}


def _parts(segments: I64) -> list[I64]:
    """Segments in groups of about CHUNK_ROUNDS rounds; those of one attempt stay together."""
    attempt, ends = segments[:, 0], np.cumsum(segments[:, 3])
    parts = []
    low, before = 0, 0
    while low < len(segments):
        high = int(np.searchsorted(ends, before + CHUNK_ROUNDS)) + 1
        high = int(np.searchsorted(attempt, attempt[min(high, len(segments)) - 1], side="right"))
        parts.append(segments[low:high])
        low, before = high, int(ends[high - 1])
    return parts


def _add_rounds(total: Attribution, attempts: I64, rounds: _Rounds) -> None:
    """Add what does not depend on labels."""
    owner, drafted = rounds.owner, rounds.drafted
    count = attempts.size
    total.decode_gpu_s[attempts] += np.bincount(owner, rounds.share_s, count)
    total.rounds[attempts] += np.bincount(owner, minlength=count)
    if not drafted.any():
        return
    accepted = rounds.accepted
    for column, values in (
        (total.drafts, drafted > 0),
        (total.draft_tokens, drafted),
        (total.accepted_tokens, accepted),
    ):
        column[attempts] += np.bincount(owner, values, count).astype(np.int64)
    per_depth = np.bincount(accepted, minlength=total.accepted_per_pos.size + 1)[1:]
    total.accepted_per_pos += per_depth[::-1].cumsum()[::-1]


def _add_labels(total: Attribution, attempts: I64, rounds: _Rounds, labels: U8) -> None:
    """Add what goes by the *labels* of tokens."""
    start, emitted, drafted, accepted = rounds.start, rounds.emitted, rounds.drafted, rounds.accepted
    total.rounds_by_subclass += np.bincount(labels[start], minlength=N_SUBCLASSES)
    rejected = (accepted < drafted) & (start + accepted + 1 < rounds.end)
    total.rejected_by_subclass += np.bincount(labels[(start + accepted)[rejected]], minlength=N_SUBCLASSES)
    stops = [start + emitted]
    if drafted.any():
        stops += [np.minimum(start + drafted, rounds.end), start + accepted]
    paid_per_token = rounds.share_s / emitted
    before = np.zeros(labels.size + 1, dtype=np.int32)
    for subclass in np.flatnonzero(np.bincount(labels, minlength=N_SUBCLASSES)).tolist():
        np.cumsum(labels == subclass, out=before[1:])
        at_start = before[start]
        n_emitted, *n_drafts = (before[stop] - at_start for stop in stops)
        position_class = CLASS_OF_SUBCLASS[subclass]
        paid = paid_per_token * n_emitted
        total.round_share_by_subclass[subclass] += float((n_emitted / emitted).sum())
        total.emitted_by_subclass[subclass] += int(n_emitted.sum())
        total.decode_gpu_s_by_subclass[subclass] += float(paid.sum())
        total.decode_gpu_s_by_class[attempts, position_class] += np.bincount(rounds.owner, paid, attempts.size)
        if n_drafts:
            _add_drafts(total, attempts, rounds.owner, (subclass, position_class), n_drafts)


def _add_drafts(
    total: Attribution, attempts: I64, owner: I64, label: tuple[int, int], n_drafts: Sequence[npt.NDArray[np.int32]]
) -> None:
    """Add draft positions of one *label* (sub-class, class), and those accepted, a round."""
    subclass, position_class = label
    columns = (
        (total.drafted_by_subclass, total.drafted_by_class),
        (total.accepted_by_subclass, total.accepted_by_class),
    )
    for (by_subclass, by_class), counts in zip(columns, n_drafts, strict=True):
        by_subclass[subclass] += int(counts.sum())
        by_class[attempts, position_class] += np.bincount(owner, counts, attempts.size).astype(np.int64)
