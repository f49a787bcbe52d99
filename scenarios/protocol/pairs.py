"""R4: outputs of the same prompts with and without speculation, compared token by token.

A file holds JSON lines with an ``id`` and ``token_ids``, or is a serving benchmark's result with ``generated_texts``
in the order of the prompts; texts are compared by character.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from scenarios.protocol.results import Pair
from traces.errors import TraceError

_CONTEXT = 5


class Mismatch(msgspec.Struct, frozen=True, kw_only=True):
    """Where two outputs part first."""

    output: str
    position: int
    text: str
    """In words: the output, the place, and what stands on each side."""


class PairComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two files of outputs compared."""

    plain: str
    speculative: str
    outputs: int
    """Outputs in both files."""
    tokens: int
    """Tokens (characters of texts) compared and equal up to the first mismatch of each output."""
    mismatched: int
    first: Mismatch | None
    unpaired: int
    """Outputs in one file only."""


class _Row(msgspec.Struct):
    id: str | int
    token_ids: list[int]


class _Bench(msgspec.Struct):
    generated_texts: list[str]


def compare_pair(pair: Pair, folder: Path) -> PairComparison:
    """Compare the outputs of *pair*. Raises TraceError for files of another form."""
    plain, speculative = (_outputs(folder / name) for name in (pair.plain, pair.speculative))
    both = [name for name in plain if name in speculative]
    tokens = mismatched = 0
    first: Mismatch | None = None
    for name in both:
        ours, theirs = plain[name], speculative[name]
        at = _first_difference(ours, theirs)
        tokens += len(ours) if at is None else at
        if at is not None:
            mismatched += 1
            first = first or _mismatch(name, at, ours, theirs)
    return PairComparison(
        plain=pair.plain,
        speculative=pair.speculative,
        outputs=len(both),
        tokens=tokens,
        mismatched=mismatched,
        first=first,
        unpaired=len(plain) + len(speculative) - 2 * len(both),
    )


def _outputs(path: Path) -> dict[str, Sequence[int | str]]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise TraceError(str(path), None, f"cannot be read: {error.strerror}", "name an output file") from error
    try:
        texts = msgspec.json.decode(data, type=_Bench).generated_texts
        return {str(number): text for number, text in enumerate(texts)}
    except msgspec.DecodeError:
        pass
    found: dict[str, Sequence[int | str]] = {}
    for number, line in enumerate(data.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = msgspec.json.decode(line, type=_Row)
        except msgspec.DecodeError as error:
            raise TraceError(
                str(path), number, f"not an output: {error}", 'give rows like {"id": "p1", "token_ids": [1, 2]}'
            ) from error
        if str(row.id) in found:
            raise TraceError(str(path), number, f"output {row.id!r} stands twice", "give each prompt one output")
        found[str(row.id)] = row.token_ids
    return found


def _first_difference(ours: Sequence[int | str], theirs: Sequence[int | str]) -> int | None:
    for at, (one, other) in enumerate(zip(ours, theirs, strict=False)):
        if one != other:
            return at
    return None if len(ours) == len(theirs) else min(len(ours), len(theirs))


def _mismatch(name: str, at: int, ours: Sequence[int | str], theirs: Sequence[int | str]) -> Mismatch:
    low = max(0, at - _CONTEXT)

    def side(tokens: Sequence[int | str]) -> str:
        return repr(tokens[at]) if at < len(tokens) else "the end"

    before = list(ours[low:at])
    text = f"output {name} differs at token {at}: {side(ours)} without, {side(theirs)} with speculation, after {before}"
    return Mismatch(output=name, position=at, text=text)
