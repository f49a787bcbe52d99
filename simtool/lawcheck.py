"""``simtool law-check``: the law against exact, sampled and measured rounds on one recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scenarios.options.settings import Settings
from simtool import options as o
from simtool.bind import with_settings

if TYPE_CHECKING:
    from scenarios.law.lawcheck import LawCheck


@with_settings()
def command(
    traces: o.Paths,
    *,
    settings: Settings,
    json: o.Json = None,
    no_progress: o.NoProgress = False,
) -> None:
    """Compare the Draft Law with the truth on your own traffic.

    Tokens per round by the law, by class sums, in the limit of long spans, exact over the labels, sampled, and
    measured; by class and by span length; and the schema share that breaks even, by each of them.
    """
    from scenarios.law.lawcheck import law_check
    from scenarios.setup import set_up
    from simtool.console import write_json
    from simtool.progress import reading, replaying

    with reading(no_progress) as count:
        setup = set_up(traces, settings.read, settings.replay, progress=count, watch=replaying(count))
    result = law_check(setup)
    if json is not None:
        write_json(result, json)
    if json != "-":
        _show(result)


def _show(result: LawCheck) -> None:
    from simtool.console import milliseconds, number, percent, stdout_console, table

    console = stdout_console()
    rows = [
        (one.name, number(one.tokens_per_round, 4), percent(one.saving, sign=True), one.formula)
        for one in result.approximations
    ]
    console.print(table(f"Tokens per round at gamma {result.gamma}", ["", "tok/round", "saving s", "how"], rows))
    for one in result.approximations:
        if one.interval is not None:
            console.print(
                f"  {one.name}: 95 % of the mean {number(one.interval.low, 4)} to {number(one.interval.high, 4)}"
            )
    console.print(
        f"  at b = {result.n_seqs:.1f}: c_T = {milliseconds(result.c_T_s)} ms, delta = {number(result.delta)}, "
        f"d = {number(result.d)}, o = {number(result.o)}",
        markup=False,
    )
    classes = [
        (
            one.label,
            percent(one.share),
            number(one.eps),
            number(one.tau_law),
            number(one.tau_exact),
            number(one.tau_measured),
            number(one.tokens_per_round_exact),
            number(one.tokens_per_round_measured),
        )
        for one in result.classes
    ]
    columns = ["class", "w", "eps", "tau law", "tau exact", "measured", "tok/round exact", "measured"]
    console.print()
    console.print(table("By class (tau: drafts accepted per round that starts in it)", columns, classes))
    for ruling in result.predictions:
        console.print(f"  {ruling.name} {ruling.ruling}: {ruling.reason}", markup=False)
    spans = [
        (
            f"{one.low}-{one.high}" if one.high is not None else f"{one.low}-",
            f"{one.spans:,}",
            f"{one.tokens:,}",
            number(one.law_tokens_per_round),
            number(one.exact_tokens_per_round),
            number(one.measured_tokens_per_round),
        )
        for one in result.spans
    ]
    console.print()
    console.print(
        table("By span length (tokens per round)", ["span", "spans", "tokens", "law", "exact", "measured"], spans)
    )
    _show_break_even(result)


def _show_break_even(result: LawCheck) -> None:
    from simtool.console import number, percent, stdout_console, table

    point = result.break_even
    rows = [
        ("w_S of this trace", percent(point.w_S)),
        ("w_S*, first order", percent(point.first_order)),
        ("w_S*, exact root", percent(point.exact)),
        ("w_S*, on the real spans", percent(point.on_spans)),
    ]
    console = stdout_console()
    console.print()
    console.print(table("Break-even schema share", ["", "share"], rows))
    for name, reading in (
        ("first order", point.first_order_reading),
        ("exact root", point.exact_reading),
        ("real spans", point.on_spans_note),
    ):
        console.print(f"  {name}: {reading}", markup=False)
    console.print(
        f"  eps_S {number(point.eps_S)}, eps of the rest {number(point.eps_n)}; on the real spans: all schema spans "
        "stretched alike until the exact saving is 0",
        markup=False,
    )
