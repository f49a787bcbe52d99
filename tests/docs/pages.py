"""The documents, and their code blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)


def pages() -> list[Path]:
    """Every Markdown document of the project."""
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@dataclass(frozen=True)
class Block:
    """A fenced block: what follows the fence, its lines, and where these stand in the page's text."""

    language: str
    file: str | None
    """Name that its text is kept under: ``file=NAME`` after the fence."""
    body: str
    start: int
    end: int
    follows: bool
    """Whether only blank lines stand between it and the block before."""


def blocks(text: str) -> Iterator[Block]:
    last = 0
    for match in FENCE.finditer(text):
        words = match["info"].split()
        files = [word.removeprefix("file=") for word in words if word.startswith("file=")]
        follows = last > 0 and not text[last : match.start()].strip()
        language = words[0] if words else ""
        yield Block(
            language, files[0] if files else None, match["body"], match.start("body"), match.end("body"), follows
        )
        last = match.end()
