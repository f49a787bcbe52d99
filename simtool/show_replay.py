"""Prints the answer of a replay: the verdict first, then what it rests on."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console

from scenarios.agents.quality import told
from scenarios.answer import Answer, Interval, Verdict
from scenarios.runs.metric import Metric, all_metrics
from scenarios.runs.runsummary import Cost, Distribution, RunSummary
from simtool.console import milliseconds, number, percent, stderr_console, stdout_console, table
from simtool.show_serving import show_goodput, show_replicas
from simulator.metrics import PERCENTILES, percentile_name

CURVE_ROWS = (1, 2, 3, 4, 6, 8, 12, 16)


def show(answer: Answer, *, quiet: bool = False) -> None:
    """Print *answer* to standard output, its warnings to standard error; *quiet*: the verdict only."""
    console = stdout_console()
    _headline(console, answer)
    if not quiet:
        _latency(console, answer)
        show_goodput(console, answer.replay)
        show_replicas(console, answer.replay)
        _cost(console, answer)
        if answer.verdict is not None:
            _classes(console, answer)
            _comparison(console, answer)
            _curve(console, answer)
        _cache(console, answer)
        _further(console, answer)
        _notes(console, answer)
    errors = stderr_console()
    for warning in answer.warnings:
        errors.print(f"warning: {warning}", markup=False)


def _headline(console: Console, answer: Answer) -> None:
    verdict = answer.verdict
    if verdict is None:
        console.print("[bold]Replayed without speculation (gamma 0)[/bold]")
        return
    console.print(f"[bold]{_sentence(verdict)}[/bold]")
    console.print(f"Decode alone: {_interval(verdict.decode_saving)} of its GPU seconds, draft passes included.")
    tree = answer.config.get("draft_tree")
    if tree is not None:
        depth = answer.config["draft_tree.depth"].value
        console.print(
            f"Draft tree {tree.value}: gamma counts its {verdict.gamma} nodes; a round accepts {depth} at most."
        )
    elif verdict.best_gamma:
        console.print(f"Best depth of 1..16: gamma {verdict.best_gamma} ({_signed(verdict.best_gamma_saving)}).")
    else:
        console.print("Best depth of 1..16: none saves anything.")
    spread = verdict.spread
    holds = "the verdict holds" if verdict.holds_across_spread else "the verdict does not hold"
    if spread.low < spread.high:
        console.print(
            f"Across the spread of {verdict.spread_of}: {_signed(spread.low)} to {_signed(spread.high)}; {holds}."
        )
    else:
        console.print("Acceptance as given has no spread: how far the verdict holds is not known.")
    console.print(f"Next: {verdict.advice}.")


def _sentence(verdict: Verdict) -> str:
    what = f"net saving {_interval(verdict.net_saving)} of C_total"
    if verdict.pays is None:
        return f"Speculation at gamma {verdict.gamma} makes no clear difference: {what}"
    return f"Speculation {'pays' if verdict.pays else 'does not pay'} at gamma {verdict.gamma}: {what}"


def _latency(console: Console, answer: Answer) -> None:
    rows = [
        _row(answer, "output tokens/s", lambda run: run.output_throughput_tokens_per_s),
        _row(answer, "requests/s", lambda run: run.request_throughput_per_s),
        _row(answer, "duration s", lambda run: run.duration_s),
        *_latency_rows(answer, "TTFT", lambda run: run.ttft_s),
        *_latency_rows(answer, "TPOT", lambda run: run.tpot_s),
        *_latency_rows(answer, "ITL a step", lambda run: run.itl_per_step_s),
        *_latency_rows(answer, "E2EL", lambda run: run.e2el_s),
        *(_row(answer, f"session {name} s", _session(name)) for name in _shown(answer)[:1]),
    ]
    console.print()
    console.print(table("Throughput and latency", _columns(answer), rows))


def _latency_rows(answer: Answer, name: str, of: Callable[[RunSummary], Distribution]) -> list[tuple[str, ...]]:
    return [_row(answer, f"{name} {mark} ms", _at(of, mark)) for mark in _shown(answer)]


def _shown(answer: Answer) -> list[str]:
    """The percentiles to show: those asked for, or of the default ones the middle and the last."""
    marks = [mark for mark in answer.replay.ttft_s if mark.startswith("p")]
    default = [percentile_name(value) for value in PERCENTILES]
    return [default[0], default[-1]] if marks == default else marks


def _at(of: Callable[[RunSummary], Distribution], mark: str) -> Callable[[RunSummary], float | None]:
    return lambda run: _ms(of(run)[mark])


def _session(mark: str) -> Callable[[RunSummary], float | None]:
    return lambda run: run.session_s[mark]


def _cost(console: Console, answer: Answer) -> None:
    figures: list[tuple[str, Callable[[Cost], float | None]]] = [
        ("nu (draws per accepted turn)", lambda cost: cost.nu),
        ("C_pre: target prefill, GPU s a draw", lambda cost: cost.C_pre_s),
        ("draft model's prefill, GPU s a draw", lambda cost: cost.C_pre_draft_s),
        ("C_dec: decode, GPU s a draw", lambda cost: cost.C_dec_s),
        *(_HOST_COST if answer.replay.external_prefix_cache_hits else ()),
        *(_GATE_COST if answer.replay.cost.C_gate_s else ()),
        ("C_total, GPU s per accepted turn", lambda cost: cost.C_total_s),
        ("C_total, USD per 1,000 accepted turns", lambda cost: cost.C_total_usd * 1e3),
        ("USD per 1,000 sessions", lambda cost: cost.session_usd * 1e3),
        *(_SOLVED if answer.replay.cost.tasks_with_outcome else ()),
        ("attributed USD (steps)", lambda cost: cost.attributed_usd),
        ("provisioned USD (wall time)", lambda cost: cost.provisioned_usd),
        ("utilisation %", lambda cost: cost.utilization * 100),
    ]
    rows = [_row(answer, name, _of_cost(of)) for name, of in figures]
    price = answer.config["gpu_price_per_hour"]
    console.print()
    console.print(table(f"Cost at {number(float(price.value or 0))} USD per GPU-hour", _columns(answer), rows))


_GATE_COST: list[tuple[str, Callable[[Cost], float]]] = [
    ("the gate's verdict, GPU s a draw", lambda cost: cost.C_gate_s)
]
_HOST_COST: list[tuple[str, Callable[[Cost], float]]] = [
    ("C_hit: loading from the host, GPU s a draw", lambda cost: cost.C_hit_s)
]


_SOLVED: list[tuple[str, Callable[[Cost], float | None]]] = [
    ("tasks solved, as recorded", lambda cost: cost.solved_tasks),
    ("USD per 1,000 solved tasks, failures in it", lambda cost: cost.usd_per_1000_solved_tasks),
]


def _of_cost(of: Callable[[Cost], float | None]) -> Callable[[RunSummary], float | None]:
    return lambda run: of(run.cost)


def _classes(console: Console, answer: Answer) -> None:
    rows = [
        (
            ("  " if "." in row.label else "") + row.label,
            f"{row.tokens:,}",
            percent(row.share),
            number(row.eps),
            number(row.tau_law),
            number(row.tau),
            number(row.tokens_per_round_exact),
            number(row.tokens_per_round_sampled),
            percent(row.acceptance_rate),
            milliseconds(row.decode_s_per_token),
            milliseconds(row.decode_s_per_token_baseline),
            number(row.usd),
        )
        for row in answer.classes
    ]
    columns = [
        "class",
        "tokens",
        "share",
        "eps",
        "tau law",
        "tau",
        "exact",
        "sampled",
        "accepted",
        "ms",
        "ms at 0",
        "USD",
    ]
    console.print()
    console.print(table("By token class (exact, sampled: tokens per round; ms: GPU ms a token)", columns, rows))
    console.print("  tau: drafts accepted per round that starts in the class, measured or expected")
    for one in answer.predictions:
        console.print(f"  {one.name} {one.ruling}: {one.reason}", markup=False)


def _comparison(console: Console, answer: Answer) -> None:
    rows = [
        (row.quantity, *(number(value, 4) for value in (row.law, row.exact, row.sampled, row.measured)))
        for row in answer.comparison
    ]
    point = answer.break_even
    if point is not None:
        rows.append(("eps_bar (this trace)", number(point.eps_bar, 4), "", "", ""))
        rows.append(("break-even eps*", number(point.eps_star_first_order, 4), number(point.eps_star_exact, 4), "", ""))
    console.print()
    console.print(table("Law, exact expectation, sampled replay, measurement", ["", *_PREDICTIONS], rows))
    for row in answer.comparison:
        console.print(f"  {row.quantity}: {row.reason}", markup=False)
    if point is not None:
        console.print("  break-even eps*: law = first order, exact = root of tau = o / c_T + gamma (delta + d)")
        console.print(
            f"  read back at b = {point.n_seqs:.1f}, {point.context_tokens:,.0f} tokens of context: c_T = "
            f"{milliseconds(point.c_T_s)} ms, delta = {number(point.delta)}, d = {number(point.d)}, "
            f"o = {number(point.o)}; w_S = {percent(point.w_S)}",
            markup=False,
        )


_PREDICTIONS = ["law", "exact", "sampled", "measured"]


def _curve(console: Console, answer: Answer) -> None:
    rows = [
        (
            str(point.gamma),
            number(point.law_tokens_per_round),
            number(point.exact_tokens_per_round),
            percent(point.law_decode_saving, sign=True),
            percent(point.exact_decode_saving, sign=True),
            percent(point.net_saving, sign=True),
            f"{percent(point.net_saving_low, sign=True)} to {percent(point.net_saving_high, sign=True)}",
        )
        for point in answer.gamma_curve
        if point.gamma in (*CURVE_ROWS, answer.replay.gamma, answer.verdict and answer.verdict.best_gamma)
    ]
    columns = ["gamma", "tok/round law", "exact", "decode saving law", "exact", "net of C_total", "over the spread"]
    console.print()
    console.print(table("Depth", columns, rows))


def _cache(console: Console, answer: Answer) -> None:
    rows = [
        _row(answer, "prefix cache hit rate h, by tokens %", lambda run: run.prefix_cache_hit_rate_tokens * 100),
        _row(answer, "requests with a hit %", lambda run: run.prefix_cache_hit_rate_requests * 100),
        *_host_hits(answer),
        _row(answer, "KV blocks used at most %", lambda run: run.max_kv_cache_usage * 100),
        _row(answer, "blocks evicted", lambda run: run.num_evicted_blocks),
        _row(answer, "preemptions", lambda run: run.num_preemptions),
        _row(answer, "sequences running at most", lambda run: run.max_num_requests_running),
        _row(answer, "sequences waiting at most", lambda run: run.max_num_requests_waiting),
    ]
    console.print()
    console.print(table("Cache and memory", _columns(answer), rows))
    counters = answer.replay.speculation
    if counters is not None:
        console.print(
            f"  drafts {counters.num_drafts:,}, draft tokens {counters.num_draft_tokens:,}, accepted "
            f"{counters.num_accepted_tokens:,}: acceptance rate {percent(counters.draft_acceptance_rate)} (accepted / "
            f"drafted), acceptance length {number(counters.mean_acceptance_length)} (1 + accepted / drafts)",
            markup=False,
        )


def _further(console: Console, answer: Answer) -> None:
    rows = [_row(answer, one.heading, _metric(one)) for one in all_metrics()]
    console.print()
    console.print(table("Further figures", _columns(answer), rows))


def _metric(one: Metric) -> Callable[[RunSummary], float | None]:
    return lambda run: one.shown(run.metrics.get(one.name))


def _host_hits(answer: Answer) -> list[tuple[str, ...]]:
    if not answer.replay.external_prefix_cache_hits:
        return []
    return [_row(answer, "prompt tokens loaded from the host", lambda run: run.external_prefix_cache_hits)]


def _notes(console: Console, answer: Answer) -> None:
    trace = answer.trace
    console.print()
    console.print(
        f"Trace: {trace.sessions:,} sessions, {trace.turns:,} turns, {trace.attempts:,} attempts, "
        f"{trace.prompt_tokens:,} prompt and {trace.output_tokens:,} output tokens; {trace.straddling_tokens:,} tokens "
        f"lie across a class border.",
        markup=False,
    )
    for title, counts in (
        ("Assumed", answer.assumptions),
        ("Left out", answer.omissions),
        ("Duplicates dropped", answer.duplicates),
    ):
        if counts:
            console.print(f"{title}:", markup=False)
            for text, count in counts.items():
                console.print(f"  {text} ({count:,})", markup=False)
    console.print(f"Quality: {told(answer.quality)}.", markup=False)
    settings = ("gpu", "model", "draft_model", "step_time", "acceptance", "load")
    shown = [f"{name} {answer.config[name].value}" for name in settings if name in answer.config]
    console.print(f"Settings: {', '.join(shown)} (all with their origin: --json)", markup=False)
    console.print(
        f"Engine modelled: {answer.modelled_engine}. Seed {answer.seed}. Trace sha256 {answer.trace.sha256[:16]}.",
        markup=False,
    )


def _columns(answer: Answer) -> list[str]:
    return ["", f"gamma {answer.replay.gamma}", *(["without", "change"] if answer.baseline else [])]


def _ms(value_s: float | None) -> float | None:
    return None if value_s is None else value_s * 1e3


def _row(answer: Answer, name: str, of: Callable[[RunSummary], float | None]) -> tuple[str, ...]:
    """A figure of the replay and, if there is one, of the replay without speculation, with the change."""
    ours = of(answer.replay)
    if answer.baseline is None:
        return (name, number(ours))
    theirs = of(answer.baseline)
    change = percent(ours / theirs - 1, sign=True) if ours is not None and theirs else "-"
    return (name, number(ours), number(theirs), change)


def _signed(value: float) -> str:
    return percent(value, sign=True)


def _interval(interval: Interval) -> str:
    return f"{_signed(interval.value)} (95 %: {_signed(interval.low)} to {_signed(interval.high)})"
