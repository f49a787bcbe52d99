"""The made parts of the documents are current, and what they say of vLLM's flags is so."""

from __future__ import annotations

from pathlib import Path

import pytest

from scenarios.options.settings import all_options
from tests.docs import cli_reference, vllm_flags
from tests.docs.generated import MARK, PARTS, regenerated
from tests.docs.pages import ROOT, name_of, pages

MADE = [page for page in pages() if MARK.search(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", MADE, ids=name_of)
def test_made_parts_are_current(page: Path) -> None:
    assert page.read_text(encoding="utf-8") == regenerated(page), "run python -m tests.docs.regenerate"


def test_every_part_stands_somewhere() -> None:
    found = [match["name"] for page in MADE for match in MARK.finditer(page.read_text(encoding="utf-8"))]
    assert sorted(found) == sorted(PARTS)


def test_reference_has_every_option_of_every_command() -> None:
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    for name, command in cli_reference.leaves():
        assert f"### {name}\n" in text
        for one in command.params:
            assert f"{one.opts[0]}" in text or one.param_type_name == "argument", (name, one.name)


def test_same_names_exist() -> None:
    assert vllm_flags.unknown() == []


def test_options_named_as_targets_exist() -> None:
    parts = (vllm_flags.SERVE, vllm_flags.SPECULATION, vllm_flags.BENCH)
    keys = [given for part in parts for given in part.values() if given is not None and given.isidentifier()]
    assert set(keys) <= set(all_options())
