"""Every relative link of the documents leads to a file, and every anchor to a heading."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import FENCE, ROOT, name_of, pages

LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?P<target>[^)\s]+)\)")
HEADING = re.compile(r"^#{1,6}\s+(?P<title>.+?)\s*$", re.MULTILINE)
EXTERNAL = re.compile(r"^[a-z]+:")


def prose(page: Path) -> str:
    return re.sub(r"`[^`\n]*`", "", FENCE.sub("", page.read_text(encoding="utf-8")))


def anchors(page: Path) -> set[str]:
    """The anchors that a forge makes of the headings of *page*."""
    found: dict[str, int] = {}
    for match in HEADING.finditer(FENCE.sub("", page.read_text(encoding="utf-8"))):
        title = re.sub(r"[^\w\- ]", "", match["title"].replace("`", "").lower()).replace(" ", "-")
        found[title] = found.get(title, -1) + 1
        if found[title]:
            found[f"{title}-{found[title]}"] = 0
    return set(found)


def broken(page: Path) -> list[str]:
    found = []
    for match in LINK.finditer(prose(page)):
        target = match["target"]
        if EXTERNAL.match(target):
            continue
        path, _, anchor = target.partition("#")
        file = page if not path else (page.parent / path).resolve()
        if not file.exists() or not file.is_relative_to(ROOT) or (anchor and anchor not in anchors(file)):
            found.append(target)
    return found


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    assert broken(page) == []


def test_broken_links_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.docs.test_links.ROOT", tmp_path)
    page = tmp_path / "a.md"
    page.write_text("# One `two`\n[a](#one-two) [b](#none) [c](b.md) [d](https://example.org) ![e](x.png)\n")
    assert broken(page) == ["#none", "b.md"]


def test_every_document_is_in_the_index() -> None:
    index = ROOT / "docs" / "README.md"
    linked = {(index.parent / m["target"].partition("#")[0]).resolve() for m in LINK.finditer(prose(index))}
    assert {page for page in (ROOT / "docs").rglob("*.md") if page != index} - linked == set()
