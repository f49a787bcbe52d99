"""What docs/compare.md shows of a comparison is what the command prints.

``python -m tests.docs.test_compare_doc`` writes the present lines of the same labels into the document.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from scenarios.runs.outputs import write_outputs
from tests.docs.pages import ROOT, Block, blocks
from tests.docs.running import printed_by
from tests.scenarios.comparison.conftest import asked_of

DOCUMENT = ROOT / "docs" / "compare.md"
RUNS = {
    "gamma4": {"gamma": 4},
    "gamma8": {"gamma": 8},
    "off": {"gamma": 4, "enable_prefix_caching": False},
}
PAIRS = (("gamma4", "gamma8"), ("off", "gamma4"))


def printed(folder: Path) -> list[list[str]]:
    """The lines of each comparison shown."""
    for name, given in RUNS.items():
        write_outputs(asked_of(given), folder / name)
    commands = (["compare", str(folder / a), str(folder / b)] for a, b in PAIRS)
    return [[line.rstrip() for line in printed_by(command, COLUMNS="120").splitlines()] for command in commands]


def labelled(lines: Iterable[str]) -> Iterator[tuple[tuple[str, str], str]]:
    """Each line under the title of its paragraph and its own first cell."""
    title = ""
    for line in lines:
        label = re.split(r":|\s{2,}", line.strip())[0]
        title = title or label
        yield (title, label), line
        if not line:
            title = ""


def rewritten(text: str, shown: list[list[str]]) -> str:
    """*text* with the present lines; where several have one title and label, the first."""
    parts, at = [], 0
    for block, lines in zip(plain_blocks(text), shown, strict=True):
        present = dict(reversed(list(labelled(lines))))
        kept = (present[key] if line else "" for key, line in labelled(block.body.splitlines()))
        parts += [text[at : block.start], *(f"{line}\n" for line in kept)]
        at = block.end
    return "".join([*parts, text[at:]])


def plain_blocks(text: str) -> list[Block]:
    return [block for block in blocks(text) if not block.language]


def test_shown_lines_are_printed(tmp_path: Path) -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert rewritten(text, printed(tmp_path)) == text


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        DOCUMENT.write_text(rewritten(DOCUMENT.read_text(encoding="utf-8"), printed(Path(folder))), encoding="utf-8")


if __name__ == "__main__":
    main()
