"""Resolves how often turns are drawn: as recorded, a declared nu, or a gate."""

from __future__ import annotations

from dataclasses import fields

from scenarios.options.parameters import ParameterBook
from scenarios.options.replay import OptionError, ReplayOptions
from simulator.gate import gated
from simulator.gateconfig import GateConfig
from simulator.origin import Origin
from simulator.resample import resample
from simulator.workload import Workload


def draws_again(options: ReplayOptions) -> bool:
    """Whether turns may be drawn again, so that any prompt can be met twice."""
    return options.gate is not None or (options.nu is not None and options.nu > 1)


def drawn_workload(workload: Workload, options: ReplayOptions, book: ParameterBook) -> Workload:
    """*workload* with the draws that *options* ask for, recorded in *book*. Raises OptionError."""
    if options.gate is not None:
        if options.nu is not None:
            raise OptionError("--nu and --gate exclude each other: a gate's pass probabilities give nu")
        try:
            result = gated(workload, options.gate, options.seed)
        except ValueError as error:
            raise OptionError(str(error)) from error
        _declare(options.gate, book)
        book.add("nu", result.n_attempts / result.n_turns, Origin.DERIVED, "draws per turn under the gate")
        return result
    if options.nu is not None:
        book.add("nu", options.nu, Origin.DECLARED, "given: geometric draws of the accepted output")
        try:
            return resample(workload, options.nu, options.seed)
        except ValueError as error:
            raise OptionError(str(error)) from error
    book.add("nu", workload.n_attempts / workload.n_turns, Origin.MEASURED, "recorded attempts per turn")
    return workload


def _declare(gate: GateConfig, book: ParameterBook) -> None:
    source = "--gate or its default"
    for one in fields(gate):
        if one.name not in ("rules", "check_costs"):
            book.add(f"gate.{one.name}", getattr(gate, one.name), Origin.DECLARED, source)
    for rule in gate.rules:
        book.add(f"gate.pass.{rule.check}.{rule.kind}", rule.passing, Origin.DECLARED, "--gate")
    for cost in gate.check_costs:
        book.add(f"gate.{cost.check}_s", cost.seconds, Origin.DECLARED, "--gate: of the draws that reach it")
        book.add(f"gate.{cost.check}_gpu_s", cost.gpu_seconds, Origin.DECLARED, "--gate: of the draws that reach it")
