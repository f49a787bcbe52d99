"""Runs that the tests of reports look at, and a recording that tries to break out of a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from scenarios.ask import Asked, ask
from scenarios.law.lawcheck import LawCheck, law_check
from scenarios.options.settings import settings
from scenarios.recordings.excerpt import ExcerptPicker
from scenarios.runs.outputs import write_outputs
from scenarios.setup import set_up
from tests.shared import AGENT_LOOP

BREAKOUTS = (
    "</script><script>window.pwned = 1</script>",
    "<img src=x onerror='window.pwned = 2'>",
    "\"'`--><svg/onload=window.pwned=3>",
    "{{ 7 * 7 }}{% raw %}",
    "\u202eright to left\u2066",
    '=HYPERLINK("http://example.invalid")',
    "\u2028line\u2029separators\\u003c/script\\u003e",
    "var(--nothing)",
    "]]> <!-- <script> datum['x'] ${alert(1)}",
)


def make_run(folder: Path, *paths: str, **options: Any) -> Asked:
    """Replays the recordings at *paths*, or the shipped sample, into *folder*."""
    chosen = settings(options)
    picker = ExcerptPicker()
    asked = ask(list(paths) or [str(AGENT_LOOP)], chosen.read, chosen.replay, look=picker.observer)
    write_outputs(asked, folder, picker.outputs)
    return asked


def make_check(path: Path, **options: Any) -> LawCheck:
    """Holds the law against the shipped sample and writes the result to *path*."""
    chosen = settings({"gamma": "8", **options})
    check = law_check(set_up([str(AGENT_LOOP)], chosen.read, chosen.replay))
    path.write_bytes(msgspec.json.encode(check))
    return check


def hostile_recording(path: Path) -> Path:
    """A recording whose ids, tool names, arguments and prose all hold markup."""
    lines: list[Any] = [{"simtool_trace": 1}]
    for number, text in enumerate(BREAKOUTS):
        turns = []
        for turn in range(3):
            call = {"type": "tool_call", "name": text, "arguments": msgspec.json.encode({"q": text}).decode()}
            turns.append(
                {
                    "id": f"{turn}{text}",
                    "prompt": {"type": "messages", "ranges": [[0, 1]]},
                    "attempts": [
                        {
                            "output": [
                                {"type": "reasoning", "text": f"think {text}"},
                                {"type": "text", "text": f"say {text} " + "word " * 40},
                                call,
                            ]
                        }
                    ],
                    "tool_waits": [{"name": text, "duration_s": 0.5}],
                    **({"parent": f"{turn - 1}{text}"} if turn else {}),
                }
            )
        message = {"role": "user", "blocks": [{"type": "text", "text": text}]}
        lines.append({"id": f"{number}{text}", "turns": turns, "messages": [message], "agent": text})
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    return path
