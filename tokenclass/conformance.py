"""Checks the labelling against a file of labelled completions: ``python -m tokenclass.conformance CASES.jsonl``.

One JSON object a line: `id`, `family`, `text`, `spans`, `sub`, `calls`, `tools`, `prompt_tail`, and optionally
`ambiguous`, `blocks` (API families) and `tool_choice`. Prints one line a family and the first difference of each
miss. Exit code 0: all exact; 1: some miss; 3: the file cannot be used.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tokenclass.classes import Span, SubSpan
from tokenclass.formats.family import ReasoningEnd
from tokenclass.parse import ParsedOutput, parse_output
from traces.errors import TraceError

Run = tuple[int, int, str]


class Case(msgspec.Struct, frozen=True):
    """One labelled completion; offsets are code points, ends exclusive."""

    id: str
    family: str
    text: str
    spans: tuple[Run, ...]
    sub: tuple[Run, ...]
    calls: list[dict[str, Any]]
    tools: list[dict[str, Any]] = []
    prompt_tail: str = ""
    truncated: bool = False
    ambiguous: bool = False
    blocks: list[dict[str, Any]] | None = None
    tool_choice: str | None = None


class Tally:
    """Results of one family."""

    def __init__(self) -> None:
        self.total = 0
        self.ambiguous = 0
        self.misses: list[str] = []

    @property
    def exact(self) -> int:
        """Completions labelled exactly as the case says."""
        return self.total - len(self.misses)


def read_cases(path: Path) -> Iterator[Case]:
    """The cases of *path*, in order. Raises TraceError naming the line that cannot be used."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise TraceError(str(path), None, f"cannot be read: {error.strerror}", "name a JSON Lines file") from error
    decoder = msgspec.json.Decoder(Case)
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield decoder.decode(line)
        except (msgspec.ValidationError, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise TraceError(str(path), number, f"not a labelled completion: {error}", "see the module help") from error


def parse_case(case: Case, reasoning_end: str = ReasoningEnd.STRICT) -> ParsedOutput:
    """Label the case's text with what the case says about its request."""
    return parse_output(
        case.text,
        case.family,
        case.tools,
        case.prompt_tail,
        reasoning_end=reasoning_end,
        blocks=case.blocks,
        tool_choice=case.tool_choice,
    )


def first_difference(case: Case) -> str | None:
    """What first differs between the case and its labelling; None if nothing does.

    An ambiguous case is exact if either way of ending the reasoning gives its labels.
    """
    difference = _difference(case, parse_case(case))
    if difference is None or not case.ambiguous:
        return difference
    other = _difference(case, parse_case(case, ReasoningEnd.TOOL_TOKEN))
    return None if other is None else difference


def _difference(case: Case, found: ParsedOutput) -> str | None:
    for what, expected, got in (("span", case.spans, found.spans), ("sub-span", case.sub, found.sub)):
        difference = _run_difference(case.text, what, expected, got)
        if difference is not None:
            return difference
    for index in range(max(len(case.calls), len(found.calls))):
        want = case.calls[index] if index < len(case.calls) else None
        have = found.calls[index] if index < len(found.calls) else None
        if want != have:
            return f"call {index}: expected {want!r}, found {have!r}"
    return None


def _run_difference(
    text: str, what: str, expected: Sequence[Run], got: Sequence[Span] | Sequence[SubSpan]
) -> str | None:
    runs = [(start, end, label.name) for start, end, label in got]
    for index in range(max(len(expected), len(runs))):
        want = expected[index] if index < len(expected) else None
        have = runs[index] if index < len(runs) else None
        if want != have:
            return f"{what} {index}: expected {_shown(text, want)}, found {_shown(text, have)}"
    return None


def _shown(text: str, run: Run | None) -> str:
    if run is None:
        return "none"
    start, end, label = run
    excerpt = text[start:end] if end - start <= 40 else text[start : start + 30] + "…" + text[end - 8 : end]
    return f"{label} [{start}, {end}) {excerpt!r}"


def check(path: Path) -> dict[str, Tally]:
    """Label every case of *path*; results by family in order of first appearance. Raises TraceError."""
    tallies: dict[str, Tally] = {}
    for number, case in enumerate(read_cases(path), 1):
        tally = tallies.setdefault(case.family, Tally())
        tally.total += 1
        tally.ambiguous += case.ambiguous
        try:
            difference = first_difference(case)
        except ValueError as error:
            raise TraceError(str(path), number, str(error), "mend the case or leave it out") from error
        if difference is not None:
            tally.misses.append(f"{case.id}: {difference}")
    return tallies


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the check from the command line; returns the exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if len(arguments) != 1 or arguments[0] in ("-h", "--help"):
        print(__doc__)  # noqa: T201
        return 0 if len(arguments) == 1 else 3
    try:
        tallies = check(Path(arguments[0]))
    except TraceError as error:
        print(error, file=sys.stderr)  # noqa: T201
        return 3
    for family, tally in tallies.items():
        print(f"{family}: {tally.exact}/{tally.total} exact")  # noqa: T201
        for miss in tally.misses:
            print(f"    {miss}")  # noqa: T201
    exact = sum(tally.exact for tally in tallies.values())
    total = sum(tally.total for tally in tallies.values())
    ambiguous = sum(tally.ambiguous for tally in tallies.values())
    print(f"all: {exact}/{total} exact, {len(tallies)} families, {ambiguous} ambiguous")  # noqa: T201
    return 0 if exact == total else 1


if __name__ == "__main__":
    sys.exit(main())
