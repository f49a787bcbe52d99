"""What the documents show as output of commands and of Python is what they print.

``python -m tests.docs.test_console_blocks [PAGE...]`` writes the present output into the documents.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, name_of, pages
from tests.docs.running import rewritten, runs

RUN = [page for page in pages() if runs(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", RUN, ids=name_of)
def test_shown_output_is_real(page: Path) -> None:
    assert page.read_text(encoding="utf-8") == rewritten(page)


def test_the_first_pages_show_output() -> None:
    assert {ROOT / "README.md", ROOT / "README.ko.md"} <= set(RUN)


def rewrite(wanted: list[str]) -> None:
    """Write the present output into the pages *wanted*, or into all."""
    for page in RUN:
        if not wanted or name_of(page) in wanted:
            page.write_text(rewritten(page), encoding="utf-8")


if __name__ == "__main__":
    rewrite(sys.argv[1:])
