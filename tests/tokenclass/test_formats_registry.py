"""Families by name, alias and declaration file."""

from __future__ import annotations

import json

import pytest

from tests.tokenclass.declared import DECLARED
from tokenclass import load_format_file, parse_output
from tokenclass.classes import PositionClass
from tokenclass.formats.registry import ALIASES, FAMILIES, get_family
from traces.errors import TraceError


def test_aliases_lead_to_families_and_hide_none():
    assert set(ALIASES.values()) <= set(FAMILIES)
    assert not set(ALIASES) & set(FAMILIES)
    assert get_family("qwen25") is FAMILIES["qwen3"]


@pytest.mark.parametrize(("name", "hint"), [("hermess", "hermes"), ("deepseek_v33", "deepseek_v3"), ("glm", "glm45")])
def test_unknown_names_are_answered_with_near_ones(name, hint):
    if name in ALIASES:
        assert get_family(name).name == hint
        return
    with pytest.raises(ValueError, match=hint):
        parse_output("x", name)


def test_auto_is_no_format():
    with pytest.raises(ValueError, match="detect_family"):
        parse_output("x", "auto")


def test_api_family_needs_blocks():
    with pytest.raises(ValueError, match="blocks"):
        parse_output("x", "openai_chat")


def test_blocks_that_differ_from_the_text_are_an_error():
    with pytest.raises(ValueError, match="offset 0"):
        parse_output("hello", "anthropic_messages", blocks=[{"type": "text", "text": "goodbye"}])


@pytest.mark.parametrize("suffix", [".toml", ".json"])
def test_a_declared_family_labels_its_format(tmp_path, suffix):
    path = tmp_path / f"acme{suffix}"
    declaration = {
        "name": "acme",
        "calls": {
            "kind": "xml",
            "section": ["<acme:calls>"],
            "section_close": ["</acme:calls>"],
            "call": {"open": "<call name=", "close": "</call>"},
            "parameter": {"open": "<arg name=", "close": "</arg>"},
        },
        "reasoning": {"openers": ["<acme:think>"], "closers": ["</acme:think>"]},
    }
    path.write_text(DECLARED if suffix == ".toml" else json.dumps(declaration))
    family = load_format_file(path)
    text = '<acme:think>hm</acme:think>ok <acme:calls><call name="f"><arg name="n">4</arg></call></acme:calls>'
    parsed = parse_output(text, family)
    assert [span.label for span in parsed.spans] == [PositionClass.R, PositionClass.F, PositionClass.S]
    assert parsed.calls == [{"name": "f", "arguments": {"n": 4}}]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('name = "a"\n[calls]\nkind = "yaml"\n', "unknown `kind` 'yaml'"),
        ('name = "a"\n[calls]\nkind = "json"\nopenerz = ["x"]\n', "openerz"),
        ('name = "a"\n[calls]\nkind = "json"\nopener = 3\n', "opener"),
        ("[calls]\nkind = 'json'\nopener = ['x']\n", "name"),
        ("name = \n", "not valid TOML"),
    ],
)
def test_a_wrong_declaration_names_file_and_key(tmp_path, content, said):
    path = tmp_path / "bad.toml"
    path.write_text(content)
    with pytest.raises(TraceError) as caught:
        load_format_file(path)
    assert "bad.toml" in str(caught.value)
    assert said in str(caught.value)


def test_a_missing_or_odd_file_is_an_error(tmp_path):
    with pytest.raises(TraceError, match="cannot be read"):
        load_format_file(tmp_path / "none.toml")
    odd = tmp_path / "x.yaml"
    odd.write_text("a: 1")
    with pytest.raises(TraceError, match="suffix"):
        load_format_file(odd)
