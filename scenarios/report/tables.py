"""Tables of a run that stand beside its plots."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from scenarios.answer import Answer
from scenarios.options.parameters import Parameter
from scenarios.report.plot import Cell, Column, Table, Unit
from scenarios.runs.metric import Metric, all_metrics
from scenarios.runs.runsummary import Distribution, RunSummary

Figure = Callable[[RunSummary], float | None]


@dataclass(frozen=True, slots=True)
class Block:
    """A table with its place and heading."""

    name: str
    section: str
    title: str
    table: Table
    row_terms: tuple[str | None, ...] = ()
    """Entry of the glossary that explains each row, where rows are figures."""


def blocks(answer: Answer) -> list[Block]:
    """The tables of *answer*, those that it has."""
    found = [
        _figures(answer, "figures-latency", "Latency and throughput", _latency(answer)),
        _figures(answer, "figures-cost", "Cost", [*_COST, *(_SOLVED if answer.replay.cost.tasks_with_outcome else ())]),
        _figures(answer, "figures-load", "Load", _LOAD),
        replace(_figures(answer, "figures-further", "Cost", _further()), title="Further figures"),
    ]
    if answer.comparison:
        found.append(Block("predictions", "What the drafts gain", "Law, expectation, replay", _comparison(answer)))
    if answer.classes:
        found.append(Block("classes", "What the drafts gain", "By token class", _classes(answer)))
    if answer.predictions:
        found.append(Block("rulings", "What the drafts gain", "The law's own predictions", _rulings(answer)))
    if answer.replay.goodput is not None:
        found.append(Block("objectives", "Latency and throughput", "Service level objectives", _objectives(answer)))
    if answer.replay.replicas:
        found.append(Block("replicas", "Load", "Replicas", _replicas(answer)))
    return found


def settings(config: Mapping[str, Parameter]) -> Table:
    """Every parameter with its origin."""
    columns = (
        Column("parameter", "parameter", Unit.TEXT),
        Column("value", "value", Unit.TEXT),
        Column("origin", "origin", Unit.TEXT, "origin"),
        Column("source", "where it comes from", Unit.TEXT),
    )
    return Table(
        columns,
        [(name, _value(one.value), one.origin.value, one.source) for name, one in config.items()],
    )


def _value(value: Cell | bool) -> str:
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _figures(answer: Answer, name: str, section: str, figures: list[tuple[str, Figure, str | None]]) -> Block:
    ours, theirs = answer.replay, answer.baseline
    columns = [Column("figure", "figure", Unit.TEXT), Column("replay", f"gamma {ours.gamma}")]
    if theirs is not None:
        columns += [Column("baseline", "without"), Column("change", "change", Unit.CHANGE)]
    rows: list[tuple[Cell, ...]] = []
    for label, of, _ in figures:
        own = of(ours)
        if theirs is None:
            rows.append((label, own))
            continue
        base = of(theirs)
        rows.append((label, own, base, own / base - 1 if own is not None and base else None))
    terms = tuple(term for _, _, term in figures)
    return Block(name, section, f"{section} in figures", Table(tuple(columns), rows), terms)


def _latency(answer: Answer) -> list[tuple[str, Figure, str | None]]:
    marks = [mark for mark in answer.replay.ttft_s if mark.startswith("p")]
    found: list[tuple[str, Figure, str | None]] = [
        ("output tokens/s", lambda run: run.output_throughput_tokens_per_s, "throughput"),
        ("requests/s", lambda run: run.request_throughput_per_s, None),
    ]
    for title, name, term in (
        ("TTFT", "ttft_s", "TTFT"),
        ("TPOT", "tpot_s", "TPOT"),
        ("ITL a step", "itl_per_step_s", "ITL"),
        ("E2EL", "e2el_s", "E2EL"),
    ):
        found += [(f"{title} {mark}, ms", _at(name, mark, 1e3), term) for mark in marks]
    found += [(f"session {mark}, s", _at("session_s", mark, 1.0), "session time") for mark in marks]
    return found


def _at(name: str, mark: str, scale: float) -> Figure:
    def figure(run: RunSummary) -> float | None:
        values: Distribution = getattr(run, name)
        value = values.get(mark)
        return None if value is None else value * scale

    return figure


def _further() -> list[tuple[str, Figure, str | None]]:
    return [(one.heading, _metric(one), one.label) for one in all_metrics()]


def _metric(one: Metric) -> Figure:
    return lambda run: one.shown(run.metrics.get(one.name))


_SOLVED: list[tuple[str, Figure, str | None]] = [
    ("tasks solved, as recorded", lambda run: run.cost.solved_tasks, None),
    ("USD per 1,000 solved tasks, failures in it", lambda run: run.cost.usd_per_1000_solved_tasks, None),
]


_COST: list[tuple[str, Figure, str | None]] = [
    ("C_total, USD per 1,000 accepted turns", lambda run: run.cost.C_total_usd * 1e3, "C_total"),
    ("C_total, GPU s per accepted turn", lambda run: run.cost.C_total_s, "C_total"),
    ("USD per 1,000 sessions", lambda run: run.cost.session_usd * 1e3, None),
    ("attributed USD (steps)", lambda run: run.cost.attributed_usd, None),
    ("provisioned USD (wall time)", lambda run: run.cost.provisioned_usd, None),
    ("nu, draws per accepted turn", lambda run: run.cost.nu, "nu"),
    ("utilisation, %", lambda run: run.cost.utilization * 100, "utilisation"),
    ("energy, kWh per 1,000 sessions", lambda run: run.energy.kwh_per_1000_tasks, None),
    ("energy, joules per output token", lambda run: run.energy.joules_per_output_token, None),
]
_LOAD: list[tuple[str, Figure, str | None]] = [
    ("prefix cache hit rate h, by tokens, %", lambda run: run.prefix_cache_hit_rate_tokens * 100, "hit rate"),
    ("requests with a hit, %", lambda run: run.prefix_cache_hit_rate_requests * 100, None),
    ("KV use at most, %", lambda run: run.max_kv_cache_usage * 100, "KV use"),
    ("KV use, mean, %", lambda run: run.mean_kv_cache_usage * 100, "KV use"),
    ("requests running at most", lambda run: run.max_num_requests_running, "running"),
    ("requests waiting at most", lambda run: run.max_num_requests_waiting, "waiting"),
    ("KV blocks evicted", lambda run: run.num_evicted_blocks, None),
    ("preemptions", lambda run: run.num_preemptions, "preemptions"),
]


def _comparison(answer: Answer) -> Table:
    names = ("law", "exact", "sampled", "measured")
    return Table(
        (
            Column("quantity", "quantity", Unit.TEXT),
            *(Column(name, name, term=name) for name in names),
            Column("reason", "why they part", Unit.TEXT),
        ),
        [(row.quantity, row.law, row.exact, row.sampled, row.measured, row.reason) for row in answer.comparison],
    )


def _classes(answer: Answer) -> Table:
    return Table(
        (
            Column("class", "class", Unit.TEXT, "class"),
            Column("tokens", "tokens", Unit.COUNT),
            Column("share", "share", Unit.SHARE, "w_S"),
            Column("eps", "eps", term="eps"),
            Column("tau_law", "tau, law", term="tau"),
            Column("tau", "tau", term="tau"),
            Column("acceptance_rate", "accepted", Unit.SHARE, "acceptance rate"),
            Column("decode_s_per_token", "GPU time a token", Unit.SECONDS),
            Column("decode_s_per_token_baseline", "without", Unit.SECONDS),
            Column("usd", "decode cost", Unit.USD),
        ),
        [
            (
                row.label,
                row.tokens,
                row.share,
                row.eps,
                row.tau_law,
                row.tau,
                row.acceptance_rate,
                row.decode_s_per_token,
                row.decode_s_per_token_baseline,
                row.usd,
            )
            for row in answer.classes
        ],
    )


def _rulings(answer: Answer) -> Table:
    columns = (
        Column("prediction", "prediction", Unit.TEXT),
        Column("ruling", "ruling", Unit.TEXT),
        Column("reason", "figures", Unit.TEXT),
    )
    return Table(columns, [(row.name, row.ruling, row.reason) for row in answer.predictions])


def _objectives(answer: Answer) -> Table:
    goodput = answer.replay.goodput
    rows: list[tuple[Cell, ...]] = []
    if goodput is not None:
        rows = [
            (one.metric.upper(), one.limit_ms, one.value_ms, one.attainment, "met" if one.met else "missed")
            for one in goodput.slos
        ]
        rows.append(("all", None, None, goodput.attainment, "met" if goodput.met else "missed"))
    return Table(
        (
            Column("metric", "objective", Unit.TEXT, "goodput"),
            Column("limit_ms", "limit, ms"),
            Column("value_ms", "reached by the wanted share, ms"),
            Column("attainment", "attainment", Unit.SHARE, "attainment"),
            Column("met", "result", Unit.TEXT),
        ),
        rows,
    )


def _replicas(answer: Answer) -> Table:
    return Table(
        (
            Column("replica", "replica", Unit.COUNT),
            Column("role", "role", Unit.TEXT),
            Column("requests", "requests", Unit.COUNT),
            Column("utilization", "utilisation", Unit.SHARE, "utilisation"),
            Column("hit_rate", "hit rate", Unit.SHARE, "hit rate"),
            Column("kv_use", "KV use at most", Unit.SHARE, "KV use"),
            Column("running", "running at most", Unit.COUNT, "running"),
            Column("waiting", "waiting at most", Unit.COUNT, "waiting"),
            Column("evicted", "blocks evicted", Unit.COUNT),
        ),
        [
            (
                number,
                one.role,
                one.requests,
                one.utilization,
                one.prefix_cache_hit_rate_tokens,
                one.max_kv_cache_usage,
                one.max_num_requests_running,
                one.max_num_requests_waiting,
                one.num_evicted_blocks,
            )
            for number, one in enumerate(answer.replay.replicas)
        ],
    )
