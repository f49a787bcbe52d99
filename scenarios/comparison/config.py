"""What was set differently in two results."""

from __future__ import annotations

from scenarios.answer import Answer
from scenarios.comparison.document import ConfigDifference
from scenarios.options.parameters import Parameter
from simulator.origin import Origin


def config_differences(a: Answer, b: Answer) -> list[ConfigDifference]:
    """Parameters whose values differ or that one result does not have: the declared ones first, each as in *a*."""
    names = [*a.config, *(name for name in b.config if name not in a.config)]
    found = [
        _difference(name, a.config.get(name), b.config.get(name))
        for name in names
        if name not in a.config or name not in b.config or a.config[name].value != b.config[name].value
    ]
    return sorted(found, key=lambda one: Origin.DECLARED not in (one.origin_a, one.origin_b))


def _difference(name: str, a: Parameter | None, b: Parameter | None) -> ConfigDifference:
    return ConfigDifference(
        name=name,
        a=None if a is None else a.value,
        b=None if b is None else b.value,
        origin_a=None if a is None else a.origin,
        origin_b=None if b is None else b.origin,
        source_a=None if a is None else a.source,
        source_b=None if b is None else b.source,
    )


def warnings(a: Answer, b: Answer) -> list[str]:
    """What beside the settings makes the results differ: trace, seed, versions."""
    found = []
    if a.trace.sha256 != b.trace.sha256:
        found.append(f"different traces: {a.trace.sha256[:16]} and {b.trace.sha256[:16]}")
    for name, of_a, of_b in (
        ("seeds", a.seed, b.seed),
        ("versions of simtool", a.version, b.version),
        ("modelled engines", a.modelled_engine, b.modelled_engine),
    ):
        if of_a != of_b:
            found.append(f"different {name}: {of_a} and {of_b}; part of the differences may come from that")
    return found
