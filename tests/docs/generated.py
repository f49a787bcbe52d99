"""Parts of the documents that are made from the code, between ``<!-- made: NAME -->`` and ``<!-- end -->``."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from tests.docs import cli_reference, option_tables, trace_records, vllm_flags

MARK = re.compile(r"(?P<open><!-- made: (?P<name>[a-z-]+) -->\n)(?P<body>.*?)(?P<close><!-- end -->)", re.DOTALL)
PARTS: dict[str, Callable[[], str]] = {
    "commands": cli_reference.commands,
    "options": option_tables.options,
    "scenario-sections": option_tables.sections,
    "further-metrics": option_tables.further_metrics,
    "shipped-scenarios": option_tables.shipped_scenarios,
    "trace-records": trace_records.records,
    "vllm-serve": vllm_flags.serve,
    "vllm-speculation": vllm_flags.speculation,
    "vllm-bench": vllm_flags.bench,
    "only-simtool": vllm_flags.only_simtool,
}


def regenerated(page: Path) -> str:
    """The text of *page* with all made parts as they are now. Raises KeyError for an unknown one."""
    text = page.read_text(encoding="utf-8")
    return MARK.sub(lambda found: f"{found['open']}\n{PARTS[found['name']]()}\n{found['close']}", text)
