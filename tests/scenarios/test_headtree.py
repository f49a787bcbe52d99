"""Draft trees from files: figures, the published ones among them, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scenarios.acceptance.headtree import TreeDeclaration, TreeFigures, read_tree, shipped_trees, tree_figures
from simulator import law
from tests.simtool.run import simtool
from traces.errors import TraceError

DOC = Path(__file__).parents[2] / "docs" / "trees.md"


def figures(name: str) -> TreeFigures:
    return tree_figures(read_tree(name), 0.0036, 0.1125, 0.05)


@pytest.mark.parametrize(("name", "gross"), [("medusa-1", 2.2), ("medusa-2-low", 2.3), ("medusa-2-high", 3.6)])
def test_published_gross_figures_and_their_net(name: str, gross: float) -> None:
    found = figures(name)
    assert found.gross_speedup == pytest.approx(gross, rel=0.01)
    cost = 1 + 0.05 + 0.02 + 0.0036 * found.width
    assert found.net_speedup == pytest.approx(found.tokens_per_round / cost)
    assert 1 < found.net_speedup <= found.best_net_speedup < found.gross_speedup
    at_break_even = tree_figures(read_tree(name), found.break_even_delta, 0.1125, 0.05)
    assert at_break_even.net_saving == pytest.approx(0, abs=1e-9)


def test_a_chain_is_the_law() -> None:
    chain = TreeDeclaration(name="c", topk=((0.7,),) * 4, paths=((0,), (0, 0), (0, 0, 0), (0, 0, 0, 0)), draft_passes=4)
    found = tree_figures(chain, 0.01, 0.1, 0.05)
    assert found.net_speedup == pytest.approx(law.speedup(0.3, 4, 0.01, 0.1, 0.05))


def test_cumulative_accuracies_are_the_same_tree() -> None:
    exact = TreeDeclaration(name="a", topk=((0.6, 0.2), (0.5, 0.1)), nodes=4)
    summed = TreeDeclaration(name="a", topk_cumulative=((0.6, 0.8), (0.5, 0.6)), nodes=4)
    assert summed.tree().tokens_per_round == pytest.approx(exact.tree().tokens_per_round)


@pytest.mark.parametrize(
    "text",
    [
        'name = "a"',
        'name = "a"\nnodes = 3',
        'name = "a"\nnodes = 0\ntopk = [[0.5]]',
        'name = "a"\nnodes = 2\npaths = [[0]]\ntopk = [[0.5]]',
        'name = "a"\nnodes = 2\ntopk = [[0.5]]\ntopk_cumulative = [[0.5]]',
        'name = "a"\nnodes = 2\ntopk = [[0.7, 0.6]]',
        'name = "a"\nnodes = 2\ntopk_cumulative = [[0.7, 0.6]]',
        'name = "a"\npaths = [[0, 0]]\ntopk = [[0.5], [0.5]]',
        'name = "a"\nnodes = 2\ntopk = [[0.5]]\nhead_cost = -1',
        'name = "a"\nnodes = 2\ntopk = [[0.5]]\nwidth = 3',
        "name = ",
    ],
)
def test_unusable_declarations_are_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "tree.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(TraceError, match="not a draft tree"):
        read_tree(str(file))


def test_an_unknown_name_says_which_there_are() -> None:
    with pytest.raises(TraceError, match="medusa-1"):
        read_tree("medusa-7")


def test_the_documented_declaration_and_table_hold(tmp_path: Path) -> None:
    text = DOC.read_text(encoding="utf-8")
    declared = re.search(r"```toml\n(.*?)```", text, re.DOTALL)
    assert declared is not None
    file = tmp_path / "mine.toml"
    file.write_text(declared[1], encoding="utf-8")
    assert read_tree(str(file)).tree().width == 12  # all that two depths of three candidates have
    for row in re.findall(r"^\| (medusa\S*) \| (.*) \|$", text, re.MULTILINE):
        found = figures(row[0])
        shown = (found.gross_speedup, found.net_speedup, found.best_nodes, found.best_net_speedup)
        assert row[1] == " | ".join(f"{one:.2f}" if isinstance(one, float) else str(one) for one in shown)


def test_the_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    result = simtool(capsys, monkeypatch, "law", "--tree", "medusa-1", "--delta", "0.0036", "--overhead", "0.05")
    assert "gross 2.22x, net 1.71x" in result.out
    assert simtool(capsys, monkeypatch, "law", "--tree", "medusa-1", "--kappa", "1").code == 2
    assert simtool(capsys, monkeypatch, "law", "--tree", "nowhere").code == 3
    assert "eagle-1" in shipped_trees()
