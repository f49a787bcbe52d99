from __future__ import annotations

from pathlib import Path

import pytest

from scenarios.acceptance.headtree import read_tree, tree_figures
from simulator.cost import DeclaredCost, TreeCost
from simulator.cost.model import PrefillWork
from simulator.lawcosts import read_back

SAMPLE = "sample"
LAW = ("--c-t-ms", "20", "--delta", "0.004", "--d", "0.1", "--overhead", "0.05")
ALONE = ("--max-concurrency", "1")
CHAIN = """
name = "chain"
paths = [[0], [0, 0], [0, 0, 0], [0, 0, 0, 0]]
topk = [[0.6], [0.6], [0.6], [0.6]]
draft_passes = 4
"""


def test_a_step_of_trees_costs_what_the_declaration_says() -> None:
    declared = read_tree("medusa-1")
    tree = declared.tree()
    base = DeclaredCost(c_T_s=0.02, delta=0.0036, d=0.1, overhead=0.05, prefill_s_per_token=1e-5)
    cost = TreeCost(base=base, nodes=tree.width, draft_passes=3.0, head_cost=declared.head_cost)
    costs = read_back(cost, n_seqs=1, context_tokens=100, gamma=tree.width)
    wanted = tree.round_cost_over_c_T(0.0036, 3.0, 0.1, 0.05 + declared.head_cost)
    assert costs.round_cost(tree.width) == pytest.approx(wanted)
    assert costs.spread(tree.width, tree.depth).round_cost(tree.depth) == pytest.approx(wanted)
    prefill = PrefillWork(tokens=50, pairs=1275, context_tokens=0, last_tokens=1)
    mixed = cost.step(1, tree.width, 100, tree.width, prefill)
    assert mixed.decode_s == pytest.approx(0.02 * wanted)
    assert mixed.prefill_s == pytest.approx(50e-5)
    assert cost.decode_s(2, 0.0, 100, 0.0) == pytest.approx(0.02)


def test_a_chain_written_as_a_tree_replays_like_the_chain(replayed, tmp_path: Path) -> None:
    file = tmp_path / "chain.toml"
    file.write_text(CHAIN)
    as_tree = replayed("--draft-tree", str(file), *LAW, "--speculative-method", "eagle")
    eps = "S=0.4,R=0.4,F=0.4"
    as_chain = replayed("--gamma", "4", "--eps", eps, *LAW, "--speculative-method", "eagle")
    assert as_tree["replay"] == as_chain["replay"]
    for mine, theirs in zip(as_tree["comparison"], as_chain["comparison"], strict=True):
        for name in ("law", "exact", "sampled"):
            assert mine[name] == pytest.approx(theirs[name])


def test_the_replay_of_a_tree_gives_what_its_figures_say(replayed) -> None:
    document = replayed("--draft-tree", "medusa-2-high", *LAW, *ALONE)
    declared = read_tree("medusa-2-high")
    figures = tree_figures(declared, 0.004, 0.1, 0.05)
    tokens, saving = document["comparison"]
    assert tokens["exact"] == pytest.approx(figures.tokens_per_round, rel=0.01)
    assert tokens["sampled"] == pytest.approx(tokens["exact"], rel=0.03)
    assert saving["exact"] == pytest.approx(figures.net_saving, abs=0.01)
    assert saving["sampled"] == pytest.approx(saving["exact"], abs=0.02)
    counted = document["replay"]["speculation"]
    assert counted["num_draft_tokens"] == declared.tree().width * counted["num_drafts"]
    assert len([rate for rate in counted["num_accepted_tokens_per_pos"] if rate]) == declared.tree().depth


def test_rates_by_class_part_the_classes(replayed, tmp_path: Path) -> None:
    file = tmp_path / "tree.toml"
    file.write_text(CHAIN + "[by_class.S]\ntopk = [[0.9], [0.9], [0.9], [0.9]]\n")
    document = replayed("--draft-tree", str(file), *LAW)
    tau = {one["label"]: one["tau"] for one in document["classes"]}
    assert tau["S"] > 2 * tau["F"]
    assert read_tree(str(file)).tree().tokens_per_round == pytest.approx(sum(0.6**i for i in range(5)))
    shown = tree_figures(read_tree(str(file)), 0.0, 0.0, 0.0).tokens_per_round_by_class
    assert shown == {"S": pytest.approx(sum(0.9**i for i in range(5)))}


@pytest.mark.parametrize(
    ("args", "needed"),
    [
        (("--eps", "S=0.1,R=0.1,F=0.1"), "exclude each other"),
        (("--gamma", "S=8,R=2,F=0"), "drafted whole"),
        (("--gamma-by-batch-size", "1-8:4"), "drafted whole"),
        (("--confidence-threshold", "0.5"), "rule chains"),
        (("--grammar", "accept"), "rule chains"),
        (("--speculative-method", "ngram"), "drafts no trees"),
    ],
)
def test_what_does_not_go_with_a_tree_is_refused(cli, args: tuple[str, ...], needed: str) -> None:
    ran = cli("replay", SAMPLE, "--draft-tree", "medusa-1", *args)
    assert ran.code == 2
    assert needed in " ".join(ran.err.replace("│", " ").split())


def test_an_unusable_tree_names_its_file(cli, tmp_path: Path) -> None:
    file = tmp_path / "tree.toml"
    file.write_text(CHAIN + "[by_class.Q]\ntopk = [[0.9]]\n")
    ran = cli("replay", SAMPLE, "--draft-tree", str(file))
    assert ran.code == 3
    assert "tree.toml" in ran.err
    assert "by_class names Q" in " ".join(ran.err.split())


def test_without_speculation_the_tree_is_left_out(replayed) -> None:
    plain = replayed("--gamma", "0")
    assert replayed("--gamma", "0", "--draft-tree", "medusa-1")["replay"] == plain["replay"]


@pytest.mark.parametrize("command", [("optimize-gamma", SAMPLE), ("protocol", "run", "x")])
def test_commands_that_take_chains_say_so(cli, command: tuple[str, ...], tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = cli(*command, "--draft-tree", "medusa-1")
    assert ran.code == 2
    assert "--draft-tree" in ran.err
