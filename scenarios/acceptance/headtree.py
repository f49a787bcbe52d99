"""Draft trees of heads as declared in a file: tokens a round, verification width, and what is left as net."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import msgspec

from simulator.heads import HeadTree, best_tree, exclusive
from simulator.heads import Path as TreePath
from tokenclass.classes import PositionClass
from traces.errors import TraceError

MOST_NODES = 4096
SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 63, 96, 128, 192, 256)
"""Tree sizes among which the one of most net gain is looked for."""


class Rates(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How often candidates are right: `topk` or `topk_cumulative`."""

    topk: tuple[tuple[float, ...], ...] | None = None
    """By depth: probability that the target's token is exactly the candidate of rank 0, 1, ..., the path accepted."""
    topk_cumulative: tuple[tuple[float, ...], ...] | None = None
    """By depth: probability that it is among the first 1, 2, ... candidates."""

    def probabilities(self) -> tuple[tuple[float, ...], ...]:
        """The top-k probabilities by depth. Raises ValueError unless exactly one kind is declared."""
        if (self.topk is None) == (self.topk_cumulative is None):
            raise ValueError("declare topk or topk_cumulative, one of them")
        if self.topk is not None:
            return self.topk
        return tuple(exclusive(level) for level in self.topk_cumulative or ())


class TreeDeclaration(Rates, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A tree as a file declares it: how often candidates are right, and `paths` or `nodes`."""

    name: str
    source: str = ""
    by_class: dict[str, Rates] = {}
    """The same tree on tokens of one class, S, R or F, in place of the rates above."""
    paths: tuple[TreePath, ...] | None = None
    """Nodes, each by the ranks from the root to it."""
    nodes: int | None = None
    """Nodes of the tree that accepts most."""
    draft_passes: float = 0.0
    """Sequential passes of a drafter a round, each at d: none for heads on the last hidden state."""
    head_cost: float = 0.0
    """Cost of all heads a round, relative to c_T."""

    def tree(self, label: PositionClass | None = None) -> HeadTree:
        """The tree, with the rates of class *label* if it has its own. Raises ValueError for one that is not usable."""
        if label is not None and label.name in self.by_class:
            return HeadTree(self.tree().paths, self.by_class[label.name].probabilities())
        if (self.paths is None) == (self.nodes is None):
            raise ValueError("declare paths or nodes, one of them")
        if self.draft_passes < 0 or self.head_cost < 0:
            raise ValueError("draft_passes and head_cost must be at least 0")
        if self.paths is not None:
            return HeadTree(self.paths, self.probabilities())
        if not 1 <= (self.nodes or 0) <= MOST_NODES:
            raise ValueError(f"nodes is {self.nodes}; it must be within 1 and {MOST_NODES}")
        return best_tree(self.probabilities(), self.nodes or 0)


class TreeFigures(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a tree comes to; costs and speedups relative to rounds of one token at c_T."""

    tree: str
    source: str
    depth: int
    width: int
    """Tokens verified beside the target's own."""
    survival: tuple[float, ...]
    """Probability that 1, 2, ... tokens are accepted."""
    tokens_per_round: float
    delta: float
    d: float
    o: float
    draft_passes: float
    head_cost: float
    round_cost_over_c_T: float
    gross_speedup: float
    """As if a round cost a plain pass: drafts and width free."""
    net_speedup: float
    net_saving: float
    best_nodes: int
    """Size of the tree of most net gain by the same probabilities, of `SIZES`."""
    best_net_speedup: float
    break_even_delta: float
    """Verification overhead per token at which the net gain is gone; below 0: drafting alone costs more."""
    tokens_per_round_by_class: dict[str, float] = {}
    """Of the classes that the declaration knows apart."""


def shipped_trees() -> list[str]:
    """Names of the declarations that come with the tool."""
    return sorted(one.name.removesuffix(".toml") for one in (files("scenarios.acceptance") / "trees").iterdir())


def read_tree(reference: str) -> TreeDeclaration:
    """The declaration at a path, TOML or JSON, or the shipped one of that name. Raises TraceError."""
    path = Path(reference)
    if reference in shipped_trees():
        path = Path(str(files("scenarios.acceptance") / "trees" / f"{reference}.toml"))
    try:
        data = path.read_bytes()
        decode = msgspec.toml.decode if path.suffix == ".toml" else msgspec.json.decode
        found = decode(data, type=TreeDeclaration)
        _check(found)
    except OSError as error:
        mend = f"give a file, or one of {', '.join(shipped_trees())}"
        raise TraceError(reference, None, error.strerror or str(error), mend) from error
    except (msgspec.DecodeError, ValueError) as error:
        raise TraceError(reference, None, f"not a draft tree ({error})", "see docs/trees.md") from error
    return found


def _check(found: TreeDeclaration) -> None:
    """Raise ValueError for a tree that is not usable."""
    unknown = set(found.by_class) - {one.name for one in PositionClass}
    if unknown:
        raise ValueError(f"by_class names {', '.join(sorted(unknown))}; the classes are S, R and F")
    for label in (None, *PositionClass):
        found.tree(label)


def tree_figures(declared: TreeDeclaration, delta: float, d: float, o: float) -> TreeFigures:
    """The tree at verification overhead *delta* a token, drafter passes at *d* and overhead *o* a round."""
    tree = declared.tree()
    fixed = o + declared.head_cost

    def speedup(one: HeadTree) -> float:
        return one.tokens_per_round / one.round_cost_over_c_T(delta, declared.draft_passes, d, fixed)

    sized = [best_tree(declared.probabilities(), nodes) for nodes in SIZES]
    best = max([*sized, tree], key=speedup)
    net = speedup(tree)
    spare = tree.tokens_per_round - 1 - fixed - d * declared.draft_passes
    return TreeFigures(
        tree=declared.name,
        source=declared.source,
        depth=tree.depth,
        width=tree.width,
        survival=tree.survival,
        tokens_per_round=tree.tokens_per_round,
        delta=delta,
        d=d,
        o=o,
        draft_passes=declared.draft_passes,
        head_cost=declared.head_cost,
        round_cost_over_c_T=tree.round_cost_over_c_T(delta, declared.draft_passes, d, fixed),
        gross_speedup=tree.tokens_per_round,
        net_speedup=net,
        net_saving=1 - 1 / net,
        best_nodes=best.width,
        best_net_speedup=speedup(best),
        break_even_delta=spare / tree.width if tree.width else 0.0,
        tokens_per_round_by_class={
            one.name: declared.tree(one).tokens_per_round for one in PositionClass if one.name in declared.by_class
        },
    )
