"""Names that options take, for completion on the command line."""

from __future__ import annotations


def gpus() -> list[str]:
    """GPUs of the catalogue."""
    from simulator.hardware import GPUS

    return list(GPUS)


def models() -> list[str]:
    """Models of the catalogue."""
    from simulator.hardware.models import MODELS

    return list(MODELS)


def methods() -> list[str]:
    """Speculative methods."""
    from scenarios.drafters.base import drafters
    from simulator.config import SpeculativeMethod

    own = [method for method in SpeculativeMethod if method is not SpeculativeMethod.MODEL_FREE]
    return [*own, *drafters()]


def draft_trees() -> list[str]:
    """Draft trees that come with the tool."""
    from scenarios.acceptance.headtree import shipped_trees

    return shipped_trees()


def routers() -> list[str]:
    """Routing policies."""
    from simulator.router import router_names

    return router_names()


def recording_formats() -> list[str]:
    """Formats of recordings."""
    from traces.registry import readers

    return list(readers())


def output_formats() -> list[str]:
    """Formats of completion text."""
    from tokenclass.formats.registry import FAMILIES

    return list(FAMILIES)


def call_formats() -> list[str]:
    """Ways to write tool calls."""
    from tokenclass.callformats import CALL_FORMATS

    return list(CALL_FORMATS)
