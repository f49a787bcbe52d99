"""The page as a document: what stands where, and that no text of a recording becomes markup."""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios.report.embed import json_in_html, script_in_html
from scenarios.report.glossary import glossary
from scenarios.report.page import render
from scenarios.report.subjects import read_subject
from scenarios.report.verdicts import of_run
from simulator.config import MODELLED_ENGINE
from tests.scenarios.report.conftest import Checked, Made
from tests.scenarios.report.runs import BREAKOUTS
from traces.safetext import safe_line


@dataclass
class Page(HTMLParser):
    """Tags with their attributes, and the text outside scripts and styles."""

    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)
    inside: str = ""

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self.inside = tag

    def handle_endtag(self, tag: str) -> None:
        if tag == self.inside:
            self.inside = ""

    def handle_data(self, data: str) -> None:
        if self.inside == "script":
            self.scripts.append(data)
        elif not self.inside:
            self.texts.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", "".join(self.texts)).replace("\N{NO-BREAK SPACE}", " ")

    def count(self, tag: str) -> int:
        return sum(one == tag for one, _ in self.tags)


def _page(*paths: object, excerpt: bool = True) -> Page:
    page = Page()
    page.feed(render(read_subject([str(path) for path in paths]), excerpt=excerpt).html)
    return page


def test_the_verdict_comes_first_in_plain_words(run: Made) -> None:
    page = _page(run.folder)
    answer = run.asked.answer
    start = page.text[: page.text.index("Does it pay?")]
    assert f"Speculation at gamma {answer.verdict.gamma}" in start
    assert f"{answer.verdict.net_saving.value * 100:.1f} %" in start
    assert answer.verdict.advice in start


@pytest.mark.parametrize(
    ("pays", "holds", "words", "value"),
    [
        (True, True, "It pays", "saves 25.0 % (95 %: 20.0 % to 30.0 %)"),
        (True, False, "It pays, but that is not sure", "saves 25.0 %"),
        (False, True, "It does not pay", "adds 25.0 % (95 %: 20.0 % to 30.0 %)"),
        (None, True, "No clear difference", "by -2.0 % (95 %: -5.0 % to +1.0 %)"),
    ],
)
def test_verdicts_say_what_they_mean(run: Made, pays: bool | None, holds: bool, words: str, value: str) -> None:
    import msgspec

    verdict = run.asked.answer.verdict
    low, mid, high = {True: (0.2, 0.25, 0.3), False: (-0.3, -0.25, -0.2), None: (-0.01, 0.02, 0.05)}[pays]
    net = msgspec.structs.replace(verdict.net_saving, value=mid, low=low, high=high)
    changed = msgspec.structs.replace(verdict, pays=pays, holds_across_spread=holds, net_saving=net)
    headline = of_run(msgspec.structs.replace(run.asked.answer, verdict=changed))
    assert headline.answer == words
    assert value in headline.sentence


def test_the_footer_names_version_engine_seed_and_trace(run: Made, checked: Checked) -> None:
    for path, version, sha in (
        (run.folder, run.asked.answer.version, run.asked.answer.trace.sha256),
        (checked.path, checked.check.version, checked.check.trace_sha256),
    ):
        source = render(read_subject([str(path)])).html
        footer = source[source.index("<footer>") : source.index("</footer>")]
        assert all(part in footer for part in (version, MODELLED_ENGINE, "seed 0", sha))


def test_settings_assumptions_and_warnings_are_all_there(run: Made) -> None:
    text = _page(run.folder).text
    answer = run.asked.answer
    for name, one in answer.config.items():
        assert f"{name}" in text
        assert one.source in text
    for note in [*answer.assumptions, *answer.omissions, *answer.warnings]:
        assert note in text


def test_a_result_file_alone_says_what_is_left_out(run: Made) -> None:
    rendered = render(read_subject([str(run.folder / "summary.json")]))
    assert "latency" not in rendered.drawn
    assert "turns.parquet" in rendered.left_out["Latency distributions"]
    page = Page()
    page.feed(rendered.html)
    assert "Not drawn" in page.text
    assert "Latency distributions: it needs turns.parquet" in page.text


def test_equal_runs_give_equal_pages(run: Made) -> None:
    assert render(read_subject([str(run.folder)])).html == render(read_subject([str(run.folder)])).html


def test_nothing_points_outside(run: Made) -> None:
    page = _page(run.folder)
    for _, attributes in page.tags:
        for name in ("src", "href", "action", "data", "poster", "srcset"):
            target = attributes.get(name) or ""
            assert target == "" or target.startswith(("#", "data:"))
        assert not [name for name in attributes if name.startswith("on")]
    policy = next(
        one["content"]
        for tag, one in page.tags
        if tag == "meta" and "content" in one and "default-src" in one["content"]
    )
    assert policy.startswith("default-src 'none'")
    assert "unsafe-inline" not in policy.split("script-src")[1].split(";")[0]


def test_every_term_on_the_page_is_explained(run: Made, checked: Checked) -> None:
    for path in (run.folder, checked.path):
        used = {attributes["data-term"] for _, attributes in _page(path).tags if "data-term" in attributes}
        assert used
        assert used <= glossary().keys()


def test_terms_are_reached_by_keyboard(run: Made) -> None:
    for tag, attributes in _page(run.folder).tags:
        if "data-term" in attributes:
            assert tag == "button" or attributes["tabindex"] == "0"


def test_text_of_a_recording_stays_text(hostile: Made, run: Made) -> None:
    hostile_page, page = _page(hostile.folder), _page(run.folder)
    assert hostile_page.count("script") == page.count("script") == 3
    for tag in ("img", "svg", "iframe", "b "):
        assert hostile_page.count(tag) == 0
    assert {tag for tag, _ in hostile_page.tags} == {tag for tag, _ in page.tags}
    shown = [safe_line(text) for text in BREAKOUTS]
    tools = [row.tool for row in read_subject([str(hostile.folder)]).main.details.tools]
    assert set(tools) == set(shown)
    assert all(re.sub(r"\s+", " ", text) in hostile_page.text for text in shown)
    assert "\u202e" not in hostile_page.text
    assert "<b>run&" in hostile_page.text


def test_the_data_of_a_hostile_page_is_whole(hostile: Made) -> None:
    source = render(read_subject([str(hostile.folder)])).html
    start = source.index('<script type="application/json" id="report-data">')
    embedded = source[start:].split(">", 1)[1].split("</script>", 1)[0]
    assert not set("<>&\u2028\u2029") & set(embedded)
    data = json.loads(embedded)
    assert {row[0] for row in data["tables"]["tools"]["rows"]} == {safe_line(text) for text in BREAKOUTS}
    assert html.unescape(embedded) == embedded


@given(st.recursive(st.text() | st.integers(-(2**53), 2**53) | st.none(), lambda inner: st.lists(inner, max_size=4)))
def test_embedded_json_means_the_same_and_nothing_to_html(value: object) -> None:
    embedded = str(json_in_html(value))
    assert json.loads(embedded) == value
    assert not set("<>&\u2028\u2029") & set(embedded)


def test_a_script_cannot_end_its_element() -> None:
    assert "</script" not in script_in_html("let a = '</script>'; // <!--")
    assert "<!--" not in script_in_html("let a = '</script>'; // <!--")


def test_the_excerpt_can_be_left_out(run: Made) -> None:
    with_text, without = (_page(run.folder, excerpt=wanted) for wanted in (True, False))
    text = read_subject([str(run.folder)]).main.details.excerpt[0].parts[0].text.split("\n")[1]
    assert text in with_text.text
    assert text not in without.text
    assert text not in "".join(without.scripts)
