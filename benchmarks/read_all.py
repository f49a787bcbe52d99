"""What every folder of recordings holds, as a Markdown table: files, sessions, turns, calls and tokens by class.

Run by hand: python benchmarks/read_all.py FOLDER [--jobs N]

Each folder directly in FOLDER is a row. A file that by itself gives no session counts as left out, under its
reason; tokens are those of the target's tokenizer, of the attempts that count. Completion text is read in the
format that fits it best.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from scenarios.options.read import ReadOptions
from scenarios.recordings.outputsonly import outputs_only
from scenarios.recordings.recording import session_tagger
from tokenclass.classes import PositionClass
from tokenclass.detect import detect_family
from traces.errors import SimtoolError, TraceError
from traces.model import OpaqueBlock, RawBlock, Session, ToolCallBlock, Turn
from traces.readlog import ReadLog
from traces.registry import read_files, sniff
from traces.source import SourceFile, find_files

_PLAIN = "hermes"
"""Format of completions that follow none: without its tags everything in them is prose."""
_COLUMNS = (
    *("folder", "formats", "files", "left out", "sessions", "turns", "calls"),
    *("S", "R", "F", "no class", "recorded output", "invalid or omitted records", "s"),
)


@dataclass(slots=True)
class Row:
    """One folder."""

    name: str
    formats: Counter[str] = field(default_factory=Counter)
    files: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    omitted: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    def cells(self) -> tuple[str, ...]:
        """The row as text, in the order of the columns."""
        counts = self.counts
        numbers = [f"{counts[name]:,}" for name in ("sessions", "turns", "calls")]
        classes = [f"{counts[label.name]:,}" for label in PositionClass]
        rest = (f"{counts['opaque']:,}", f"{counts['recorded']:,}" if counts["with_usage"] else "-")
        said = (_listed(self.omitted), f"{self.seconds:.1f}")
        return (
            self.name,
            _listed(self.formats),
            str(self.files),
            _listed(self.left_out),
            *numbers,
            *classes,
            *rest,
            *said,
        )


def read_folder(folder: Path) -> Row:
    """Read and tag everything in *folder*."""
    row = Row(folder.name)
    started = time.perf_counter()
    groups: dict[str, list[SourceFile]] = {}
    for file in find_files([str(folder)]):
        row.files += 1
        try:
            name = sniff(file).name
        except TraceError as error:
            row.left_out[error.reason] += 1
            continue
        row.formats[name] += 1
        groups.setdefault(name, []).append(file)
        reason = _lone_reason(file, name)
        if reason is not None:
            row.left_out[reason] += 1
    for name, files in groups.items():
        _tag(files, name, row)
    row.seconds = time.perf_counter() - started
    return row


def _lone_reason(file: SourceFile, name: str) -> str | None:
    """Why *file* gives no session by itself; None if it gives one."""
    log = ReadLog(skip_invalid=True)
    try:
        next(read_files([file], log, name))
    except SimtoolError:
        return max(log.omitted, key=lambda kind: log.omitted[kind], default="no session in it")
    return None


def _sessions(files: Sequence[SourceFile], name: str, log: ReadLog) -> Iterator[Session]:
    try:
        yield from read_files(files, log, name)
    except TraceError as error:
        if "no usable session" not in error.reason:
            raise


def _tag(files: Sequence[SourceFile], name: str, row: Row) -> None:
    texts = [
        block.text
        for session in _sessions(files, name, ReadLog(skip_invalid=True))
        for turn in session.turns
        for block in turn.final.output
        if isinstance(block, RawBlock)
    ]
    best = max(detect_family(texts), key=lambda found: (found.family is not None, found.confidence))
    options = ReadOptions(output_format=best.family or _PLAIN, class_mix="F=1")
    log = ReadLog(skip_invalid=True)
    tagger = session_tagger(options)
    for session in map(_without_ids, _sessions(files, name, log)):
        row.counts["sessions"] += 1
        for turn in session.turns:
            _count(turn, row.counts)
        tokens = tagger.tag(outputs_only(session)).class_tokens
        for label in PositionClass:
            row.counts[label.name] += int(tokens[label])
    row.counts["F"] -= row.counts["opaque"]
    row.omitted += log.omitted


def _without_ids(session: Session) -> Session:
    """*session* with completions recorded as token ids alone, in a vocabulary not at hand, as bare counts."""
    turns = []
    for turn in session.turns:
        output = tuple(
            OpaqueBlock(tokens=len(block.token_ids))
            if isinstance(block, RawBlock) and block.token_ids and not block.text
            else block
            for block in turn.final.output
        )
        turns.append(replace(turn, attempts=(replace(turn.final, output=output),)))
    return replace(session, turns=tuple(turns))


def _count(turn: Turn, counts: Counter[str]) -> None:
    counts["turns"] += 1
    counts["calls"] += sum(isinstance(block, ToolCallBlock) for block in turn.final.output)
    counts["opaque"] += sum(
        block.tokens for block in turn.final.output if isinstance(block, OpaqueBlock) and block.label is None
    )
    usage = turn.final.usage
    if usage is not None and usage.output_tokens is not None:
        counts["with_usage"] += 1
        counts["recorded"] += usage.output_tokens


def _listed(counts: Counter[str]) -> str:
    return "; ".join(f"{number:,} {kind}" for kind, number in counts.most_common()) or "-"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    folders = sorted(path for path in options.folder.iterdir() if path.is_dir())
    print("| " + " | ".join(_COLUMNS) + " |")
    print("|" + " --- |" * len(_COLUMNS))
    with ProcessPoolExecutor(options.jobs) as pool:
        for row in pool.map(read_folder, folders):
            print("| " + " | ".join(cell.replace("|", "\\|") for cell in row.cells()) + " |", flush=True)


if __name__ == "__main__":
    main()
