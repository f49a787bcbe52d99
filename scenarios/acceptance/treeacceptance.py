"""Acceptance of a draft tree in a replay: as many tokens as its likeliest path gives, at the width of all its nodes."""

from __future__ import annotations

from scenarios.acceptance.expected import AcceptanceChoice
from scenarios.acceptance.headtree import TreeDeclaration
from scenarios.options.parameters import ParameterBook
from scenarios.options.replay import OptionError, ReplayOptions
from simulator.acceptance.table import from_conditional
from simulator.origin import Origin
from tokenclass.classes import PositionClass


def tree_acceptance(declared: TreeDeclaration, options: ReplayOptions, book: ParameterBook) -> AcceptanceChoice:
    """The acceptance of the tree *declared*, each parameter recorded in *book*.

    Raises OptionError where another acceptance or a rule about the depth of chains is given beside it.
    """
    policy = options.policy
    if options.acceptance.given:
        raise OptionError("--draft-tree and --eps, --kappa, --acceptance-length, --profile exclude each other")
    if policy.gamma_by_class is not None or policy.gamma_by_batch_size is not None:
        raise OptionError("--draft-tree: a tree is drafted whole; give one --gamma, which its nodes take the place of")
    if policy.confidence_threshold is not None or policy.grammar == "accept":
        raise OptionError("--draft-tree: --confidence-threshold and --grammar accept rule chains of drafts, not trees")
    tree = declared.tree()
    by_class = {one: declared.tree(one).conditional for one in PositionClass if one.name in declared.by_class}
    table = from_conditional(tree.conditional, by_class)
    shown = " ".join(f"{value:.4g}" for value in tree.survival)
    source = declared.source or "given"
    told = f"by class for {', '.join(one.name for one in by_class)}" if by_class else "the same for all classes"
    book.add("acceptance", f"draft tree {declared.name}", Origin.DECLARED, f"{source}; {told}")
    book.add("draft_tree.survival", shown, Origin.DECLARED, "probability that 1, 2, ... tokens are accepted")
    return AcceptanceChoice(
        model=table,
        table=table,
        pessimistic=table,
        optimistic=table,
        eps=1.0 - table.table[:, 0],
        depths=(tree.width,),
        tree_depth=tree.depth,
    )
