"""``simtool law``: the closed forms for given numbers."""

from __future__ import annotations

from typing import Annotated, Any

import typer

_LAW = "The law"
_MIX = "Mismatch from classes (instead of --eps-bar)"
_COST = "C_total"


def command(
    *,
    gamma: Annotated[
        int, typer.Option("--gamma", "--num-speculative-tokens", min=0, help="Draft depth.", rich_help_panel=_LAW)
    ] = 8,
    delta: Annotated[
        float, typer.Option(min=0, help="Verification overhead per extra token.", rich_help_panel=_LAW)
    ] = 0.01,
    d: Annotated[
        float, typer.Option("--d", min=0, help="Cost of a draft pass, relative to c_T.", rich_help_panel=_LAW)
    ] = 0.1125,
    overhead: Annotated[
        float, typer.Option(min=0, help="Fixed overhead o of a round; 0 is the paper's law.", rich_help_panel=_LAW)
    ] = 0.0,
    eps_bar: Annotated[
        float | None, typer.Option(min=0, max=1, help="Mean mismatch probability.", rich_help_panel=_LAW)
    ] = None,
    kappa: Annotated[float | None, typer.Option(min=0, help="Draft alignment.", rich_help_panel=_MIX)] = None,
    rho_s: Annotated[float, typer.Option(min=0, max=1, help="Predictability of S.", rich_help_panel=_MIX)] = 0.95,
    rho_r: Annotated[float, typer.Option(min=0, max=1, help="Predictability of R.", rich_help_panel=_MIX)] = 0.7,
    rho_f: Annotated[float, typer.Option(min=0, max=1, help="Predictability of F.", rich_help_panel=_MIX)] = 0.6,
    w_s: Annotated[float, typer.Option(min=0, max=1, help="Share of S.", rich_help_panel=_MIX)] = 0.5,
    w_r: Annotated[float, typer.Option(min=0, max=1, help="Share of R.", rich_help_panel=_MIX)] = 0.25,
    w_f: Annotated[float, typer.Option(min=0, max=1, help="Share of F.", rich_help_panel=_MIX)] = 0.25,
    nu: Annotated[float, typer.Option(min=1, help="Draws per accepted turn.", rich_help_panel=_COST)] = 1.0,
    h: Annotated[float, typer.Option(min=0, max=1, help="Cache hit share.", rich_help_panel=_COST)] = 0.0,
    c_hit: Annotated[float, typer.Option(min=0, help="Cost of a hit.", rich_help_panel=_COST)] = 0.0,
    c_pre: Annotated[float, typer.Option(min=0, help="Prefill cost of a turn.", rich_help_panel=_COST)] = 0.0,
    c_dec: Annotated[
        float, typer.Option(min=0, help="Decode cost of a turn, not speculated.", rich_help_panel=_COST)
    ] = 0.0,
    tree: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|NAME",
            help="Draft tree of heads (TOML, JSON) in place of a chain of --gamma drafts: medusa-1, medusa-2-low, "
            "medusa-2-high, eagle-1, or your own.",
            rich_help_panel=_LAW,
        ),
    ] = None,
    json: Annotated[str | None, typer.Option(metavar="FILE", help="JSON to FILE, or - for standard output.")] = None,
) -> None:
    """The Draft Law in closed form for given numbers: saving, break-even (first order and exact), C_total."""
    from scenarios.law.lawtable import LawInputs, law_table

    if tree is not None:
        if eps_bar is not None or kappa is not None:
            raise typer.BadParameter("--tree declares its own acceptance: leave out --eps-bar and --kappa")
        _tree(tree, delta, d, overhead, json)
        return
    try:
        result = law_table(
            LawInputs(
                gamma=gamma,
                delta=delta,
                d=d,
                o=overhead,
                eps_bar=eps_bar,
                kappa=kappa,
                rho=(rho_s, rho_r, rho_f),
                w=(w_s, w_r, w_f),
                nu=nu,
                h=h,
                c_hit=c_hit,
                C_pre=c_pre,
                C_dec=c_dec,
            )
        )
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    if json is not None:
        from simtool.console import write_json

        write_json(result, json)
        if json == "-":
            return
    _show(result)


def _tree(reference: str, delta: float, d: float, overhead: float, json: str | None) -> None:
    from scenarios.acceptance.headtree import read_tree, tree_figures
    from simtool.console import number, stdout_console, table, write_json

    found = tree_figures(read_tree(reference), delta, d, overhead)
    if json is not None:
        write_json(found, json)
        if json == "-":
            return
    console = stdout_console()
    pays = "pays" if found.net_saving > 0 else "does not pay"
    console.print(
        f"tree {found.tree} {pays}: gross {found.gross_speedup:.2f}x, net {found.net_speedup:.2f}x "
        f"(s = {found.net_saving * 100:+.1f} %)",
        markup=False,
    )
    if found.source:
        console.print(found.source, markup=False)
    rows = [
        (name, number(value, 4) if isinstance(value, (int, float)) else " ".join(f"{one:.3f}" for one in value))
        for name in found.__struct_fields__
        if not isinstance(value := getattr(found, name), str)
    ]
    console.print(table("", ["quantity", "value"], rows))


def _show(result: dict[str, Any]) -> None:
    from simtool.console import number, stdout_console, table

    console = stdout_console()
    saving, at = result["saving"], result["gamma"]
    pays = "pays" if saving > 0 else "does not pay"
    console.print(f"speculation {pays} at gamma {at}: net saving s = {saving * 100:+.1f} %")
    rows = [
        (name, number(value, 4) if isinstance(value, (int, float)) else "none")
        for name, value in result.items()
        if name not in ("gamma", "saving")
    ]
    console.print(table("", ["quantity", "value"], rows))
