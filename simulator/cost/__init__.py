"""Time of an engine step: declared by the law's constants, derived from hardware, or read from a measured table."""

from simulator.cost.declared import DeclaredCost
from simulator.cost.efficiency import DEFAULT_EFFICIENCY, EFFICIENCIES, FITTED, Efficiency, efficiency_of, source_of
from simulator.cost.model import CostModel, Number, PrefillWork, StepCost
from simulator.cost.roofline import RooflineCost
from simulator.cost.table import PrefillTable, TableCost
from simulator.cost.tree import TreeCost

__all__ = [
    "DEFAULT_EFFICIENCY",
    "EFFICIENCIES",
    "FITTED",
    "CostModel",
    "DeclaredCost",
    "Efficiency",
    "Number",
    "PrefillTable",
    "PrefillWork",
    "RooflineCost",
    "StepCost",
    "TableCost",
    "TreeCost",
    "efficiency_of",
    "source_of",
]
