"""What the documents show as console output is what the commands print.

``python -m tests.docs.test_console_blocks`` writes the present output into the documents.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"```console\n\$ simtool (?P<args>[^\n]*)\n(?P<output>.*?)```", re.DOTALL)
DOCUMENTS = [
    path for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))) if BLOCK.search(path.read_text())
]


def output_of(args: str) -> str:
    env = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    command = [sys.executable, "-m", "simtool", *shlex.split(args)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=env, check=True)  # noqa: S603
    return "".join(line.rstrip() + "\n" for line in done.stdout.splitlines())


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_shown_output_is_real(document: Path) -> None:
    for block in BLOCK.finditer(document.read_text()):
        assert block["output"] == output_of(block["args"])


def test_some_document_shows_output() -> None:
    assert ROOT / "README.md" in DOCUMENTS


def rewrite() -> None:
    for document in DOCUMENTS:
        text = document.read_text()
        document.write_text(BLOCK.sub(lambda m: f"```console\n$ simtool {m['args']}\n{output_of(m['args'])}```", text))


if __name__ == "__main__":
    rewrite()
