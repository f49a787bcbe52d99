"""The page in a browser: drawn, silent, offline, sortable, in both schemes, at two widths."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from scenarios.report.page import render
from scenarios.report.subjects import read_subject
from scenarios.report.theme import DARK, LIGHT
from tests.scenarios.report.browser import Browser
from tests.scenarios.report.conftest import Checked, Made

CHARTS = """const MARKS = '.mark-line path, .mark-symbol path, .mark-rect path';
    return [...document.querySelectorAll('.chart')].map(place => {
    const svg = place.querySelector('svg');
    const box = svg ? svg.getBoundingClientRect() : {width: 0, height: 0};
    const marks = svg ? svg.querySelectorAll(MARKS) : [];
    return [place.dataset.spec, box.width, box.height, marks.length, place.getBoundingClientRect().width];
})"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    chromium = Browser()
    yield chromium
    chromium.driver.quit()


@pytest.fixture(scope="module")
def pages(
    run: Made, steep: Made, hostile: Made, checked: Checked, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    made = {
        "run": [run.folder],
        "runs": [steep.folder, run.folder],
        "hostile": [hostile.folder],
        "law": [checked.path],
    }
    for name, paths in made.items():
        page = render(read_subject([str(path) for path in paths]))
        (folder / f"{name}.html").write_text(page.html, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in made}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("name", ["runs", "hostile", "law"])
def test_every_plot_is_drawn_silently_and_offline(
    browser: Browser, pages: dict[str, Path], name: str, width: int, scheme: str
) -> None:
    browser.open(pages[name], width=width, scheme=scheme)
    charts = browser.run(CHARTS)
    assert len(charts) >= 4
    for spec, chart_width, height, marks, room in charts:
        assert chart_width > 150, spec
        assert height > 100, spec
        assert chart_width <= room + 1, spec
        assert marks, spec
    assert browser.messages() == []
    assert browser.requests() == []
    assert browser.run("return document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(("scheme", "colours"), [("light", LIGHT), ("dark", DARK)])
def test_page_and_charts_follow_the_scheme(
    browser: Browser, pages: dict[str, Path], scheme: str, colours: dict[str, str]
) -> None:
    browser.open(pages["run"], scheme=scheme)
    paper, bar = browser.run(
        """const bar = document.querySelector('#acceptance-by-position .mark-rect path');
        return [getComputedStyle(document.body).backgroundColor, getComputedStyle(bar).fill]"""
    )
    assert paper == _rgb(colours["paper"])
    assert bar == _rgb(colours["with"])


def test_the_scheme_may_change_while_the_page_is_open(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["run"], scheme="light")
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "screen", "features": dark})
    fill = browser.run(
        "return getComputedStyle(document.querySelector('#acceptance-by-position .mark-rect path')).fill"
    )
    assert fill == _rgb(DARK["with"])


def test_paper_is_light_and_has_no_controls(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["run"], width=760, scheme="dark", media="print")
    assert browser.run("return getComputedStyle(document.body).backgroundColor") == _rgb(LIGHT["paper"])
    hidden = "return [...document.querySelectorAll('nav, .downloads')].every(e => e.offsetParent === null)"
    assert browser.run(hidden)
    assert browser.run("return document.documentElement.scrollWidth") <= 760


def test_tables_are_sorted_by_their_heads(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["run"])
    column = "return [...document.querySelectorAll('#classes tbody tr')].map(row => row.cells[1].dataset.value)"
    head = "document.querySelectorAll('#classes th')[1]"
    recorded = browser.run(column)
    for order, falling in (("ascending", False), ("descending", True)):
        browser.run(f"{head}.querySelector('button').click()")
        assert browser.run(f"return {head}.getAttribute('aria-sort')") == order
        assert browser.run(column) == sorted(recorded, key=int, reverse=falling)
    browser.run("document.querySelectorAll('#classes th')[0].querySelector('button').click()")
    names = browser.run("return [...document.querySelectorAll('#classes tbody th')].map(cell => cell.dataset.value)")
    assert names == sorted(names)


def test_a_table_wider_than_the_page_says_that_it_goes_on(browser: Browser, pages: dict[str, Path]) -> None:
    """At the edge that hides something it fades, a line above says so, and paper shows neither."""
    look = """const place = document.querySelector('#classes .scroll');
        const line = place.previousElementSibling;
        return [place.classList.contains('more-left'), place.classList.contains('more-right'),
            line.offsetParent !== null, getComputedStyle(place).maskImage !== 'none']"""
    browser.open(pages["run"], width=400)
    assert browser.run(look) == [False, True, True, True]
    settle = "return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    for where, seen in (("40", [True, True]), ("1e6", [True, False])):
        browser.run(f"document.querySelector('#classes .scroll').scrollLeft = {where}")
        browser.run(settle)
        assert browser.run(look) == [*seen, True, True]
    browser.open(pages["run"], width=1400)
    assert browser.run(look)[:3] == [False, False, False]
    browser.open(pages["run"], width=400, media="print")
    assert browser.run(look)[2:] == [False, False]


def test_definitions_open_on_focus_and_close_on_escape(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["run"], width=400)
    shown = """const box = document.getElementById('definition');
        const at = box.getBoundingClientRect();
        return [box.hidden, box.textContent, at.left, at.right]"""
    assert browser.run(shown)[0]
    for number in range(browser.run("return document.querySelectorAll('.card [data-term]').length")):
        browser.run(f"document.querySelectorAll('.card [data-term]')[{number}].focus()")
        hidden, text, left, right = browser.run(shown)
        assert not hidden
        assert text
        assert left >= 0
        assert right <= 400
        described = browser.run("return document.activeElement.getAttribute('aria-describedby')")
        assert described == "definition"
    browser.run("document.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'}))")
    assert browser.run(shown)[0]


def test_downloads_have_the_data_of_the_plot(browser: Browser, pages: dict[str, Path], run: Made) -> None:
    browser.open(pages["hostile"])
    held = """window.held = []; const real = Blob;
        window.Blob = function (parts, kind) { window.held.push(parts.join('')); return new real(parts, kind); };
        HTMLAnchorElement.prototype.click = function () { window.held.push(this.download); };
        document.querySelector('#tools [data-kind=csv]').click(); return window.held"""
    content, name = browser.run(held)
    assert name == "simtool-tools.csv"
    lines = content.strip().split("\r\n")
    assert lines[0] == "tool,runs,call_tokens,call_gpu_s,result_prefill_gpu_s,wait_s,usd"
    assert '"\'=HYPERLINK(""http://example.invalid"")"' in content
    assert not [line for line in lines if line.startswith(("=", '"=', "+", "@"))]


def test_hostile_text_runs_nothing(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["hostile"])
    assert browser.run("return window.pwned === undefined")
    assert browser.run("return document.querySelectorAll('img, iframe, object').length") == 0
    browser.run("for (const one of document.querySelectorAll('details')) one.open = true")
    assert "<img src=x onerror" in browser.run("return document.querySelector('#tools').textContent")
    assert browser.run("return window.pwned === undefined")


def test_tooltips_show_hostile_text_as_text(browser: Browser, pages: dict[str, Path]) -> None:
    from selenium.webdriver import ActionChains

    browser.open(pages["hostile"])
    bars = browser.driver.find_elements("css selector", "#tools .mark-rect path")
    shown = set()
    for bar in bars[::2]:
        browser.run("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", bar)
        ActionChains(browser.driver).move_to_element(bar).perform()
        shown.add(browser.run("return document.querySelector('#vg-tooltip-element').textContent"))
    assert any("<img src=x onerror" in text for text in shown)
    assert browser.run("return document.querySelectorAll('img').length") == 0
    assert browser.run("return window.pwned === undefined")


def _rgb(colour: str) -> str:
    return "rgb({}, {}, {})".format(*(int(colour[k : k + 2], 16) for k in (1, 3, 5)))
