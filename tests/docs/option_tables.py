"""Tables of the options and of the scenarios, made from their declarations."""

from __future__ import annotations

from scenarios.options.option import Section
from scenarios.options.settings import all_options
from scenarios.runs.metric import all_metrics
from scenarios.scenariofile.keys import key_rows
from scenarios.scenariofile.load import load_scenario, shipped
from tests.docs.markdown import cell, code, table


def options() -> str:
    """A table a section: flags, values, default, meaning."""
    parts = []
    for section in Section:
        rows = [
            [
                ", ".join(code(flag) for flag in (row.flag, *all_options()[row.key].option.flags)),
                cell(row.values),
                "" if row.default == "none" else code(row.default),
                cell(row.about),
            ]
            for row in key_rows()
            if row.section == section.key
        ]
        if rows:
            parts.append(f"### {section.value}\n\n" + table(["option", "values", "default", "meaning"], rows))
    return "\n".join(parts)


def sections() -> str:
    """The sections of a scenario file with their keys."""
    rows = []
    for section in Section:
        keys = [row.key for row in key_rows() if row.section == section.key]
        if section is Section.TRACE:
            keys = ["files", *keys]
        anchor = section.value.lower().replace(" ", "-")
        rows.append([code(f"[{section.key}]"), f"[{section.value}](cli.md#{anchor})", ", ".join(map(code, keys))])
    return table(["section", "about", "keys"], rows)


def shipped_scenarios() -> str:
    """The shipped scenarios."""
    found = [load_scenario(name) for name in shipped()]
    return table(["name", "what it is"], ([code(one.name), cell(one.about)] for one in found))


def further_metrics() -> str:
    """The metrics that a module declares each."""
    rows = [[code(one.name), cell(one.definition), "1" if one.unit == "%" else one.unit] for one in all_metrics()]
    return table(["field", "definition", "unit"], rows)
